"""The transport: strict frames in, whole frames out, a clean end whatever happens."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Self

import anyio
import mcp_types as types
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from pydantic_core import PydanticSerializationError, to_json

from faultless.kit import log
from faultless.kit.frames import Frame, FrameSplitter, MessageId, RejectedFrameError, parse_frame
from faultless.kit.server import Boundary, Faults

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, TracebackType

    from faultless.kit.toolset import Toolset

MAX_FRAME_BYTES = 4 * 1024 * 1024
DRAIN_SECONDS = 10.0
"""How long running calls may go on after the client closed our input but still reads our output."""
_STOP_SECONDS = 1.0
"""How long calls that were told to stop get for cleaning up and answering."""
_ABANDON_SECONDS = 1.7
"""After this a stop no longer waits for anything."""
_READ_BYTES = 256 * 1024
_ATOMIC_BYTES = select.PIPE_BUF
"""What a pipe that polls as writable takes without blocking."""
_QUEUED_BYTES = 1024 * 1024
"""Above this senders wait for the reader."""


def serve(
    toolset: Toolset,
    *,
    faults: Faults = "native",
    debug: bool = False,
    max_frame_bytes: int = MAX_FRAME_BYTES,
    drain_seconds: float = DRAIN_SECONDS,
) -> None:
    """Serve on standard input and output until the client leaves or a signal comes, then end the process.

    The process is ended here because a tool stuck in a thread would otherwise keep it alive.
    """
    try:
        read_fd, write_fd = claim_standard_streams()
    except OSError as problem:
        log.fatal("standard input or output is closed; a client must hold both", reason=str(problem))
        os._exit(1)
    boundary = Boundary(toolset, faults=faults, debug=debug)

    async def run() -> int:
        return await Connection(read_fd, write_fd, boundary, max_frame_bytes, drain_seconds).run()

    status = anyio.run(run)
    sys.stderr.flush()
    os._exit(status)


def claim_standard_streams() -> tuple[int, int]:
    """Private descriptors for the protocol; what tools read or print goes to /dev/null and stderr."""
    read_fd, write_fd = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return read_fd, write_fd


class Connection:
    """One client over two descriptors. Both ends of what `mcp.Server.run` wants are in here."""

    def __init__(
        self, read_fd: int, write_fd: int, boundary: Boundary, max_frame_bytes: int, drain_seconds: float
    ) -> None:
        self._boundary = boundary
        self._in_flight: dict[MessageId, types.JSONRPCRequest] = {}
        self._idle = anyio.Event()
        self._outgoing = Outgoing(write_fd, self._settle, self._stop)
        self._incoming = Incoming(read_fd, max_frame_bytes, self._admit, self._outgoing.reject, self._drain)
        self._drain_seconds = drain_seconds

    async def run(self) -> int:
        """Exit status: 0, or 1 when the output broke for another reason than the client leaving."""
        with _stop_signals(self._stop):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._outgoing.flush_forever)
                await self._boundary.server.run(self._incoming, self._outgoing, self._boundary.options)
                await self._outgoing.drain()
                tasks.cancel_scope.cancel()
        return self._outgoing.status

    def _stop(self) -> None:
        self._drain_seconds = 0.0
        self._incoming.stop()

    def _admit(self, message: types.JSONRPCMessage) -> SessionMessage:
        if isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._settle((message.params or {}).get("requestId"))  # it will not be answered; its id is free
        if not isinstance(message, types.JSONRPCRequest):
            return SessionMessage(message)
        if message.id in self._in_flight:
            raise RejectedFrameError.duplicate_id(message.id)
        self._in_flight[message.id] = message

        async def unanswered() -> None:
            if self._in_flight.get(message.id) is message:
                self._settle(message.id)

        return SessionMessage(message, ServerMessageMetadata(on_request_unanswered=unanswered))

    def _settle(self, message_id: object) -> None:
        if isinstance(message_id, int | str):
            self._in_flight.pop(message_id, None)
        if not self._in_flight:
            self._idle.set()

    async def _drain(self) -> None:
        """Between the end of input and the end of the session: let running calls answer, then stop them."""
        self._boundary.end_subscriptions()
        await self._wait_until_idle(self._drain_seconds)
        if self._in_flight:
            self._boundary.interrupt()
            await self._wait_until_idle(_STOP_SECONDS)

    async def _wait_until_idle(self, seconds: float) -> None:
        deadline = anyio.current_time() + seconds
        while self._in_flight and anyio.current_time() < deadline and self._outgoing.has_reader():
            self._idle = anyio.Event()
            with anyio.move_on_after(0.1):
                await self._idle.wait()


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

    def __aiter__(self) -> Incoming:
        return self

    async def __anext__(self) -> SessionMessage:
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
                await anyio.wait_readable(self._fd)
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

    async def drain(self) -> None:
        """Wait for a slow reader, but not for one that stopped reading."""
        with anyio.move_on_after(_STOP_SECONDS):
            while self._queue and not self._broken:
                await self._written.wait()

    async def flush_forever(self) -> None:
        while True:
            if not self._queue:
                self._wanted = anyio.Event()
                await self._wanted.wait()
            await anyio.wait_writable(self._fd)
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


class _stop_signals:  # noqa: N801 - reads as a verb where it is used
    """SIGTERM and SIGINT stop the loop; a loop that does not react is abandoned."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> None:
        import asyncio  # noqa: PLC0415 - anyio has loaded it already

        loop = asyncio.get_running_loop()

        def react(signum: int, _frame: FrameType | None) -> None:
            log.info("stopping", signal=signal.Signals(signum).name)
            abandon = threading.Timer(_ABANDON_SECONDS, os._exit, (0,))
            abandon.daemon = True
            abandon.start()
            loop.call_soon_threadsafe(self._stop)

        for signum in (signal.SIGTERM, signal.SIGINT):
            self._previous[signum] = signal.signal(signum, react)

    def __exit__(self, *_: object) -> None:
        for signum, previous in self._previous.items():
            signal.signal(signum, previous)
