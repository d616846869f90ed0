"""Bad inputs, bad definitions, bad outputs and bad manners, and the exact answer to each."""

from dataclasses import dataclass, field
from typing import Any

MISSING: Any = object()


@dataclass(frozen=True)
class Case:
    sentence: str
    tool: str
    kind: str
    message: str
    arguments: dict[str, Any] = field(default_factory=dict)
    code: int | None = None
    """Of the JSON-RPC error; None where the tool ran and the fault stands in a result."""
    output: Any = None
    details: dict[str, Any] = field(default_factory=dict)


def refused(sentence: str, tool: str, arguments: dict[str, Any], message: str) -> Case:
    return Case(sentence, tool, "invalid_params", f"Invalid params: {message}", arguments, -32602)


def system(
    sentence: str, tool: str, kind: str, message: str, arguments: dict[str, Any] | None = None
) -> Case:
    return Case(sentence, tool, kind, message, arguments or {}, -32603)


def left_out(sentence: str, tool: str, reason: str) -> Case:
    return system(sentence, tool, "unavailable", f"the tool {tool} is left out: {reason}")


NOTES = {"path": "notes.txt"}
LONG = "x" * 200_000

ARGUMENTS = [
    refused("a required parameter is missing", "typed", {}, "path: is required"),
    refused(
        "text for a number",
        "typed",
        {**NOTES, "limit": "5"},
        'limit: value must be an integer (received "5")',
    ),
    refused(
        "half a number", "typed", {**NOTES, "limit": 1.5}, "limit: value must be an integer (received 1.5)"
    ),
    refused(
        "true for a number",
        "typed",
        {**NOTES, "limit": True},
        "limit: value must be an integer (received true)",
    ),
    refused(
        "a choice that is none",
        "typed",
        {**NOTES, "mode": "medium"},
        "mode: value must be one of 'fast', 'slow' (received \"medium\")",
    ),
    refused(
        "text for a list", "typed", {**NOTES, "tags": "a"}, 'tags: value must be an array (received "a")'
    ),
    refused(
        "a wrong item", "typed", {**NOTES, "tags": ["a", 1]}, "tags.1: value must be a string (received 1)"
    ),
    refused(
        "an unknown parameter",
        "typed",
        {**NOTES, "nte": "x"},
        "nte: unknown parameter, did you mean 'note'? (received \"x\")",
    ),
    refused(
        "three at once",
        "typed",
        {"path": 1, "limit": "x", "mode": 1},
        "path: value must be a string (received 1) (and 2 more)",
    ),
    refused(
        "an empty path", "typed", {"path": ""}, 'path: the value is shorter than 1 character (received "")'
    ),
    refused(
        "a path like an option",
        "typed",
        {"path": "-rf"},
        "path: the path '-rf' looks like an option (received \"-rf\")",
    ),
    refused(
        "NUL in a path",
        "typed",
        {"path": "a\0b"},
        "path: the path 'ab' holds a NUL character (received \"a\\u0000b\")",
    ),
    system(
        "a path above the root",
        "typed",
        "permission_denied",
        "path: the path '../x' leads outside the root",
        {"path": "../x"},
    ),
    system(
        "a path elsewhere",
        "typed",
        "permission_denied",
        "path: the path '/etc/passwd' leads outside the root",
        {"path": "/etc/passwd"},
    ),
    refused("below a minimum", "strict", {"port": 0}, "port: value must be at least 1 (received 0)"),
    refused(
        "above a maximum", "strict", {"port": 70000}, "port: value must be at most 65535 (received 70000)"
    ),
    refused(
        "a broken format",
        "strict",
        {"port": 1, "hosts": ["x"]},
        'hosts.0: the value is not a "ipv4" (received "x")',
    ),
    refused(
        "deep down", "strict", {"port": 1, "nested": {"deep": 4}}, "nested.deep: value must be 3 (received 4)"
    ),
    refused("missing deep down", "strict", {"port": 1, "nested": {}}, "nested.deep: is required"),
    refused(
        "an option in place of a value",
        "bare_slot",
        {"text": "-n"},
        "text: a value that starts with '-' could be read as an option (received \"-n\")",
    ),
    refused(
        "an option for a command",
        "toml_reflect",
        {"text": "--help"},
        "text: a value that starts with '-' could be read as an option (received \"--help\")",
    ),
    refused(
        "NUL on a command line",
        "reflect",
        {"text": "a\0b"},
        'text: a command line cannot hold a NUL character (received "a\\u0000b")',
    ),
    refused(
        "NUL in a variable that is used",
        "wants_variable",
        {"text": "a\0b"},
        'text: a NUL character does not fit into ARG_TEXT (received "a\\u0000b")',
    ),
    system(
        "too much for a variable that is used",
        "wants_variable",
        "too_large",
        "text has 200009 bytes; an argument or a variable holds at most 131071",
        {"text": LONG},
    ),
    system(
        "too much for a command line",
        "reflect",
        "too_large",
        "text has 200008 bytes; an argument or a variable holds at most 131071",
        {"text": LONG},
    ),
    refused(
        "an unknown parameter of an mcbox tool",
        "bash_reflect",
        {"text": "x", "more": 1},
        "more: unknown parameter (received 1)",
    ),
    refused(
        "a wrong type for a function",
        "py_typed",
        {"count": "1"},
        'count: value must be an integer (received "1")',
    ),
    refused(
        "a wrong literal for a function",
        "py_typed",
        {"count": 1, "mode": "c"},
        "mode: value must be one of 'a', 'b' (received \"c\")",
    ),
    system(
        "a function's path elsewhere",
        "py_typed",
        "permission_denied",
        "where: the path '/etc' leads outside the root",
        {"count": 1, "where": "/etc"},
    ),
]

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
        "tool_bash_missing of tools.bash could not be called: there is no function tool_bash_missing",
    ),
    Case(
        "a tool that is nowhere", "nobody_knows", "unknown_tool", "Unknown tool: 'nobody_knows'", {}, -32602
    ),
]

RUNS = [
    Case(
        "an exit code",
        "fail",
        "engine_error",
        "fail failed with exit code 3: the real complaint",
        output="half an answer\n",
        details={"exit_code": 3, "stderr": "first complaint\nthe real complaint"},
    ),
    Case(
        "a signal",
        "die",
        "crash",
        "die was ended by SIGSEGV",
        output="before\n",
        details={"signal": "SIGSEGV"},
    ),
    Case(
        "hanging",
        "hang",
        "timeout",
        "hang did not finish within 0.5 seconds and was stopped",
        output="partial\n",
        details={"timeout_seconds": 0.5},
    ),
    Case(
        "hanging with a grandchild that ignores signals",
        "stubborn",
        "timeout",
        "stubborn did not finish within 1 seconds and was stopped",
        output="",
        details={"timeout_seconds": 1.0},
    ),
    Case(
        "prose for JSON",
        "no_json",
        "parse_error",
        "the output of no_json is not JSON: Expecting value: line 1 column 1 (char 0)",
        output="hello\n",
        details={"exit_code": 0},
    ),
    Case(
        "nothing for JSON",
        "empty_json",
        "parse_error",
        "the output of empty_json is not JSON: it printed nothing",
        output="",
    ),
    Case(
        "NaN for JSON",
        "nan_json",
        "parse_error",
        "the output of nan_json is not JSON: NaN is not JSON",
        output='{"value": NaN}\n',
    ),
    Case(
        "JSON of the wrong shape",
        "wrong_json",
        "engine_error",
        "the output of wrong_json breaks its schema: size: value must be an integer",
        output='{"size": "big"}\n',
        details={
            "violations": [{"field": "size", "detail": "value must be an integer", "received_value": "big"}]
        },
    ),
    Case(
        "more JSON than is kept",
        "flood_json",
        "too_large",
        "flood_json printed 5000002 bytes, more than the 4194304 that are kept of json",
        output=MISSING,
    ),
    Case(
        "a bash function that fails",
        "bash_fail",
        "engine_error",
        "bash_fail failed with exit code 7: [ERROR] it did not work",
        output="half done\n",
        details={"exit_code": 7, "stderr": "[ERROR] it did not work"},
    ),
    Case(
        "an exception",
        "py_raise",
        "engine_error",
        "py_raise raised ValueError: no luck",
        {"text": "luck"},
        output="printed before\n",
        details={
            "exception": "ValueError",
            "line": 20,
            "traceback": '  File "functions.py", line 20, in py_raise\n    raise ValueError(f"no {text}")\nValueError: no luck\n',
        },
    ),
    Case("SystemExit", "py_exit", "engine_error", "py_exit raised SystemExit: 4", output=""),
    Case(
        "a worker that leaves",
        "py_quit",
        "crash",
        "py_quit ended its interpreter with exit code 5",
        output="",
        details={"exit_code": 5},
    ),
    Case(
        "a worker that crashes",
        "py_crash",
        "crash",
        "py_crash was ended by SIGSEGV",
        output="",
        details={"signal": "SIGSEGV"},
    ),
    Case(
        "a function that hangs",
        "py_hang",
        "timeout",
        "py_hang did not finish within 0.5 seconds and was stopped",
        output="",
        details={"stderr": "about to hang", "timeout_seconds": 0.5},
    ),
    Case(
        "a function that lies about its result",
        "py_wrong",
        "engine_error",
        "the output of py_wrong breaks its schema: result: value must be an integer",
        output="",
    ),
    Case(
        "a result that never ends",
        "py_cycle",
        "engine_error",
        "py_cycle returned what JSON cannot hold: it never ends",
        output="",
    ),
    Case(
        "a result that is no number",
        "py_nan",
        "engine_error",
        "py_nan returned what JSON cannot hold: NaN or infinity",
        output="",
    ),
]

CASES = [*ARGUMENTS, *DEFINITIONS, *RUNS]
