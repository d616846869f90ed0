"""Lines from a server's standard output, read as messages where that is possible at all."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp_types import ErrorData, JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse
from pydantic import ValidationError
from pydantic_core import from_json

from faultless.client.exchange import Frame
from faultless.contract import Fault, FaultKind
from faultless.contract.portable import make_portable

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_FRAME_BYTES = 32 * 1024 * 1024
EDGE_BYTES = 256
MALFORMED = ErrorData(code=-32603, message="malformed response")
"""Only wakes the waiter; the fault is made from the raw text."""

# Writers put the id first or last; anything between may be part of the answer.
_ID_FIRST = re.compile(rb'^\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)\s*,')
_ID_LAST = re.compile(rb',\s*"id"\s*:\s*(\d+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')


@dataclass(frozen=True, slots=True)
class Oversize:
    """A line over the limit: its ends and its length."""

    head: bytes
    tail: bytes
    size: int


class Splitter:
    """Cuts a byte stream into lines; a line over the limit is counted, not kept."""

    def __init__(self, limit: int = MAX_FRAME_BYTES) -> None:
        self._limit = limit
        self._kept = bytearray()
        self._dropped = 0
        self._head = b""

    def feed(self, chunk: bytes) -> Iterator[bytes | Oversize]:
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            self._keep(end)
            yield self._finish()
        self._keep(rest)

    def _keep(self, part: bytes) -> None:
        self._kept += part
        if len(self._kept) > self._limit:
            self._head = self._head or bytes(self._kept[:EDGE_BYTES])
            self._dropped += len(self._kept) - EDGE_BYTES
            del self._kept[:-EDGE_BYTES]

    def _finish(self) -> bytes | Oversize:
        line, head, dropped = bytes(self._kept), self._head, self._dropped
        self._kept.clear()
        self._head, self._dropped = b"", 0
        return Oversize(head, line, dropped + len(line)) if head else line


def read_line(line: bytes | Oversize) -> list[Frame]:
    """The messages of one line: usually one, none where it is noise, several in a batch."""
    if isinstance(line, Oversize):
        return [_refuse(_explain_size(line), find_id(line.head, line.tail))]
    try:
        value = _parse(line)
    except ValueError:
        request_id = find_id(line[:EDGE_BYTES], line[-EDGE_BYTES:])
        return [] if request_id is None else [_refuse(_explain_text(), request_id)]
    values = value if isinstance(value, list) else [value]
    return [frame for item in values if isinstance(item, dict) and (frame := _read_message(item))]


def _parse(line: bytes) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return from_json(line, allow_inf_nan=False)
    except ValueError:
        pass
    try:  # lone surrogates, NaN and broken UTF-8 all occur
        return make_portable(json.loads(line.decode(errors="replace")))
    except RecursionError as nested:
        raise ValueError from nested


def _read_message(value: dict[str, Any]) -> Frame | None:
    if "method" in value:
        return _read_call(value)
    request_id = value.get("id")
    if isinstance(request_id, bool) or not isinstance(request_id, int | str):
        return None
    if "error" not in value and "result" not in value:
        return None
    result = value.get("result")
    if isinstance(result, dict) and value.get("error") is None:
        answer = JSONRPCResponse.model_construct(jsonrpc="2.0", id=request_id, result=result)
        return Frame(answer, raw={"result": result})
    return Frame(
        JSONRPCError(jsonrpc="2.0", id=request_id, error=_read_error(value.get("error"))), raw=_mend(value)
    )


def _read_error(error: object) -> ErrorData:
    try:
        return ErrorData.model_validate(error)
    except ValidationError:
        return MALFORMED


def _mend(value: dict[str, Any]) -> dict[str, Any]:
    """An error that is not an object is still an error; a result that is not an object is still an answer."""
    if value.get("error") is not None:
        return {"jsonrpc": "2.0", "error": value["error"]}
    return {"result": value.get("result")}


def _read_call(value: dict[str, Any]) -> Frame | None:
    model = JSONRPCRequest if value.get("id") is not None else JSONRPCNotification
    try:
        return Frame(model.model_validate(value))
    except ValidationError:
        return None


def find_id(head: bytes, tail: bytes) -> int | None:
    """The id of a frame that cannot be read as a whole."""
    found = _ID_FIRST.match(head) or _ID_LAST.search(tail)
    return int(found[1]) if found else None


def _refuse(fault: Fault, request_id: int | None) -> Frame:
    """Tell the one call it concerns; where that is not known, the connection cannot go on."""
    if request_id is None:
        raise fault
    return Frame(JSONRPCError(jsonrpc="2.0", id=request_id, error=MALFORMED), fault=fault)


def _explain_size(line: Oversize) -> Fault:
    return Fault(
        FaultKind.TOO_LARGE,
        f"the server sent a frame of {line.size} bytes, more than this client accepts",
        hint="ask the tool for less, or raise max_frame_bytes",
        details={"frame_bytes": line.size},
        layer="transport",
        outcome="done",
    )


def _explain_text() -> Fault:
    return Fault(
        FaultKind.UPSTREAM_ERROR,
        "the answer breaks the protocol: the frame is not JSON, or nested beyond reading",
        hint="report it to the server's maintainers",
        origin="peer",
        layer="protocol",
        outcome="done",
    )
