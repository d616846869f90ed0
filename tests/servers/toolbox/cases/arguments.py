"""Arguments that never reach a tool."""

from tests.servers.toolbox.cases.case import refused, system

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
        "path: value must be a string (received 1); limit: value must be an integer;"
        " mode: value must be one of 'fast', 'slow'",
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
