# Runs one function of an mcbox tools.bash: functions.bash TOOLS FUNCTION MARK [JSON]
# The words below are mcbox's interface for tools, written anew; JSON is answered by python, and only when asked.

echo_stderr() { printf '%s\n' "$*" >&2; }

log_level_to_num() {
    local -A numbers=([trace]=1 [debug]=5 [info]=9 [warn]=13 [error]=17 [fatal]=21)
    local name=${1-}
    name=${name,,}
    printf '%s\n' "${numbers[${name:-info}]:-9}"
}

# The level, in capitals, comes first in a line: the server keeps it.
log() {
    local level=${1-} least=${MCBOX_LOG_LEVEL:-${OTEL_LOG_LEVEL:-info}}
    if (($(log_level_to_num "$level") >= $(log_level_to_num "$least"))); then
        echo_stderr "[${level^^}] ${*:2}"
    fi
    return 0
}

log_trace() { log TRACE "$@"; }
log_debug() { log DEBUG "$@"; }
log_info() { log INFO "$@"; }
log_warn() { log WARN "$@"; }
log_error() { log ERROR "$@"; }
log_fatal() { log FATAL "$@"; }

is_cmd_available() { [[ -n ${1:-} ]] && command -v -- "$1" >/dev/null 2>&1; }
is_readable_file() { [[ -f ${1:-} && -r ${1:-} ]]; }
is_non_empty_dir() {
    [[ -d ${1:-} && -r ${1:-} ]] || return 1
    local entry
    for entry in "$1"/* "$1"/.[!.]* "$1"/..?*; do
        if [[ -e $entry || -L $entry ]]; then return 0; fi
    done
    return 1
}

# Its arguments, or what comes through a pipe.
text_trim() {
    local text
    if (($#)); then text="$*"; else text=$(cat); fi
    text=${text#"${text%%[![:space:]]*}"}
    text=${text%"${text##*[![:space:]]}"}
    printf '%s' "$text"
}

# Values go through a pipe: one argument of a program is too small for a large document.
__faultless_json() {
    local verb=$1 part
    shift
    for part in "$@"; do printf '%s\0' "$part"; done |
        "$__faultless_python" -I -S "$__faultless_home/json_for_bash.py" "$verb"
}

is_valid_json() { __faultless_json is_valid "${1-}"; }
is_json_object() { __faultless_json is_object "${1-}"; }
json_object_has_key() { __faultless_json has_key "${1-}" "${2-}"; }
json_merge_objects() {
    __faultless_json merge "$@" || {
        log_error "json_merge_objects: every value must be a JSON object"
        return 1
    }
}
json_read_file() {
    if ! is_readable_file "${1-}"; then
        log_error "cannot read file: ${1-}"
        return 1
    fi
    __faultless_json compact "$(<"$1")" || {
        log_error "not valid JSON: $1"
        return 1
    }
}

__faultless_home=${BASH_SOURCE[0]%/*}
__faultless_python=$FAULTLESS_PYTHON
unset FAULTLESS_PYTHON
__faultless_tools=$1 __faultless_function=$2 __faultless_mark=$3
if (($# > 3)); then
    __faultless_arguments=$4
    set --
else
    __faultless_arguments=$(</dev/stdin)
    set --
fi
exec </dev/null

# As mcbox has it: a variable that is not set ends the call instead of being nothing, as in rm -rf "$CACHE"/*.
set -o nounset -o pipefail
if ! source "$__faultless_tools" >&2; then
    echo_stderr "loading it failed"
    exit 127
fi
if ! is_cmd_available "$__faultless_function"; then
    echo_stderr "there is no function $__faultless_function"
    exit 127
fi
printf '%s\n' "$__faultless_mark" >&2
# Inside a condition, as mcbox calls it: `set -e` in tools.bash does not reach into the function.
if "$__faultless_function" "$__faultless_arguments"; then exit 0; else exit $?; fi
