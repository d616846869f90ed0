"""The two halves of a connection: strict frames in, whole frames out."""

from __future__ import annotations

import os
import select
from collections import deque
from typing import TYPE_CHECKING, Any, Self

import anyio
import mcp_types as types
from pydantic_core import PydanticSerializationError, to_json

from faultless.kit import log
from faultless.kit.frames import Frame, FrameSplitter, RejectedFrameError, parse_frame
from faultless.process.readiness import until_readable, until_writable

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from mcp.shared.message import SessionMessage

_READ_BYTES = 64 * 1024
_ATOMIC_BYTES = select.PIPE_BUF
"""What a pipe that polls as writable takes without blocking."""
_HELD_BACK_AT_MOST = 8
"""Messages that may come before the first request."""
_QUEUED_BYTES = 1024 * 1024
"""Above this senders wait for the reader."""


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
        self._splitter = FrameSplitter(max_frame_bytes)
        self._frames: deque[Frame] = deque()
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
            while self._frames:
                try:
                    message = parse_frame(self._frames.popleft(), self._limit)
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
        self._ended = not chunk
        self._frames.extend(self._splitter.feed(chunk) if chunk else self._splitter.finish())


class Outgoing(_Stream):
    """Whole frames to the client, in order; a sender that is cancelled tears nothing."""

    def __init__(self, fd: int, settle: Callable[[object], None], on_broken: Callable[[], None]) -> None:
        self._fd = fd
        self._settle = settle
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
            self._settle(item.message.id)
        while self._queued > _QUEUED_BYTES and not self._broken:
            await self._written.wait()

    async def reject(self, rejected: RejectedFrameError) -> None:
        error = {"code": rejected.code, "message": rejected.message, "data": rejected.data}
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
                self._advance(os.write(self._fd, self._queue[0][:_ATOMIC_BYTES]))
        except OSError as broken:
            self._break(broken)
        self._written.set()
        self._written = anyio.Event()

    def _advance(self, count: int) -> None:
        self._queued -= count
        rest = self._queue.popleft()[count:]
        if rest:
            self._queue.appendleft(rest)

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
