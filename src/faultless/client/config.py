"""The `mcpServers` file that most clients share: which servers there are, and how each is reached."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from faultless.contract import Fault, FaultKind

if TYPE_CHECKING:
    from faultless.client.address import Address

Config: TypeAlias = "Path | str | Mapping[str, Any]"
_SECTIONS = ("mcpServers", "servers")
_VARIABLE = re.compile(r"\$\{(?:env:)?(\w+)(?::-([^}]*))?\}")
_HINT = 'write {"mcpServers": {"NAME": {"command": "…", "args": […]}}}'


@dataclass(frozen=True, slots=True)
class ServerEntry:
    """One server of the file."""

    address: Address
    cwd: Path | None = None
    env: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)


def read_config(config: Config) -> dict[str, ServerEntry | Fault]:
    """Every server that is not disabled, or what is wrong with it; raised where none is left to use."""
    name, value = _load(config)
    section = next((value[key] for key in _SECTIONS if isinstance(value.get(key), Mapping)), None)
    if section is None:
        raise _refuse(f"{name} has no mcpServers")
    entries: dict[str, ServerEntry | Fault] = {}
    for server, entry in section.items():
        if isinstance(entry, Mapping) and entry.get("disabled") is True:
            continue
        try:
            entries[server] = _read_entry(f"{name}: {server}", entry)
        except Fault as fault:
            entries[server] = fault
    faults = [entry for entry in entries.values() if isinstance(entry, Fault)]
    if faults and len(faults) == len(entries):
        raise faults[0]
    return entries


def _load(config: Config) -> tuple[str, Mapping[str, Any]]:
    if isinstance(config, Mapping):
        return "the configuration", config
    path = Path(config)
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as missing:
        raise _refuse(f"there is no file {path}", FaultKind.NOT_FOUND) from missing
    except OSError as unreadable:
        raise _refuse(
            f"{path} cannot be read: {unreadable.strerror}", FaultKind.PERMISSION_DENIED
        ) from unreadable
    except (ValueError, RecursionError) as broken:
        raise _refuse(f"{path} is not JSON: {broken}", FaultKind.PARSE_ERROR) from broken
    if not isinstance(value, dict):
        raise _refuse(f"{path} is not a JSON object")
    return path.name, value


def _read_entry(where: str, entry: object) -> ServerEntry:
    if not isinstance(entry, Mapping):
        raise _refuse(f"{where} is not an object")
    env = _read_texts(where, "env", entry)
    headers = _read_texts(where, "headers", entry)
    cwd = entry.get("cwd")
    if isinstance(url := entry.get("url"), str):
        if entry.get("type") == "sse":
            raise _refuse(
                f"{where} uses the sse transport, which this client does not speak",
                FaultKind.UNSUPPORTED,
                hint="most such servers also have an address for streamable HTTP, often ending in /mcp",
            )
        return ServerEntry(_expand(where, url), headers=headers)
    command, arguments = entry.get("command"), entry.get("args", [])
    if not isinstance(command, str):
        raise _refuse(f"{where} has neither a command nor a url that is text")
    if not isinstance(arguments, list):
        raise _refuse(f"{where}: args is not a list")
    words = [_expand(where, str(word)) for word in (command, *arguments)]
    return ServerEntry(words, Path(_expand(where, cwd)) if isinstance(cwd, str) else None, env, headers)


def _read_texts(where: str, key: str, entry: Mapping[str, Any]) -> dict[str, str]:
    value = entry.get(key) or {}
    if not isinstance(value, Mapping):
        raise _refuse(f"{where}: {key} is not an object")
    return {str(name): _expand(where, str(text)) for name, text in value.items()}


def _expand(where: str, text: str) -> str:
    """`${NAME}` and `${NAME:-default}`, as other clients have it."""

    def replace(found: re.Match[str]) -> str:
        value = os.environ.get(found[1], found[2])
        if value is None:
            raise _refuse(
                f"{where} needs the environment variable {found[1]}, which is not set",
                hint=f"set {found[1]}, or write ${{{found[1]}:-default}}",
            )
        return value

    return _VARIABLE.sub(replace, text)


def _refuse(message: str, kind: FaultKind = FaultKind.USAGE_ERROR, hint: str = _HINT) -> Fault:
    return Fault(kind, message, hint=hint, layer="protocol", outcome="not_done")
