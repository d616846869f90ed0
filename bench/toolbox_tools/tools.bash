tool_bash_hello() { echo "hello $1"; }
export -f tool_bash_hello
