"""What a tool's definition says, whichever of the four ways it was written in."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from faultless.kit.toolset import Annotations
from faultless.servers.toolbox.argv import Template
from faultless.servers.toolbox.schema import Schema

TEXT, JSON = "text", "json"
"""Forms of output; any other form is a media type, such as image/png."""
LONGEST_NAME = 64


class BrokenDefinitionError(Exception):
    """One definition that cannot become a tool, and why; the others are not touched by it."""

    def __init__(self, reason: str, *, name: str = "", line: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.name = name
        self.line = line


@dataclass(frozen=True)
class Script:
    """An executable: the arguments as JSON on stdin, as ARG_ variables and through `@argv`."""

    path: Path
    template: Template


@dataclass(frozen=True)
class Command:
    """A program that exists already; it gets only what its template gives it."""

    template: Template
    stdin_parameter: str | None


@dataclass(frozen=True)
class BashFunction:
    """A function of an mcbox `tools.bash`: the arguments as JSON in `$1`."""

    path: Path
    function: str


@dataclass(frozen=True)
class PythonFunction:
    path: Path
    function: str
    returns_text: bool
    wraps_result: bool
    """The result is no object, so it stands under `result`."""


Action: TypeAlias = Script | Command | BashFunction | PythonFunction

# What a client must assume of a program nobody has said anything about.
CAUTIOUS = Annotations(read_only=False, idempotent=False, destructive=True, open_world=True)


@dataclass(frozen=True, kw_only=True)
class Definition:
    name: str
    description: str
    source: str
    """The file it came from, as the owner of the folder would call it."""
    action: Action
    input_schema: dict[str, Any]
    checker: Schema
    output: str = TEXT
    output_schema: dict[str, Any] | None = None
    output_checker: Schema | None = None
    annotations: Annotations = CAUTIOUS
    timeout_seconds: float | None = None
    ok_exits: frozenset[int] = frozenset({0})
    env: tuple[str, ...] = ()
    fills_defaults: bool = True

    @property
    def properties(self) -> dict[str, Any]:
        found = self.input_schema.get("properties")
        return found if isinstance(found, dict) else {}


@dataclass(frozen=True)
class Skipped:
    """A definition that was left out."""

    name: str
    source: str
    reason: str


@dataclass
class Loaded:
    """What one file, or the whole folder, defines."""

    definitions: list[Definition] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)

    def skip(self, source: str, broken: BrokenDefinitionError) -> None:
        place = source if broken.line is None else f"{source}:{broken.line}"
        self.skipped.append(Skipped(broken.name or Path(source).stem, place, broken.reason))

    def add(self, other: Loaded) -> None:
        """The first definition of a name stays; another one of the same name is left out."""
        taken = {definition.name: definition.source for definition in self.definitions}
        for definition in other.definitions:
            if definition.name in taken:
                reason = f"{taken[definition.name]} defines a tool of that name already"
                self.skipped.append(Skipped(definition.name, definition.source, reason))
            else:
                self.definitions.append(definition)
        self.skipped += other.skipped


def check_name(name: str) -> str:
    """Clients pass names on to models, whose interfaces allow these characters."""
    if (
        0 < len(name) <= LONGEST_NAME
        and name.isascii()
        and name.replace("-", "_").replace(".", "_").isidentifier()
    ):
        return name
    raise BrokenDefinitionError(
        f"{name[:LONGEST_NAME]!r} is no tool name: letters, digits, _ - and ., at most {LONGEST_NAME}",
        name=name,
    )
