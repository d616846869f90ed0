"""What a folder would expose, what is left out, and what will not run: the answer of `toolbox check`."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from faultless import process
from faultless.contract import Fault
from faultless.kit import log
from faultless.kit.root import Root
from faultless.servers.toolbox.definition import BashFunction, Command, Definition, Script, Skipped
from faultless.servers.toolbox.environment import pick
from faultless.servers.toolbox.toolset import build_toolbox

if TYPE_CHECKING:
    from collections.abc import Mapping

_LIST_FUNCTIONS = 'source "$0" >&2 </dev/null; compgen -A function'
_LIST_SECONDS = 20.0


@dataclass
class Review:
    folder: Path
    definitions: list[Definition] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    doubts: list[Skipped] = field(default_factory=list)
    """Exposed, but every call will fail."""


async def review(root: Path, folder: str | None) -> Review:
    log.configure(log.Level.ERROR)  # everything the log would say stands in the review
    toolbox = build_toolbox(Root(root).path, {"folder": folder})
    await toolbox.refresh()
    found = Review(toolbox.folder.path, toolbox.loaded.definitions, toolbox.loaded.skipped)
    functions = await _list_functions(found.definitions, root)
    for definition in found.definitions:
        if reason := _doubt(definition, functions):
            found.doubts.append(Skipped(definition.name, definition.source, reason))
    return found


def write(found: Review) -> str:
    count = len(found.definitions)
    lines = [f"{found.folder}: {count} {'tool' if count == 1 else 'tools'}"]
    width = max((len(_signature(definition)) for definition in found.definitions), default=0)
    lines += [
        f"  {_signature(definition):<{width}}  {definition.source}  {', '.join(_traits(definition))}".rstrip()
        for definition in found.definitions
    ]
    for title, rows in (("left out", found.skipped), ("exposed, but will not run", found.doubts)):
        if rows:
            lines += [f"{title}:", *(f"  {row.name}  ({row.source}): {row.reason}" for row in rows)]
    return "\n".join(lines)


def _signature(definition: Definition) -> str:
    required = definition.input_schema.get("required", ())
    shown = [_parameter(name, rule, name in required) for name, rule in definition.properties.items()]
    return f"{definition.name}({', '.join(shown)})"


def _parameter(name: str, rule: Any, required: bool) -> str:  # noqa: ANN401 - a schema, which may be true or false
    if isinstance(rule, dict) and "default" in rule:
        return f"{name}={rule['default']!r}"
    return name if required else f"{name}?"


def _traits(definition: Definition) -> list[str]:
    words = ["read-only"] if definition.annotations.read_only else []
    words += [f"time-out {definition.timeout_seconds:g} s"] if definition.timeout_seconds else []
    words += [f"env {' '.join(definition.env)}"] if definition.env else []
    return words + ([definition.output] if definition.output != "text" else [])


def _doubt(definition: Definition, functions: Mapping[Path, set[str]]) -> str | None:
    match definition.action:
        case Script() as script:
            return _missing_interpreter(script.path)
        case Command() as command:
            program = command.template.program
            return None if shutil.which(program) else f"there is no program {program}"
        case BashFunction() as bash if bash.function not in functions.get(bash.path, set()):
            return f"{bash.path.name} defines no function {bash.function}"
    return None


def _missing_interpreter(path: Path) -> str | None:
    first = path.read_bytes()[:256].split(b"\n", 1)[0].decode(errors="replace")
    if not first.startswith("#!"):
        return None
    words = first[2:].split()
    named = (
        [word for word in words[1:] if not word.startswith("-")]
        if words and words[0].endswith("/env")
        else words
    )
    if not named or shutil.which(named[0]) is None:
        return f"its interpreter {named[0] if named else '(none)'} is not there"
    return None


async def _list_functions(definitions: list[Definition], root: Path) -> dict[Path, set[str]]:
    paths = {
        definition.action.path for definition in definitions if isinstance(definition.action, BashFunction)
    }
    found: dict[Path, set[str]] = {}
    for path in paths:
        spec = process.Spec(
            command=["bash", "--noprofile", "--norc", "-c", _LIST_FUNCTIONS, str(path)],
            cwd=root,
            env=pick(()),
            deadline_seconds=_LIST_SECONDS,
        )
        try:
            found[path] = set((await process.run(spec)).stdout.text.split())
        except Fault:
            found[path] = set()
    return found
