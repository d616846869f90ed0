"""`tools.toml`: commands that exist already, their parameters as JSON Schema."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from faultless.contract.text import did_you_mean
from faultless.servers.toolbox.argv import TemplateError, parse_list
from faultless.servers.toolbox.definition import (
    JSON,
    BrokenDefinitionError,
    Command,
    Definition,
    Loaded,
    Traits,
    define_tool,
    make_annotations,
)
from faultless.servers.toolbox.directives import LONGEST_TIMEOUT_SECONDS, read_output, read_variables

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic_core import ErrorDetails

FILE_NAME = "tools.toml"
_OTHER_WORDS = {
    **dict.fromkeys(("argv", "args", "cmd", "run", "exec", "program"), "command"),
    **dict.fromkeys(("schema", "inputSchema", "input_schema", "params", "properties"), "parameters"),
    **dict.fromkeys(("readonly", "readOnly"), "read_only"),
}
"""What people write who have used something else before."""
_NO_PARAMETERS = {"type": "object", "properties": {}, "additionalProperties": False}


class _Entry(BaseModel):
    """One `[tools.NAME]` table."""

    model_config = ConfigDict(extra="forbid", strict=True)

    description: str = Field(min_length=1)
    command: list[str | list[str]] = Field(min_length=1)
    parameters: dict[str, Any] = _NO_PARAMETERS
    stdin: str | None = None
    timeout_seconds: float | None = Field(None, gt=0, le=LONGEST_TIMEOUT_SECONDS)
    ok_exit: list[int] = [0]
    env: list[str] = []
    group: list[str] = []
    progress: bool = False
    output: str = "text"
    output_schema: dict[str, Any] | None = None
    read_only: bool = False
    idempotent: bool | None = None
    destructive: bool | None = None
    open_world: bool = True


def load_declared(path: Path) -> Loaded:
    loaded = Loaded()
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        loaded.break_down(path.name, f"cannot be read: {problem}")
        return loaded
    tables = document.pop("tools", {})
    if document or not isinstance(tables, dict):
        loaded.break_down(path.name, _explain_other_tables(document))
        return loaded
    for name, table in tables.items():
        try:
            loaded.definitions.append(_define(path, name, table))
        except BrokenDefinitionError as broken:
            loaded.skip(path.name, BrokenDefinitionError(broken.reason, name=name))
    return loaded


def _explain_other_tables(document: dict[str, Any]) -> str:
    singular = document.get("tool")
    if isinstance(singular, dict) and singular:
        return f"[tool.{next(iter(singular))}] should be [tools.{next(iter(singular))}]"
    names = ", ".join(map(repr, document)) or "a `tools` that is no table"
    return f"holds {names} where only [tools.NAME] tables belong"


def _define(path: Path, name: str, table: object) -> Definition:
    if not isinstance(table, dict):
        raise BrokenDefinitionError("is not a table")
    try:
        entry = _Entry.model_validate(table)
    except ValidationError as refused:
        raise BrokenDefinitionError("; ".join(_complain(error) for error in refused.errors())) from None
    program = entry.command[0]
    if not isinstance(program, str) or not program or "{" in program:
        raise BrokenDefinitionError("the first element of command must be the program itself")
    if entry.stdin is not None and entry.stdin not in entry.parameters.get("properties", {}):
        raise BrokenDefinitionError(f"stdin names {entry.stdin!r}, which is not a parameter")
    if program.startswith("./"):
        entry.command[0] = str(path.parent / program[2:]).replace("{", "{{").replace("}", "}}")
    try:
        action = Command(parse_list(entry.command), entry.stdin)
    except TemplateError as refused:
        raise BrokenDefinitionError(str(refused)) from None
    return define_tool(
        name,
        entry.description,
        source=path.name,
        action=action,
        schema=entry.parameters,
        traits=_read_traits(entry),
    )


def _read_traits(entry: _Entry) -> Traits:
    if entry.output_schema is not None and entry.output != JSON:
        raise BrokenDefinitionError('output_schema needs output = "json"')
    return Traits(
        annotations=make_annotations(
            read_only=entry.read_only,
            idempotent=entry.idempotent,
            destructive=entry.destructive,
            open_world=entry.open_world,
        ),
        timeout_seconds=entry.timeout_seconds,
        ok_exits=frozenset(entry.ok_exit),
        env=read_variables(" ".join(entry.env)) if entry.env else (),
        groups=tuple(entry.group),
        reports_progress=entry.progress,
        output=read_output(entry.output),
        output_schema=entry.output_schema,
    )


def _complain(error: ErrorDetails) -> str:
    place = ".".join(str(step) for step in error["loc"])
    if error["type"] == "extra_forbidden":
        meant = _OTHER_WORDS.get(place)
        advice = f"; write {meant}" if meant else did_you_mean(place, _Entry.model_fields)
        return f"unknown key {place!r}{advice}"
    return f"{place}: {error['msg'][:1].lower()}{error['msg'][1:]}"
