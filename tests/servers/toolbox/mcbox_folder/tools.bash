#!/usr/bin/env bash
set -euo pipefail

# Arguments are read without jq, so that these tools run where it is missing.
argument() { python3 -c 'import json, sys; print(json.loads(sys.argv[1]).get(sys.argv[2], ""))' "$1" "$2"; }

function tool_greet() {
    local who
    who=$(argument "$1" who)
    echo "Hello, ${who}!"
}

function tool_add() {
    python3 -c 'import json, sys; a = json.loads(sys.argv[1]); print(json.dumps({"sum": a["a"] + a["b"]}))' "$1"
}

function tool_file_bytes() {
    local path size
    path=$(argument "$1" path)
    if ! is_readable_file "${path}"; then
        log_error "cannot read ${path}"
        return 1
    fi
    size=$(wc -c < "${path}")
    printf '{"path":"%s","bytes":%d}\n' "${path}" "${size}"
}

function tool_trim() {
    printf '<%s>\n' "$(text_trim "$(argument "$1" text)")"
}

function tool_merge() {
    json_merge_objects "$(argument "$1" first)" "$(argument "$1" second)"
}

function tool_describe_json() {
    local text key
    text=$(argument "$1" text)
    key=$(argument "$1" key)
    if ! is_valid_json "${text}"; then
        echo "no JSON"
    elif ! is_json_object "${text}"; then
        echo "JSON"
    elif json_object_has_key "${text}" "${key}"; then
        echo "an object with ${key}"
    else
        echo "an object"
    fi
}

function tool_read_config() {
    json_read_file "$(argument "$1" path)"
}

function tool_look_around() {
    local command folder
    command=$(argument "$1" command)
    folder=$(argument "$1" folder)
    if is_cmd_available "${command}"; then echo "command"; fi
    if is_non_empty_dir "${folder}"; then echo "folder"; fi
    echo "done"
}

function tool_talk() {
    log_trace "on trace"
    log_debug "on debug"
    log_info "on info"
    log_warn "on warn"
    log_error "on error"
    log_fatal "on fatal"
    echo_stderr "on stderr"
    false
    echo "said"
}

function tool_give_up() {
    echo "giving up"
    echo_stderr "because I was told to"
    return "$(argument "$1" code)"
}

export -f tool_greet tool_add tool_file_bytes tool_trim tool_merge tool_describe_json
export -f tool_read_config tool_look_around tool_talk tool_give_up
