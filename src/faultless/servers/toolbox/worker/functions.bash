# Runs one function of an mcbox tools.bash: functions.bash TOOLS FUNCTION MARK [JSON]
# The words below are mcbox's interface for tools, written anew; JSON is answered by python, and only when asked.

echo_stderr() { printf '%s\n' "$*" >&2; }

__faultless_severity() {
    case "${1^^}" in
        TRACE) REPLY=1 ;; DEBUG) REPLY=5 ;; INFO) REPLY=9 ;; WARN) REPLY=13 ;; ERROR) REPLY=17 ;; FATAL) REPLY=21 ;;
        *) return 1 ;;
    esac
}

__faultless_log() {
    local REPLY least
    __faultless_severity "${MCBOX_LOG_LEVEL:-${OTEL_LOG_LEVEL:-INFO}}" || REPLY=9
    least=$REPLY
    __faultless_severity "$1"
    if ((REPLY >= least)); then echo_stderr "[$1] ${*:2}"; fi
    return 0
}

log_trace() { __faultless_log TRACE "$@"; }
log_debug() { __faultless_log DEBUG "$@"; }
log_info() { __faultless_log INFO "$@"; }
log_warn() { __faultless_log WARN "$@"; }
log_error() { __faultless_log ERROR "$@"; }
log_fatal() { __faultless_log FATAL "$@"; }

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

text_trim() {
    local text=${1-}
    text=${text#"${text%%[![:space:]]*}"}
    text=${text%"${text##*[![:space:]]}"}
    printf '%s\n' "$text"
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

source "$__faultless_tools" >&2
if ! declare -F "$__faultless_function" >/dev/null; then
    echo_stderr "there is no function $__faultless_function"
    exit 127
fi
printf '%s\n' "$__faultless_mark" >&2
# Inside a condition, as mcbox calls it: `set -e` in tools.bash does not reach into the function.
if "$__faultless_function" "$__faultless_arguments"; then exit 0; else exit $?; fi
