"""The transport: one session over standard input and output, and a clean end whatever happens."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.server.runner import serve_dual_era_loop, serve_loop
from mcp.shared.message import ServerMessageMetadata, SessionMessage

from faultless.kit import log
from faultless.kit.frames import Incoming, MessageId, Outgoing, RejectedFrameError
from faultless.kit.server import Boundary, Faults

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from faultless.kit.toolset import Toolset

MAX_FRAME_BYTES = 4 * 1024 * 1024
DRAIN_SECONDS = 10.0
"""How long running calls may go on after the client closed our input but still reads our output."""
_STOP_SECONDS = 1.0
"""How long calls that were told to stop get for cleaning up and answering."""
_ABANDON_SECONDS = 1.7
"""After this a stop no longer waits for anything."""


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
        read_fd, write_fd = _claim_standard_streams()
    except OSError as problem:
        log.fatal("standard input or output is closed; a client must hold both", reason=str(problem))
        os._exit(1)
    boundary = Boundary(toolset, faults=faults, debug=debug)

    async def run() -> int:
        return await Connection(read_fd, write_fd, boundary, max_frame_bytes, drain_seconds).run()

    status = anyio.run(run)
    sys.stderr.flush()
    os._exit(status)


def _claim_standard_streams() -> tuple[int, int]:
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
        self._outgoing = Outgoing(write_fd, self._release, self._stop)
        self._incoming = Incoming(read_fd, max_frame_bytes, self._admit, self._outgoing.reject, self._drain)
        self._drain_seconds = drain_seconds
        self._is_handshake = False

    async def run(self) -> int:
        """Exit status: 0, or 1 when the output broke for another reason than the client leaving."""
        with _stop_signals(self._stop):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._outgoing.flush_forever)
                await self._serve()
                await self._outgoing.drain(_STOP_SECONDS)
                tasks.cancel_scope.cancel()
        return self._outgoing.status

    async def _serve(self) -> None:
        """What `Server.run` does, except that the stream is the SDK's own only while the era is not known.

        To find out, the SDK passes every message on through another task, for good; a look at the first
        request spares a session of the older era that.
        """
        server, options = self._boundary.server, self._boundary.options
        async with server.lifespan(server) as state:
            opening = await self._incoming.peek_request()
            self._is_handshake = opening is not None and opening.method == "initialize"
            loop = serve_loop if self._is_handshake else serve_dual_era_loop
            await loop(server, self._incoming, self._outgoing, lifespan_state=state, init_options=options)

    def _stop(self) -> None:
        self._drain_seconds = 0.0
        self._incoming.stop()

    def _admit(self, message: types.JSONRPCMessage) -> SessionMessage:
        if isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._release((message.params or {}).get("requestId"))  # it will not be answered; its id is free
        if not isinstance(message, types.JSONRPCRequest):
            return SessionMessage(message)
        if self._is_handshake and _has_envelope(message):
            raise RejectedFrameError.other_era(message.id)
        if message.id in self._in_flight:
            raise RejectedFrameError.duplicate_id(message.id)
        self._in_flight[message.id] = message

        async def unanswered() -> None:
            if self._in_flight.get(message.id) is message:
                self._release(message.id)

        return SessionMessage(message, ServerMessageMetadata(on_request_unanswered=unanswered))

    def _release(self, message_id: object) -> None:
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


def _has_envelope(message: types.JSONRPCRequest) -> bool:
    """Whether a request is of the era without a handshake."""
    meta = (message.params or {}).get("_meta")
    return isinstance(meta, dict) and types.PROTOCOL_VERSION_META_KEY in meta


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
