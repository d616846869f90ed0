"""Tools that cannot be offered, or cannot be started."""

from tests.servers.toolbox.cases.case import Case, left_out, system

DEFINITIONS = [
    left_out("an unknown type", "bad_type", "bad_type:3: unknown type 'imt', did you mean 'int'?"),
    left_out(
        "an unknown directive",
        "bad_directive",
        "bad_directive:3: unknown directive @timout, did you mean 'timeout' or 'output' or 'idempotent'?",
    ),
    left_out(
        "a default of the wrong type",
        "bad_default",
        "bad_default:3: the default many of 'limit' breaks its own type",
    ),
    left_out("a slot without a parameter", "bad_slot", "bad_slot: {paht} is not a parameter; they are: path"),
    left_out(
        "a slot that may stay empty",
        "bad_optional",
        "bad_optional: {note} may be absent: give it a default, or write [… {note}]",
    ),
    left_out(
        "a schema that is none",
        "bad_schema",
        "bad_schema: the schema is invalid: properties.a.type: the value is not valid under any of the schemas listed in the 'anyOf' keyword",
    ),
    left_out(
        "no right to run it",
        "not_executable",
        "not_executable: it is not executable: chmod +x not_executable",
    ),
    left_out(
        "an import that fails",
        "never",
        "import_error.py:1: cannot be imported: ModuleNotFoundError: No module named 'no_such_module_anywhere'",
    ),
    left_out("source that is no Python", "syntax_error", "syntax_error.py:1: is not Python: invalid syntax"),
    left_out("a function without a docstring", "py_no_docstring", "functions.py:93: it has no docstring"),
    left_out("a function without a hint", "py_no_hint", "functions.py:97: parameter 'text' has no type hint"),
    left_out(
        "a hint that JSON has not", "py_strange_hint", "functions.py: parameter 'text' has the type bytes"
    ),
    left_out(
        "an unknown key",
        "toml_unknown_key",
        "tools.toml: unknown key 'timeout', did you mean 'timeout_seconds'?",
    ),
    left_out(
        "a command for a shell", "toml_string_command", "tools.toml: command: input should be a valid list"
    ),
    left_out(
        "a program chosen by the caller",
        "toml_slot_program",
        "tools.toml: the first element of command must be the program itself",
    ),
    left_out(
        "a broken mcbox schema",
        "bash_bad_schema",
        'tools.json: the schema is invalid: required: the value is not of type "array"',
    ),
    system(
        "an interpreter that is missing",
        "no_interpreter",
        "unavailable",
        "cannot start no_interpreter: the interpreter its first line names is missing",
    ),
    system(
        "a program that is missing",
        "toml_no_program",
        "unavailable",
        "cannot start no-such-program-anywhere: there is no such program",
    ),
    system(
        "a function that is missing",
        "bash_missing",
        "unavailable",
        "Internal error: tool_bash_missing of tools.bash could not be called:"
        " there is no function tool_bash_missing",
    ),
    Case(
        "a tool that is nowhere", "nobody_knows", "unknown_tool", "Unknown tool: 'nobody_knows'", {}, -32602
    ),
]
