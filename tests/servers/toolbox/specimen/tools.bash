# @env SPECIMEN_TOKEN
echo "noise while loading"
tool_bash_reflect() { printf '%s\n' "$1"; }
tool_bash_size() { printf '%s' "$1" | wc -c; }
tool_bash_fail() {
    echo "half done"
    log_error "it did not work"
    return 7
}
