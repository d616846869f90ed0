"""mcbox folders: `server.json`, `tools.json` and `tools.bash`, as they are."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from faultless.kit import log
from faultless.servers.toolbox.argv import LONGEST_ELEMENT_BYTES
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
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from faultless.kit.toolset import Annotations

_SERVER, _TOOLS, _FUNCTIONS = "server.json", "tools.json", "tools.bash"
DEFINING = frozenset({_TOOLS, _FUNCTIONS})
FILE_NAMES = frozenset({_SERVER, _TOOLS, _FUNCTIONS})
_ENV = "# @env "
# Enough of bash to tell what a function reads: text in single quotes and comments are not read by it.
_UNREAD = re.compile(r"(?<!\\)'[^']*'|(?:^|(?<=\s))#.*", re.MULTILINE)
_READ = re.compile(r"(?<!\\)\$(?:\{(?P<braced>[A-Za-z_]\w*)\b(?!:?[-+=?])[^}]*\}|(?P<bare>[A-Za-z_]\w*))")
_SET = re.compile(r"\b([A-Za-z_]\w*)(?:\[[^\]]*\])?\+?=")
_LOCAL = re.compile(
    r"\b(?:local|declare|typeset|readonly|read|mapfile|readarray|for|select|printf\s+-v|getopts\s+\S+)\b((?:\s+-?\w+)+)"
)
_OWN_PREFIXES = ("BASH", "MCBOX_", "EPOCH", "__faultless")
_OWN_VARIABLES = frozenset(
    [
        "OTEL_LOG_LEVEL",
        "COLUMNS",
        "DIRSTACK",
        "EUID",
        "FUNCNAME",
        "GROUPS",
        "HOSTNAME",
        "HOSTTYPE",
        "IFS",
        "LINENO",
        "LINES",
        "MACHTYPE",
        "OLDPWD",
        "OPTARG",
        "OPTIND",
        "OSTYPE",
        "PIPESTATUS",
        "PPID",
        "PS4",
        "PWD",
        "RANDOM",
        "REPLY",
        "SECONDS",
        "SHELLOPTS",
        "SHLVL",
        "SRANDOM",
        "UID",
        "_",
    ]
)
"""Set by bash, or by us."""
_OPENING = frozenset(
    {"additionalProperties", "patternProperties", "unevaluatedProperties", "$ref", "allOf", "anyOf", "oneOf"}
)


@dataclass(frozen=True)
class Files:
    """Where mcbox's three files lie: in one folder, unless its variables say otherwise."""

    server: Path
    tools: Path
    functions: Path


def locate(folder: Path, environment: Mapping[str, str]) -> Files:
    """The variables are for a folder that nobody named; one that was named is meant as it is."""

    def find(variable: str, name: str) -> Path:
        return folder / environment[variable] if environment.get(variable) else folder / name

    return Files(
        find("MCBOX_SERVER_CONFIG_FILE", _SERVER),
        find("MCBOX_TOOLS_CONFIG_FILE", _TOOLS),
        find("MCBOX_TOOLS_LIB_FILE", _FUNCTIONS),
    )


@dataclass(frozen=True)
class Identity:
    name: str = "faultless-toolbox"
    version: str = ""
    instructions: str = ""


def load_identity(files: Files) -> Identity:
    """What `server.json` says about the server; both shapes that are in use are read.

    A broken one costs the server its name, not its tools.
    """
    try:
        document = _read_object(files.server)
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


def load_mcbox(files: Files) -> Loaded:
    loaded = Loaded()
    source = files.tools.name
    try:
        document = _read_object(files.tools)
    except BrokenDefinitionError as broken:
        loaded.break_down(source, broken.reason)
        return loaded
    tools = document.get("tools")
    if not isinstance(tools, list):
        loaded.break_down(source, 'has no list "tools"')
        return loaded
    env, variables = _read_env(files.functions), _read_variables(files)
    for position, entry in enumerate(tools):
        name = entry.get("name") if isinstance(entry, dict) else None
        shown = name if isinstance(name, str) else f"tools[{position}]"
        try:
            loaded.definitions.append(_define(files, entry, env, variables))
        except BrokenDefinitionError as broken:
            loaded.skip(source, BrokenDefinitionError(broken.reason, name=shown))
    return loaded


def _define(files: Files, entry: object, env: tuple[str, ...], variables: dict[str, str]) -> Definition:
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
    if not files.functions.is_file():
        raise BrokenDefinitionError(f"{files.functions.name}, which should hold its function, is missing")
    traits = Traits(
        annotations=_read_annotations(entry.get("annotations")),
        env=env,
        output=TEXT if output_schema is None else JSON,
        output_schema=output_schema,
    )
    prefix = os.environ.get("MCBOX_TOOLS_FUNCTION_NAME_PREFIX") or "tool_"  # an empty one is none, as there
    action = BashFunction(files.functions, prefix + name, variables)
    definition = define_tool(
        name, description, source=files.tools.name, action=action, schema=schema, traits=traits
    )
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


def find_missing_variables(path: Path, given: AbstractSet[str]) -> dict[str, int]:
    """Variables that the file reads and nobody sets, with the line where it does; `${NAME:-x}` needs none."""
    text = path.read_text(encoding="utf-8", errors="replace")
    shown = _UNREAD.sub(lambda skipped: "\n" * skipped[0].count("\n"), text)
    known = (
        given | set(_SET.findall(shown)) | {name for names in _LOCAL.findall(shown) for name in names.split()}
    )
    missing: dict[str, int] = {}
    for match in _READ.finditer(shown):
        name = match["braced"] or match["bare"]
        if (
            name not in known
            and name not in _OWN_VARIABLES
            and not name.startswith(_OWN_PREFIXES)
            and name not in missing
        ):
            missing[name] = shown.count("\n", 0, match.start()) + 1
    return missing


def _read_variables(files: Files) -> dict[str, str]:
    """What mcbox tells its tools about its own configuration, where a variable can hold it."""
    found = {}
    for name, path in (("MCBOX_SERVER_CONFIG", files.server), ("MCBOX_TOOLS_CONFIG", files.tools)):
        try:
            text = json.dumps(json.loads(path.read_bytes()), ensure_ascii=False, separators=(",", ":"))
        except (OSError, ValueError):
            text = ""
        found[name] = (
            text if len(text.encode()) + len(name) < LONGEST_ELEMENT_BYTES and "\0" not in text else ""
        )
    return found


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
