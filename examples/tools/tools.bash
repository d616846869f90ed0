# mcbox tools: a function tool_NAME for every NAME in tools.json, its arguments as JSON in $1.

tool_file_facts() {
    local path bytes
    path=$(jq --raw-output .path <<< "$1")
    if ! is_readable_file "$path"; then
        log_error "cannot read $path"
        return 1
    fi
    bytes=$(wc -c < "$path")
    if ((bytes > 0)); then
        printf '{"bytes":%d,"empty":false}\n' "$bytes"
    else
        printf '{"bytes":0,"empty":true}\n'
    fi
}
export -f tool_file_facts
