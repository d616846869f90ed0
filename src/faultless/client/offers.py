"""What a server offers beside tools: resources and prompts, as it lists them and as they read."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from faultless.client.folding import fold_breach
from faultless.contract import FaultKind
from faultless.contract.fault import Fault

if TYPE_CHECKING:
    from collections.abc import Iterable

    from faultless.client.connection import Connection
    from faultless.contract import Json


@dataclass(frozen=True, slots=True)
class Resource:
    """Something to read, or with `is_template` a pattern for many."""

    uri: str
    name: str = ""
    description: str = ""
    mime_type: str | None = None
    is_template: bool = False
    """`uri` has parameters in braces, to be filled in by the reader."""
    raw: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """As the server wrote it."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A conversation the server can begin."""

    name: str
    description: str = ""
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    """The names of its arguments."""
    raw: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """As the server wrote it."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What came back for a resource or a prompt."""

    value: Any
    text: str
    content: list[Json]


async def list_resources(connection: Connection) -> list[Resource]:
    """The resources, then the templates; none from a server that has no such thing."""
    plain = await _list(connection, "resources/list", "resources")
    templates = await _list(connection, "resources/templates/list", "resourceTemplates")
    return [
        *_read_resources(plain, "uri", is_template=False),
        *_read_resources(templates, "uriTemplate", is_template=True),
    ]


async def list_prompts(connection: Connection) -> list[Prompt]:
    listed = await _list(connection, "prompts/list", "prompts")
    return [
        _read_prompt(item) for item in listed if isinstance(item, dict) and isinstance(item.get("name"), str)
    ]


async def _list(connection: Connection, method: str, key: str) -> list[object]:
    try:
        return await connection.list_pages(method, key)
    except Fault as fault:
        if fault.kind is FaultKind.UNSUPPORTED:
            return []
        raise


def _read_resources(listed: Iterable[object], key: str, *, is_template: bool) -> list[Resource]:
    return [
        Resource(
            item[key],
            _find_text(item, "name") or "",
            _find_text(item, "description") or "",
            _find_text(item, "mimeType"),
            is_template,
            item,
        )
        for item in listed
        if isinstance(item, dict) and isinstance(item.get(key), str)
    ]


def _read_prompt(item: dict[str, Any]) -> Prompt:
    arguments = item.get("arguments")
    named = [
        argument
        for argument in (arguments if isinstance(arguments, list) else [])
        if isinstance(argument, dict) and isinstance(argument.get("name"), str)
    ]
    return Prompt(
        item["name"],
        _find_text(item, "description") or "",
        tuple(argument["name"] for argument in named if argument.get("required") is True),
        tuple(argument["name"] for argument in named if argument.get("required") is not True),
        item,
    )


async def read_resource(connection: Connection, uri: str) -> Contents:
    """Its text, its bytes, or a list of these where it has several parts."""
    result = await connection.ask("resources/read", lambda: connection.mcp.read_resource(uri))
    contents = result.get("contents")
    parts = [part for part in (contents if isinstance(contents, list) else []) if isinstance(part, dict)]
    values = [_read_part(part) for part in parts]
    text = "\n".join(value for value in values if isinstance(value, str))
    return Contents(values[0] if len(values) == 1 else values, text, list(parts))


def _read_part(part: dict[str, Any]) -> str | bytes:
    if isinstance(text := part.get("text"), str):
        return text
    try:
        return base64.b64decode(str(part.get("blob", "")), validate=True)
    except (binascii.Error, ValueError) as broken:
        raise fold_breach("a blob is not base64", None) from broken


async def get_prompt(connection: Connection, name: str, arguments: dict[str, str]) -> Contents:
    """Its messages as they came, and their text."""
    result = await connection.ask("prompts/get", lambda: connection.mcp.get_prompt(name, arguments))
    found = result.get("messages")
    messages = [one for one in (found if isinstance(found, list) else []) if isinstance(one, dict)]
    blocks = [block for one in messages if isinstance(block := one.get("content"), dict)]
    text = "\n".join(said for block in blocks if isinstance(said := block.get("text"), str))
    return Contents(messages, text, list(messages))


def _find_text(item: dict[str, Any], key: str) -> str | None:
    value = item.get(key)
    return value if isinstance(value, str) else None
