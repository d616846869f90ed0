"""Frames: what a line from a client must be, and the two halves of a connection, strict in and whole out."""

from __future__ import annotations

import os
import re
import select
from collections import deque
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import anyio
import mcp_types as types
from pydantic_core import PydanticSerializationError, from_json, to_json

from faultless.contract import Fault, FaultKind, Json, clean
from faultless.contract.dialects import put_together
from faultless.kit import log
from faultless.process.lines import Line, LineSplitter
from faultless.process.readiness import until_readable, until_writable

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from mcp.shared.message import SessionMessage

MessageId: TypeAlias = int | str

_READ_BYTES = 64 * 1024
_ATOMIC_BYTES = select.PIPE_BUF
"""What a pipe that polls as writable takes without blocking."""
_HELD_BACK_AT_MOST = 8
"""Messages that may come before the first request."""
_QUEUED_BYTES = 1024 * 1024
"""Above this senders wait for the reader."""

_ID = re.compile(rb'"id"\s*:\s*(-?(?:0|[1-9]\d{0,18})(?=\s*[,}])|"(?:[^"\\\x00-\x1f]|\\.){0,200}")')
_BOM = b"\xef\xbb\xbf"
_MAX_INTEGER_DIGITS = 4000
"""Beyond this Python itself refuses to print an integer, so an answer could not echo it."""
_TOO_LARGE_AN_ID = 10**_MAX_INTEGER_DIGITS


class RejectedFrameError(Exception):
    """The frame cannot be served; what to answer instead."""

    def __init__(
        self, code: int, message: str, message_id: MessageId | None, kind: FaultKind, hint: str
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.message_id = message_id
        self.data: dict[str, Json] = {"kind": kind.value, "hint": hint, "retry_after_seconds": None}
        self.told = put_together(Fault(kind, message, hint=hint))
        """The sentence and its hint: most clients show only this."""

    @classmethod
    def duplicate_id(cls, message_id: MessageId) -> RejectedFrameError:
        return _invalid(message_id, "a request with this id is still running", "use an id once at a time")

    @classmethod
    def other_era(cls, message_id: MessageId) -> RejectedFrameError:
        reason = "this connection was opened by initialize and serves no requests with an envelope"
        return _invalid(
            message_id, reason, "leave the protocol version out of _meta, or open another connection"
        )


def parse_frame(line: Line, max_frame_bytes: int) -> types.JSONRPCMessage | None:
    """The message in a line, None for a blank one; raises RejectedFrameError."""
    if not line.is_whole:
        raise RejectedFrameError(
            types.INVALID_REQUEST,
            f"Invalid Request: the message has {line.size} bytes, the limit is {max_frame_bytes}",
            recover_id(line.data),
            FaultKind.TOO_LARGE,
            "send a smaller message, or start the server with a larger --max-frame-bytes",
        )
    text = line.data.removeprefix(_BOM).strip(b" \t\r")
    return _read_message(_parse_json(text)) if text else None


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


def _read_message(value: object) -> types.JSONRPCMessage:
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
        return _read_call(value, known_id)
    return _read_response(value, known_id)


def _read_call(value: dict[str, Any], message_id: MessageId | None) -> types.JSONRPCMessage:
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


def _read_response(value: dict[str, Any], message_id: MessageId | None) -> types.JSONRPCMessage:
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


class _Stream:
    """The part of the SDK's stream protocols that is the same for both directions."""

    async def aclose(self) -> None:
        """The descriptors end with the process."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class Incoming(_Stream):
    """Messages from the client; what is not a message is answered on the spot."""

    def __init__(
        self,
        fd: int,
        max_frame_bytes: int,
        admit: Callable[[types.JSONRPCMessage], SessionMessage],
        reject: Callable[[RejectedFrameError], Any],
        drain: Callable[[], Any],
    ) -> None:
        self._fd = fd
        self._limit = max_frame_bytes
        self._splitter = LineSplitter(max_frame_bytes)
        self._lines: deque[Line] = deque()
        self._held_back: deque[SessionMessage] = deque()
        self._admit = admit
        self._reject = reject
        self._drain = drain
        self._waiting = anyio.CancelScope()
        self._ended = False
        self._poll = select.poll()
        self._poll.register(fd, select.POLLIN)

    def stop(self) -> None:
        """Read no more."""
        self._ended = True
        self._waiting.cancel()

    async def peek_request(self) -> types.JSONRPCRequest | None:
        """The first request, which stays to be read; None when the input ends without one."""
        seen: deque[SessionMessage] = deque(maxlen=_HELD_BACK_AT_MOST)
        try:
            async for item in self:
                seen.append(item)
                if isinstance(item.message, types.JSONRPCRequest):
                    return item.message
        finally:
            self._held_back = seen
        return None

    def __aiter__(self) -> Incoming:
        return self

    async def __anext__(self) -> SessionMessage:
        if self._held_back:
            return self._held_back.popleft()
        while True:
            while self._lines:
                try:
                    message = parse_frame(self._lines.popleft(), self._limit)
                    if message is not None:
                        return self._admit(message)
                except RejectedFrameError as rejected:
                    log.warn("frame refused", code=rejected.code, reason=rejected.message)
                    await self._reject(rejected)
            if self._ended:
                await self._drain()
                raise StopAsyncIteration
            await self._read()

    async def receive(self) -> SessionMessage:
        try:
            return await self.__anext__()
        except StopAsyncIteration:
            raise anyio.EndOfStream from None

    async def _read(self) -> None:
        # A regular file always polls as readable and could not be waited for, so ask before waiting.
        if not self._poll.poll(0):
            with anyio.CancelScope() as self._waiting:
                await until_readable(self._fd)
        if self._ended:
            return
        try:
            chunk = os.read(self._fd, _READ_BYTES)
        except OSError as broken:
            log.warn("input broke", reason=os.strerror(broken.errno or 0))
            chunk = b""
        if chunk:
            self._lines.extend(self._splitter.feed(chunk))
            return
        self._ended = True
        if last := self._splitter.finish():
            self._lines.append(last)


class Outgoing(_Stream):
    """Whole frames to the client, in order; a sender that is cancelled tears nothing."""

    def __init__(self, fd: int, release: Callable[[object], None], on_broken: Callable[[], None]) -> None:
        self._fd = fd
        self._release = release
        self._on_broken = on_broken
        self._queue: deque[memoryview] = deque()
        self._queued = 0
        self._wanted = anyio.Event()
        self._written = anyio.Event()
        self._poll = select.poll()
        self._poll.register(fd, select.POLLOUT)
        self._broken = False
        self.status = 0

    def has_reader(self) -> bool:
        """Whether anybody could still see an answer."""
        if self._broken:
            return False
        return not any(events & (select.POLLERR | select.POLLNVAL) for _, events in self._poll.poll(0))

    async def send(self, item: SessionMessage) -> None:
        self._enqueue(_encode(item.message))
        if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
            self._release(item.message.id)
        while self._queued > _QUEUED_BYTES and not self._broken:
            await self._written.wait()

    async def reject(self, rejected: RejectedFrameError) -> None:
        error = {"code": rejected.code, "message": rejected.told, "data": rejected.data}
        self._enqueue(to_json({"jsonrpc": "2.0", "id": rejected.message_id, "error": error}) + b"\n")
        while self._queued > _QUEUED_BYTES and not self._broken:
            await self._written.wait()

    async def drain(self, seconds: float) -> None:
        """Wait for a slow reader, but not for one that stopped reading."""
        with anyio.move_on_after(seconds):
            while self._queue and not self._broken:
                await self._written.wait()

    async def flush_forever(self) -> None:
        while True:
            if not self._queue:
                self._wanted = anyio.Event()
                await self._wanted.wait()
            await until_writable(self._fd)
            self._write_what_fits()

    def _enqueue(self, frame: bytes) -> None:
        if self._broken:
            return
        self._queue.append(memoryview(frame))
        self._queued += len(frame)
        self._write_what_fits()
        if self._queue:
            self._wanted.set()

    def _write_what_fits(self) -> None:
        try:
            while self._queue and self._poll.poll(0):
                count = os.write(self._fd, self._queue[0][:_ATOMIC_BYTES])
                self._queued -= count
                rest = self._queue.popleft()[count:]
                if rest:
                    self._queue.appendleft(rest)
        except OSError as broken:
            self._break(broken)
        self._written.set()
        self._written = anyio.Event()

    def _break(self, broken: OSError) -> None:
        self._broken = True
        self._queue.clear()
        self._queued = 0
        client_left = isinstance(broken, BrokenPipeError | ConnectionResetError)
        self.status = 0 if client_left else 1
        log.error("output broke; ending", reason=os.strerror(broken.errno or 0))
        self._on_broken()


def _encode(message: types.JSONRPCMessage) -> bytes:
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
    except (PydanticSerializationError, UnicodeEncodeError):
        log.error("an answer could not be encoded", request_id=getattr(message, "id", None))
        error = {
            "code": types.INTERNAL_ERROR,
            "message": "Internal server error: an answer could not be encoded",
        }
        return to_json({"jsonrpc": "2.0", "id": getattr(message, "id", None), "error": error}) + b"\n"
