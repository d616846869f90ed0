"""What a tool's definition says, whichever of the four ways it was written in."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from faultless.kit.toolset import Annotations
from faultless.servers.toolbox.argv import Template, TemplateError, check_template, find_bare_numbers
from faultless.servers.toolbox.paths import PathFinder
from faultless.servers.toolbox.schema import Schema, SchemaError

TEXT, JSON = "text", "json"
"""Forms of output; any other form is a media type, such as image/png."""
_LONGEST_NAME = 64
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")


class BrokenDefinitionError(Exception):
    """One definition that cannot become a tool, and why; it does not affect the others."""

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
    """A function of an mcbox `tools.bash`, or a program of its name: the arguments as JSON in `$1`."""

    path: Path
    function: str
    variables: dict[str, str]
    """What mcbox itself would set."""


@dataclass(frozen=True)
class PythonFunction:
    path: Path
    function: str
    returns_text: bool
    wraps_result: bool
    """The result is not an object, so it stands under `result`."""


Action: TypeAlias = Script | Command | BashFunction | PythonFunction

# What a client must assume of a program nobody has said anything about.
CAUTIOUS = Annotations(read_only=False, idempotent=False, destructive=True, open_world=True)


def make_annotations(
    *, read_only: bool, idempotent: bool | None, destructive: bool | None, open_world: bool
) -> Annotations:
    """What only reads may be repeated and destroys nothing, unless its owner says otherwise."""
    return Annotations(
        read_only=read_only,
        idempotent=read_only if idempotent is None else idempotent,
        destructive=not read_only if destructive is None else destructive,
        open_world=open_world,
    )


@dataclass(frozen=True, kw_only=True)
class Traits:
    """Everything about a tool that is neither its name nor its parameters."""

    annotations: Annotations = CAUTIOUS
    timeout_seconds: float | None = None
    ok_exits: frozenset[int] = frozenset({0})
    env: tuple[str, ...] = ()
    output: str = TEXT
    output_schema: dict[str, Any] | None = None
    groups: tuple[str, ...] = ()
    """For `--group`."""
    reports_progress: bool = False
    """On descriptor 3."""


@dataclass(frozen=True, kw_only=True)
class Definition(Traits):
    name: str
    description: str
    source: str
    """The file it came from, as the owner of the folder would call it."""
    action: Action
    input_schema: dict[str, Any]
    checker: Schema
    paths: PathFinder
    output_checker: Schema | None
    remarks: tuple[str, ...] = ()
    """For its author: it works, but not as well as it could."""

    @property
    def properties(self) -> dict[str, Any]:
        found = self.input_schema.get("properties")
        return found if isinstance(found, dict) else {}

    @property
    def fills_defaults(self) -> bool:
        """Functions fill in their own."""
        return isinstance(self.action, Script | Command)


def define_tool(
    name: str, description: str, *, source: str, action: Action, schema: dict[str, Any], traits: Traits
) -> Definition:
    """A definition whose parts are proved to fit each other."""
    check_name(name)
    if schema.get("type") != "object":
        raise BrokenDefinitionError('the schema of the parameters does not say "type": "object"', name=name)
    remarks: tuple[str, ...] = ()
    try:
        Schema(schema)
        if isinstance(action, Script | Command):
            _check_parameters(action.template, schema)
            schema, remarks = _bound_numbers(action.template, schema)
        checker, paths = Schema(schema), PathFinder(schema)
        output_checker = Schema(traits.output_schema) if traits.output_schema else None
    except (SchemaError, TemplateError) as refused:
        raise BrokenDefinitionError(str(refused), name=name) from None
    if traits.output_schema and traits.output_schema.get("type") != "object":
        raise BrokenDefinitionError('an output schema must say "type": "object"', name=name)
    return Definition(
        name=name,
        description=description,
        source=source,
        action=action,
        input_schema=schema,
        checker=checker,
        paths=paths,
        output_checker=output_checker,
        remarks=remarks,
        **vars(traits),
    )


def check_name(name: str) -> None:
    """Clients pass names on to models, whose interfaces allow these characters."""
    if not _NAME.fullmatch(name):
        raise BrokenDefinitionError(
            f"{name[:_LONGEST_NAME]!r} is no tool name: letters, digits, _ - and ., at most {_LONGEST_NAME}",
            name=name,
        )


def _check_parameters(template: Template, schema: dict[str, Any]) -> None:
    """A command line and variables can be made of whatever the schema lets through."""
    properties = schema.get("properties", {})
    given = set(schema.get("required", ()))
    given |= {name for name, rule in properties.items() if isinstance(rule, dict) and "default" in rule}
    check_template(template, properties, given)
    names = [variable_name(name) for name in properties]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise TemplateError(f"two parameters would both be called {twice}")


def _bound_numbers(template: Template, schema: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Says in the schema, which a model sees, that no number below zero can be passed; and to the author."""
    bare = find_bare_numbers(template, schema.get("properties", {}))
    if not bare:
        return schema, ()
    for name in bare:
        if schema["properties"][name].get("default", 0) < 0:
            raise TemplateError(
                f"the default of {name} could be read as an option: write -- before {{{name}}}"
            )
    bounded = {name: schema["properties"][name] | {"minimum": 0} for name in bare}
    remarks = tuple(
        f"{{{name}}} takes no number below zero, which could be read as an option:"
        f" write -- before it, or --option={{{name}}}"
        for name in bare
    )
    return schema | {"properties": schema["properties"] | bounded}, remarks


def variable_name(parameter: str) -> str:
    return "ARG_" + re.sub(r"\W", "_", parameter).upper()


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
    remarks: list[Skipped] = field(default_factory=list)
    """About files that define nothing, although they look as if they were meant to."""
    broken: Skipped | None = None
    """A file of many definitions that cannot be read: nobody knows which tools it would have offered."""

    def break_down(self, source: str, reason: str) -> None:
        self.broken = Skipped(source, source, reason)
        self.skipped.append(self.broken)

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
        self.remarks += other.remarks
        self.broken = self.broken or other.broken
