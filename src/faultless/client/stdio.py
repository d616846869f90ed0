"""A server in a child process: ended with all it started, whatever it prints and however it dies.

The process runs under the supervision of `faultless.process`; its pipes are ours. The SDK's own transport
gives up on broken UTF-8, cannot tell an exited server whose child holds the pipe from a slow one, has no
limit for a frame, and drops answers it cannot validate, so that their callers wait forever.
"""

from __future__ import annotations

import math
import os
import sys
from collections import deque
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import anyio

from faultless import process
from faultless.client.budget import MAX_FRAME_BYTES, Turn, ValueCounter
from faultless.client.frames import read_line, refuse_line
from faultless.contract import Fault, FaultKind, clean
from faultless.process.lines import LineSplitter

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence
    from types import TracebackType

    from mcp.shared.message import SessionMessage

    from faultless.client.frames import Frame
    from faultless.contract import Json
    from faultless.process.lines import Line

_CHUNK_BYTES = 65536
_LIGHT_BYTES = 1024 * 1024
"""A line of so many bytes is parsed in time, whatever is in it."""
_STDERR_BYTES = 16384
_TAIL_CHARACTERS = 2000
_SETTLE_SECONDS = 0.1
"""What a server that is not ended politely may take to exit by itself, and again after SIGTERM."""
_MARGIN_SECONDS = 10.0
"""Longer than it takes to kill what does not end."""
_DRAIN_SECONDS = 0.2
"""How long the output of an exited server is still read: whoever inherited the pipe may hold it for ever."""


@dataclass(frozen=True, slots=True)
class Command:
    """How a server is started."""

    arguments: Sequence[str]
    cwd: Path | None = None
    env: Mapping[str, str] | None = None
    """On top of this process's own environment."""
    grace_seconds: float = 2.0
    """How long it may take to leave after its input closes, and again after SIGTERM."""
    echo_stderr: bool = False
    """Whether its log is passed on to ours."""


class Child:
    """A server's process, as long as it runs and as faults tell of it afterwards."""

    def __init__(self, running: process.Child, grace_seconds: float) -> None:
        self.was_ended = False
        """It did not go by itself."""
        self.exited = running.exited
        self.pid = running.process_id
        self.stdout = running.stdout
        self._running = running
        self._grace_seconds = grace_seconds

    @property
    def stdin(self) -> int:
        return self._running.stdin

    @property
    def stderr_tail(self) -> str:
        text = self._running.read_stderr().text
        return clean(text[-_TAIL_CHARACTERS:], _TAIL_CHARACTERS).strip()

    def describe(self) -> dict[str, Json]:
        """What a fault should say about the process."""
        exit_code, signal = (None, None) if self.was_ended else self._running.status
        return {"exit_code": exit_code, "signal": signal, "stderr": self.stderr_tail or None}

    async def stop(self, *, politely: bool) -> None:
        """End the tree; every wait is bounded. Politely: it may first leave by itself."""
        grace = self._grace_seconds if politely else _SETTLE_SECONDS
        self._running.close_stdin()
        with anyio.move_on_after(grace):
            await self.exited.wait()
        self.was_ended = not self.exited.is_set()
        self._running.stop(grace)
        with suppress(Fault), anyio.move_on_after(grace + _MARGIN_SECONDS):
            await self._running.wait()


@asynccontextmanager
async def start_server(command: Command) -> AsyncIterator[Child]:
    """A running server; a fault of the transport if it does not start."""
    spec = process.Spec(
        command=command.arguments,
        cwd=command.cwd or Path(),
        env={**os.environ, **command.env} if command.env else None,
        deadline_seconds=math.inf,
        streaming=True,
        capture_bytes=_STDERR_BYTES,
        grace_seconds=command.grace_seconds,
    )
    async with AsyncExitStack() as stack:
        try:
            running = await stack.enter_async_context(
                process.start(spec, on_stderr=_echo if command.echo_stderr else None)
            )
        except Fault as refused:
            # A command that no system could run is a mistake of whoever wrote it, not a parameter of a call.
            is_mistake = refused.kind is FaultKind.INVALID_PARAMS
            raise Fault(
                FaultKind.USAGE_ERROR if is_mistake else refused.kind,
                refused.message,
                hint=refused.hint,
                details={"errno": refused.details.get("errno")},
                layer="transport",
            ) from refused
        yield Child(running, command.grace_seconds)


def _echo(chunk: bytes) -> None:
    with suppress(OSError):
        os.write(sys.stderr.fileno(), chunk)


@asynccontextmanager
async def open_streams(
    child: Child, max_frame_bytes: int = MAX_FRAME_BYTES
) -> AsyncIterator[tuple[FrameReader, FrameWriter]]:
    """The streams of a running server; leaving ends it and all it started, even when cancelled."""
    reader, writer = FrameReader(child, max_frame_bytes), FrameWriter(child)

    async def watch_exit() -> None:
        await child.exited.wait()
        await anyio.sleep(_DRAIN_SECONDS)
        reader.end()

    politely = False
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch_exit)
            yield reader, writer
            politely = not (reader.has_ended or writer.is_broken)
            tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await child.stop(politely=politely)


class _Stream:
    def __init__(self, child: Child) -> None:
        self._child = child

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Descriptors are closed with the child."""


class FrameReader(_Stream):
    def __init__(self, child: Child, max_frame_bytes: int) -> None:
        super().__init__(child)
        self._splitter = LineSplitter(max_frame_bytes)
        self._lines: deque[Line] = deque()
        self._frames: deque[Frame] = deque()
        self._turn = Turn()
        self.has_ended = False
        self.on_noise: Callable[[str], None] | None = None
        """Told of every line that is not a message."""
        self.on_refusal: Callable[[Fault], None] = lambda _: None
        """Told why reading stops before the end."""

    def end(self) -> None:
        """Stop waiting for more."""
        self.has_ended = True
        anyio.notify_closing(self._child.stdout)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Frame:
        await self._turn.share()
        while not self._frames:
            await self._turn.share()
            if self._lines:
                await self._take(self._lines.popleft())
                continue
            chunk = await self._read()
            if not chunk:
                self.end()
                raise StopAsyncIteration
            self._lines.extend(self._splitter.feed(chunk))
        return self._frames.popleft()

    async def receive(self) -> Frame:
        try:
            return await self.__anext__()
        except StopAsyncIteration:
            raise anyio.EndOfStream from None

    async def _read(self) -> bytes:
        if self.has_ended:
            return b""
        try:
            while True:
                try:
                    return os.read(self._child.stdout, _CHUNK_BYTES)
                except BlockingIOError:
                    await anyio.wait_readable(self._child.stdout)
                    self._turn.begin()
        except (OSError, anyio.ClosedResourceError):  # `end` was called meanwhile
            return b""

    async def _take(self, line: Line) -> None:
        try:
            values = await self._count_values(line) if line.size > _LIGHT_BYTES else 0
            frames = refuse_line(line, values) if values else read_line(line)
        except Fault as refusal:
            self._lines.clear()
            self.on_refusal(refusal)
            self.end()
            return
        self._frames.extend(frames)
        if not frames and self.on_noise is not None:
            self.on_noise(clean(line.data.decode(errors="replace")))

    async def _count_values(self, line: Line) -> int:
        """How many, if they are too many."""
        counter = ValueCounter()
        for start in range(0, len(line.data), _CHUNK_BYTES):
            await self._turn.share()
            counter.feed(line.data[start : start + _CHUNK_BYTES])
            if counter.is_over:
                return counter.values
        return 0


class FrameWriter(_Stream):
    def __init__(self, child: Child) -> None:
        super().__init__(child)
        self._turn = anyio.Lock(fast_acquire=True)
        self.is_broken = False
        """A frame was cut off, or nobody reads: nothing sent after it would be understood."""

    async def send(self, item: SessionMessage, /) -> None:
        data = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        sent = 0
        if not self._turn.locked() and not self.is_broken:
            sent = self._write(data)
            if sent == len(data):  # nearly always: a pipe holds 64 KiB
                return
        async with self._turn:
            await self._finish(memoryview(data), sent)

    async def _finish(self, data: memoryview, sent: int) -> None:
        if self.is_broken:
            raise anyio.BrokenResourceError
        try:
            while sent < len(data):
                await anyio.wait_writable(self._child.stdin)
                sent += self._write(data[sent:])
        finally:  # a cancelled sender leaves half a frame behind
            if 0 < sent < len(data):
                self.is_broken = True

    def _write(self, data: bytes | memoryview) -> int:
        try:
            return os.write(self._child.stdin, data)
        except BlockingIOError:
            return 0
        except OSError:
            self.is_broken = True
            raise anyio.BrokenResourceError from None
