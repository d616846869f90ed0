"""`faultless toolbox check` and `faultless toolbox new`."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import click

from faultless import process
from faultless.contract import Fault, FaultKind
from faultless.kit import log
from faultless.kit.root import Root
from faultless.servers.toolbox.definition import (
    TEXT,
    BashFunction,
    BrokenDefinitionError,
    Command,
    Definition,
    Script,
    Skipped,
    check_name,
)
from faultless.servers.toolbox.mcbox import find_missing_variables
from faultless.servers.toolbox.settings import Settings
from faultless.servers.toolbox.toolset import Toolbox
from faultless.servers.toolbox.workplace import pick_variables

if TYPE_CHECKING:
    from collections.abc import Mapping

_BAD_NEWS = 1
_LIST_FUNCTIONS = 'source "$0" >&2 </dev/null; compgen -A function'
_LIST_SECONDS = 20.0

_CHECK_HELP = """\
Print the tools that `serve toolbox DIR` would expose, and why anything is left out or will not run.

Exit status 1 when something is.
"""


@click.command("check", help=_CHECK_HELP, short_help="What would be exposed, and why anything is left out.")
@click.argument("folder", required=False, metavar="[DIR]")
@click.option("--root", default=".", metavar="DIR", help="The folder the tools work in.")
def _check(folder: str | None, root: str) -> int:
    review = anyio.run(_review, Path(root), folder)
    click.echo(_write_review(review))
    return _BAD_NEWS if review.skipped or review.not_runnable else 0


@dataclass
class _Review:
    folder: Path
    definitions: list[Definition]
    skipped: list[Skipped]
    not_runnable: list[Skipped] = field(default_factory=list)
    """Exposed, but every call will fail."""
    remarks: list[Skipped] = field(default_factory=list)
    """Exposed and running, but perhaps not as meant."""


async def _review(root: Path, folder: str | None) -> _Review:
    log.configure(log.Level.ERROR)  # everything the log would say stands in the review
    toolbox = Toolbox(Settings(root=Root(root).path, folder=folder))
    await toolbox.refresh()
    review = _Review(toolbox.folder.path, toolbox.loaded.definitions, toolbox.loaded.skipped)
    functions = await _list_functions(review.definitions, root)
    for definition in review.definitions:
        if reason := _find_obstacle(definition, functions):
            review.not_runnable.append(Skipped(definition.name, definition.source, reason))
        review.remarks += [Skipped(definition.name, definition.source, it) for it in definition.remarks]
    review.remarks += toolbox.loaded.remarks
    review.remarks += _find_missing_variables(review.definitions)
    return review


def _find_missing_variables(definitions: list[Definition]) -> list[Skipped]:
    """Under nounset a function that reads a variable it does not get fails: its author should know."""
    found = []
    for path in {it.action.path for it in definitions if isinstance(it.action, BashFunction)}:
        given = {name for it in definitions if isinstance(it.action, BashFunction) for name in it.env}
        for name, line in find_missing_variables(path, given | set(pick_variables(()))).items():
            place = f"{path.name}:{line}"
            found.append(Skipped(f"${name}", place, f"tools will not get it: add the line # @env {name}"))
    return found


async def _list_functions(definitions: list[Definition], root: Path) -> dict[Path, set[str]]:
    """What each `tools.bash` defines when it is loaded."""
    actions = [definition.action for definition in definitions]
    found: dict[Path, set[str]] = {}
    for path in {action.path for action in actions if isinstance(action, BashFunction)}:
        spec = process.Spec(
            command=["bash", "--noprofile", "--norc", "-c", _LIST_FUNCTIONS, str(path)],
            cwd=root,
            env=pick_variables(()),
            deadline_seconds=_LIST_SECONDS,
        )
        try:
            found[path] = set((await process.run(spec)).stdout.text.split())
        except Fault:
            found[path] = set()
    return found


def _find_obstacle(definition: Definition, functions: Mapping[Path, set[str]]) -> str | None:
    """Why every call will fail; None if one may succeed."""
    match definition.action:
        case Script() as script:
            return _find_missing_interpreter(script.path)
        case Command() as command:
            program = command.template.program
            return None if shutil.which(program) else f"there is no program {program}"
        case BashFunction() as bash if bash.function not in functions.get(bash.path, set()):
            if shutil.which(bash.function) is None:
                return f"{bash.path.name} defines no function {bash.function}"
    return None


def _find_missing_interpreter(path: Path) -> str | None:
    first = path.read_bytes()[:256].split(b"\n", 1)[0].decode(errors="replace")
    if not first.startswith("#!"):
        return None
    words = first[2:].split()
    if words and words[0].endswith("/env"):
        words = [word for word in words[1:] if not word.startswith("-")]
    if not words or shutil.which(words[0]) is None:
        return f"its interpreter {words[0] if words else '(none)'} is not there"
    return None


def _write_review(review: _Review) -> str:
    count = len(review.definitions)
    lines = [f"{review.folder}: {count} {'tool' if count == 1 else 'tools'}"]
    width = max((len(_write_signature(definition)) for definition in review.definitions), default=0)
    lines += [
        f"  {_write_signature(it):<{width}}  {it.source}  {', '.join(_list_traits(it))}".rstrip()
        for it in review.definitions
    ]
    sections = (
        ("left out", review.skipped),
        ("exposed, but will not run", review.not_runnable),
        ("worth a look", review.remarks),
    )
    for title, rows in sections:
        if rows:
            lines += [f"{title}:", *(f"  {row.name}  ({row.source}): {row.reason}" for row in rows)]
    return "\n".join(lines)


def _write_signature(definition: Definition) -> str:
    required = definition.input_schema.get("required", ())

    def write_parameter(name: str, rule: Any) -> str:  # noqa: ANN401 - a schema, which may be true or false
        if isinstance(rule, dict) and "default" in rule:
            return f"{name}={rule['default']!r}"
        return name if name in required else f"{name}?"

    shown = [write_parameter(name, rule) for name, rule in definition.properties.items()]
    return f"{definition.name}({', '.join(shown)})"


def _list_traits(definition: Definition) -> list[str]:
    words = ["read-only"] if definition.annotations.read_only else []
    words += [f"time-out {definition.timeout_seconds:g} s"] if definition.timeout_seconds else []
    words += [f"env {' '.join(definition.env)}"] if definition.env else []
    return words + ([definition.output] if definition.output != TEXT else [])


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


@click.command(
    "new",
    help="Write a tool called NAME that works at once, to be changed into what you need.",
    short_help="A starting point for a tool of your own.",
)
@click.argument("name")
@click.option("--lang", type=click.Choice(["sh", "python", "node"]), default="sh", show_default=True)
@click.option(
    "--tools", "folder", default="tools", show_default=True, metavar="DIR", help="Where to write it."
)
def _new(name: str, lang: str, folder: str) -> None:
    path = _write_tool(Path(folder), name, lang)
    click.echo(f"wrote {path}")
    click.echo(f"try it: faultless call toolbox --tools {folder} {name} who=world")


def _write_tool(folder: Path, name: str, language: str) -> Path:
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


COMMANDS: dict[str, click.Command] = {"check": _check, "new": _new}
