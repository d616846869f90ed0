"""Starting points: one small tool in each language, which works as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind
from faultless.servers.toolbox.definition import BrokenDefinitionError, check_name

if TYPE_CHECKING:
    from pathlib import Path

_SHELL = """\
#!/bin/sh
# @tool Greet somebody
# @param who: string  Whom to greet
# @param times: int = 1  How often
# @readonly
# @timeout 10s
set -eu
# The arguments are in ARG_ variables, and as JSON on standard input. What is printed is the answer; standard
# error goes to the server's log; any exit code but 0 is a failure.
i=0
while [ "$i" -lt "$ARG_TIMES" ]; do
    printf 'Hello, %s!\\n' "$ARG_WHO"
    i=$((i + 1))
done
"""

_NODE = """\
#!/usr/bin/env node
// @tool Greet somebody
// @param who: string  Whom to greet
// @param times: int = 1  How often
// @readonly
// @timeout 10s
// @output json
// The arguments come as JSON on standard input; what is printed is the answer.
const { who, times } = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
console.log(JSON.stringify({ greetings: Array(times).fill(`Hello, ${who}!`) }));
"""

_PYTHON = '''\
"""Every public function here that has type hints and a docstring is a tool."""


def {name}(who: str, times: int = 1) -> list[str]:
    """Greet somebody.

    Args:
        who: Whom to greet
        times: How often

    @readonly
    @timeout 10s
    """
    return [f"Hello, {{who}}!"] * times
'''


def write(folder: Path, name: str, language: str) -> Path:
    try:
        check_name(name)
    except BrokenDefinitionError as broken:
        raise Fault(FaultKind.INVALID_PARAMS, broken.reason, hint="choose another name") from None
    if language == "python" and not name.isidentifier():
        raise Fault(
            FaultKind.INVALID_PARAMS, f"{name!r} is no name for a function", hint="use letters, digits and _"
        )
    texts = {"sh": ("", _SHELL), "node": (".js", _NODE), "python": (".py", _PYTHON.format(name=name))}
    suffix, text = texts[language]
    path = folder / f"{name}{suffix}"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise Fault(FaultKind.CONFLICT, f"{path} exists already", hint="choose another name") from None
    if language != "python":
        path.chmod(0o755)
    return path
