"""Opening a response: what it flags, which objects it carries, what it says in words."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from faultless.contract.dialects.restoring import is_object

if TYPE_CHECKING:
    from collections.abc import Iterator

    from faultless.contract.fault import Json

# What a result may hold beside its content; not part of any answer.
_FRAME = frozenset({"_meta", "resultType", "isError", "jsonrpc", "id"})
_DECODER = json.JSONDecoder(parse_constant=lambda _: None)
_RESULT_MARKS = frozenset({"content", "structuredContent", "isError"})


@dataclass(frozen=True, slots=True)
class Envelope:
    error: object = None
    """The JSON-RPC error, if there is one."""
    flagged: bool = False
    payloads: list[dict[str, Json]] = field(default_factory=list)
    """Every JSON object in the answer, the most trustworthy first."""
    rows: list[Json] = field(default_factory=list)
    """The answer, where it is a JSON array."""
    text: str = ""
    marked: list[dict[str, Json]] = field(default_factory=list)
    """Content blocks that call themselves errors."""
    is_empty: bool = False


def open_response(response: object) -> Envelope:
    if not is_object(response):
        return Envelope(is_empty=True)
    error = response.get("error")
    if is_object(error) or (error is not None and "jsonrpc" in response):
        return Envelope(error=error)
    if "result" in response and not response.keys() & _RESULT_MARKS:
        result = response["result"]
        if isinstance(result, str):
            return open_result({"content": result})
        return open_result(result) if is_object(result) else Envelope(is_empty=True)
    return open_result(response)


def open_result(result: dict[str, Json]) -> Envelope:
    blocks = _list_blocks(result.get("content"))
    texts = [text for block in blocks if isinstance(text := block.get("text"), str)]
    structured = result.get("structuredContent")
    parsed = [value for text in texts if (value := _parse(text)) != structured]  # often said twice
    values = [structured, *parsed]
    if not texts and is_object(structured) and isinstance(inner := structured.get("result"), str):
        texts = [inner]
    bare: dict[str, Json] = {name: value for name, value in result.items() if name not in _FRAME}
    is_bare = not result.keys() & {"content", "structuredContent"}
    if is_bare:
        values.append(bare)
        if isinstance(text := bare.get("text"), str):
            texts.append(text)
    return Envelope(
        flagged=result.get("isError") is True,
        payloads=[payload for value in values for payload in _unwrap(value)],
        rows=next((value for value in values if isinstance(value, list)), []),
        text="\n".join(texts),
        marked=[block for block in blocks if block.get("type") == "error" or block.get("isError") is True],
        is_empty=is_bare and not bare,
    )


def _list_blocks(content: object) -> list[dict[str, Json]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if is_object(content):
        return [content]
    return [block for block in content if is_object(block)] if isinstance(content, list) else []


def _unwrap(value: object) -> Iterator[dict[str, Json]]:
    """An object, and the one inside it: servers put a plain answer under the only key `result`."""
    if not is_object(value):
        return
    if value.keys() == {"result"}:
        inner = value["result"]
        parsed = _parse(inner) if isinstance(inner, str) else inner
        if is_object(parsed):
            yield parsed
    yield value


def _parse(text: str) -> Json:
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        value: Json = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None
    return value
