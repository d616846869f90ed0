"""mcbox folders: `server.json`, `tools.json` and `tools.bash`, as they are."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from faultless.kit import log
from faultless.servers.toolbox.definition import (
    CAUTIOUS,
    JSON,
    TEXT,
    BashFunction,
    BrokenDefinitionError,
    Definition,
    Loaded,
    Traits,
    define_tool,
    make_annotations,
)
from faultless.servers.toolbox.directives import read_variables
from faultless.servers.toolbox.schema import Schema

if TYPE_CHECKING:
    from pathlib import Path

    from faultless.kit.toolset import Annotations

TOOLS = "tools.json"
_SERVER, _FUNCTIONS = "server.json", "tools.bash"
FILE_NAMES = frozenset({_SERVER, TOOLS, _FUNCTIONS})
_ENV = "# @env "
_OPENING = frozenset(
    {"additionalProperties", "patternProperties", "unevaluatedProperties", "$ref", "allOf", "anyOf", "oneOf"}
)


@dataclass(frozen=True)
class Identity:
    name: str = "faultless-toolbox"
    version: str = ""
    instructions: str = ""


def load_identity(folder: Path) -> Identity:
    """What `server.json` says about the server; both shapes that are in use are read.

    A broken one costs the server its name, not its tools.
    """
    try:
        document = _read_object(folder / _SERVER)
    except BrokenDefinitionError as broken:
        log.error("server.json is not used", reason=broken.reason)
        return Identity()
    inner = document.get("serverInfo")
    given = document | inner if isinstance(inner, dict) else document
    texts = {name: given.get(name) for name in ("name", "version", "instructions")}
    if wrong := [name for name, text in texts.items() if not isinstance(text, str | None)]:
        log.error("server.json is not used", reason=f"{', '.join(wrong)} must be a string")
        return Identity()
    return Identity(**{name: text for name, text in texts.items() if text})


def load_mcbox(folder: Path) -> Loaded:
    loaded = Loaded()
    try:
        tools = _read_object(folder / TOOLS).get("tools")
    except BrokenDefinitionError as broken:
        loaded.skip(TOOLS, broken)
        return loaded
    if not isinstance(tools, list):
        loaded.skip(TOOLS, BrokenDefinitionError('has no list "tools"', name=TOOLS))
        return loaded
    env = _read_env(folder / _FUNCTIONS)
    for position, entry in enumerate(tools):
        name = entry.get("name") if isinstance(entry, dict) else None
        shown = name if isinstance(name, str) else f"tools[{position}]"
        try:
            loaded.definitions.append(_define(folder, entry, env))
        except BrokenDefinitionError as broken:
            loaded.skip(TOOLS, BrokenDefinitionError(broken.reason, name=shown))
    return loaded


def _define(folder: Path, entry: object, env: tuple[str, ...]) -> Definition:
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        raise BrokenDefinitionError("is not an object with a name")
    name = entry["name"]
    description = entry.get("description", "")
    schema = entry.get("inputSchema", {"type": "object"})
    output_schema = entry.get("outputSchema")
    if (
        not isinstance(description, str)
        or not isinstance(schema, dict)
        or not isinstance(output_schema, dict | None)
    ):
        raise BrokenDefinitionError("description must be a string, inputSchema and outputSchema objects")
    if not (folder / _FUNCTIONS).is_file():
        raise BrokenDefinitionError(f"{_FUNCTIONS}, which should hold its function, is missing")
    traits = Traits(
        annotations=_read_annotations(entry.get("annotations")),
        env=env,
        output=TEXT if output_schema is None else JSON,
        output_schema=output_schema,
    )
    prefix = os.environ.get("MCBOX_TOOLS_FUNCTION_NAME_PREFIX", "tool_")
    action = BashFunction(folder / _FUNCTIONS, prefix + name)
    definition = define_tool(name, description, source=TOOLS, action=action, schema=schema, traits=traits)
    if _OPENING & schema.keys():
        return definition
    # mcbox refuses arguments that `properties` does not name, and its tools rely on it.
    return replace(definition, checker=Schema(schema | {"additionalProperties": False}))


def _read_annotations(given: object) -> Annotations:
    if not isinstance(given, dict):
        return CAUTIOUS
    idempotent, destructive = given.get("idempotentHint"), given.get("destructiveHint")
    return make_annotations(
        read_only=given.get("readOnlyHint") is True,
        idempotent=None if idempotent is None else bool(idempotent),
        destructive=None if destructive is None else bool(destructive),
        open_world=given.get("openWorldHint") is not False,
    )


def _read_env(path: Path) -> tuple[str, ...]:
    """`# @env NAME` in `tools.bash`: a comment to mcbox, the way to a variable here."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ()
    return tuple(
        name for line in lines if line.startswith(_ENV) for name in read_variables(line[len(_ENV) :])
    )


def _read_object(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as problem:
        raise BrokenDefinitionError(f"cannot be read: {problem}", name=path.name) from None
    if not isinstance(document, dict):
        raise BrokenDefinitionError("is not a JSON object", name=path.name)
    return document
