"""One line from a stranger: a JSON-RPC message, or the exact reason why it is none."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, TypeAlias

import mcp_types as types
from pydantic_core import from_json

from faultless.contract import FaultKind, Json, clean

MessageId: TypeAlias = int | str
_ID = re.compile(rb'"id"\s*:\s*(-?(?:0|[1-9]\d{0,18})(?=\s*[,}])|"(?:[^"\\\x00-\x1f]|\\.){0,200}")')
_BOM = b"\xef\xbb\xbf"
MAX_INTEGER_DIGITS = 4000
"""Beyond this Python itself refuses to print an integer, so an answer could not echo it."""
_TOO_LARGE_AN_ID = 10**MAX_INTEGER_DIGITS


class RejectedFrameError(Exception):
    """The frame cannot be served; what to answer instead."""

    def __init__(
        self, code: int, message: str, message_id: MessageId | None, kind: FaultKind, hint: str
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.message_id = message_id
        self.data: dict[str, Json] = {"kind": kind.value, "hint": hint}

    @classmethod
    def duplicate_id(cls, message_id: MessageId) -> RejectedFrameError:
        return _invalid(message_id, "a request with this id is still running", "use an id once at a time")

    @classmethod
    def other_era(cls, message_id: MessageId) -> RejectedFrameError:
        reason = "this connection was opened by initialize and serves no requests with an envelope"
        return _invalid(
            message_id, reason, "leave the protocol version out of _meta, or open another connection"
        )


@dataclass(frozen=True, slots=True)
class Frame:
    """A line that is a message, or the head of one that grew past the limit."""

    line: bytes
    size: int
    is_whole: bool


class FrameSplitter:
    """Cuts a byte stream into lines and forgets what exceeds the limit, keeping the head."""

    def __init__(self, max_frame_bytes: int) -> None:
        self._limit = max_frame_bytes
        self._parts: list[bytes] = []
        self._kept = 0
        self._size = 0

    def feed(self, chunk: bytes) -> list[Frame]:
        frames = []
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            self._keep(line)
            frames.append(self._cut())
        self._keep(rest)
        return frames

    def finish(self) -> list[Frame]:
        """The last line, when the stream ended without a newline."""
        return [self._cut()] if self._size else []

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        room = self._limit - self._kept
        if room > 0 and piece:
            self._parts.append(piece[:room])
            self._kept += min(len(piece), room)

    def _cut(self) -> Frame:
        frame = Frame(b"".join(self._parts), self._size, is_whole=self._size <= self._limit)
        self._parts, self._kept, self._size = [], 0, 0
        return frame


def parse_frame(frame: Frame, max_frame_bytes: int) -> types.JSONRPCMessage | None:
    """The message in a frame, None for a blank line; raises RejectedFrameError."""
    if not frame.is_whole:
        raise RejectedFrameError(
            types.INVALID_REQUEST,
            f"Invalid Request: the message has {frame.size} bytes, the limit is {max_frame_bytes}",
            recover_id(frame.line[:4096]),
            FaultKind.TOO_LARGE,
            "send a smaller message, or start the server with a larger --max-frame-bytes",
        )
    line = frame.line.removeprefix(_BOM).strip(b" \t\r")
    return _message(_parse_json(line)) if line else None


def recover_id(line: bytes) -> MessageId | None:
    """The id of a message that cannot be parsed, if only one candidate stands in it."""
    found = _ID.findall(line)
    if len(found) != 1:
        return None
    try:
        recovered = from_json(found[0])
    except ValueError:
        return None
    return recovered if isinstance(recovered, int | str) else None


def _parse_json(line: bytes) -> object:
    try:
        return from_json(line, allow_inf_nan=False)
    except ValueError as problem:
        reason = clean(str(problem), 200)
        hint = "send one JSON object per line, UTF-8, nested less than 200 deep"
        raise RejectedFrameError(
            types.PARSE_ERROR, f"Parse error: {reason}", recover_id(line), FaultKind.PARSE_ERROR, hint
        ) from None


def _message(value: object) -> types.JSONRPCMessage:
    if isinstance(value, list):
        raise _invalid(None, "batches are not part of this protocol", "send each message on its own line")
    if not isinstance(value, dict):
        raise _invalid(None, "a message is a JSON object", 'send {"jsonrpc":"2.0", …}')
    message_id = value.get("id")
    known_id = message_id if _is_id(message_id) else None
    if value.get("jsonrpc") != "2.0":
        raise _invalid(known_id, 'jsonrpc must be "2.0"', 'add "jsonrpc":"2.0"')
    if "id" in value and known_id is None and not _is_anonymous_error(value):
        raise _invalid(
            None, "id must be a string or an integer", "use a string or an integer that no other request uses"
        )
    if "method" in value:
        return _call(value, known_id)
    return _response(value, known_id)


def _call(value: dict[str, Any], message_id: MessageId | None) -> types.JSONRPCMessage:
    method, params = value["method"], value.get("params")
    if not isinstance(method, str):
        raise _invalid(message_id, "method must be a string", 'for instance "tools/list"')
    if params is not None and not isinstance(params, dict):
        raise _invalid(message_id, "params must be an object", "send the parameters by name")
    if "result" in value or "error" in value:
        raise _invalid(
            message_id, "a message is a request or a response, not both", "send method and params only"
        )
    if message_id is None:
        return types.JSONRPCNotification(jsonrpc="2.0", method=method, params=params)
    return types.JSONRPCRequest(jsonrpc="2.0", id=message_id, method=method, params=params)


def _response(value: dict[str, Any], message_id: MessageId | None) -> types.JSONRPCMessage:
    match value:
        case {"result": dict() as result} if "error" not in value and message_id is not None:
            return types.JSONRPCResponse(jsonrpc="2.0", id=message_id, result=result)
        case {"error": {"code": int() as code, "message": str() as message, **rest}} if "result" not in value:
            data = types.ErrorData(code=code, message=message, data=rest.get("data"))
            return types.JSONRPCError(jsonrpc="2.0", id=message_id, error=data)
    raise _invalid(message_id, "method is missing", 'add "method", for instance "tools/list"')


def _is_id(value: object) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, str) or (isinstance(value, int) and abs(value) < _TOO_LARGE_AN_ID)


def _is_anonymous_error(value: dict[str, Any]) -> bool:
    """A peer that could not read our id answers with null."""
    return value["id"] is None and "error" in value and "method" not in value


def _invalid(message_id: MessageId | None, reason: str, hint: str) -> RejectedFrameError:
    return RejectedFrameError(
        types.INVALID_REQUEST, f"Invalid Request: {reason}", message_id, FaultKind.INVALID_PARAMS, hint
    )
