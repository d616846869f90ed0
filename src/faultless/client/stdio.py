"""The transport to a server in a child process, which may print anything and die in any way.

The SDK's own one gives up on broken UTF-8, cannot tell an exited server whose child holds the pipe from a
slow one, has no limit for a frame, and drops answers it cannot validate, so that their callers wait forever.
"""

from __future__ import annotations

import os
from collections import deque
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Self

import anyio

from faultless.client.child import Child, read_some
from faultless.client.frames import MAX_FRAME_BYTES, read_line
from faultless.contract import Fault, clean
from faultless.process.lines import LineSplitter

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from types import TracebackType

    from mcp.shared.message import SessionMessage

    from faultless.client.frames import Frame

DRAIN_SECONDS = 0.2
"""How long the output of an exited server is still read: whoever inherited the pipe may hold it for ever."""


@asynccontextmanager
async def attend(
    child: Child, max_frame_bytes: int = MAX_FRAME_BYTES
) -> AsyncIterator[tuple[FrameReader, FrameWriter]]:
    """The streams of a running server; leaving ends it and all it started, even when cancelled."""
    reader, writer = FrameReader(child, max_frame_bytes), FrameWriter(child)

    async def watch_exit() -> None:
        await child.await_exit()
        await anyio.sleep(DRAIN_SECONDS)
        reader.end()

    politely = False
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(child.drain_stderr)
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
        self._frames: deque[Frame] = deque()
        self.has_ended = False
        self.on_noise: Callable[[str], None] | None = None
        """Told of every line that is no message."""
        self.on_refusal: Callable[[Fault], None] = lambda _: None
        """Told why reading stops before the end."""

    def end(self) -> None:
        """Stop waiting for more."""
        self.has_ended = True
        anyio.notify_closing(self._child.stdout)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Frame:
        while not self._frames:
            chunk = await self._read()
            if not chunk:
                self.end()
                raise StopAsyncIteration
            self._take(chunk)
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
            return await read_some(self._child.stdout)
        except anyio.ClosedResourceError:  # `end` was called meanwhile
            return b""

    def _take(self, chunk: bytes) -> None:
        try:
            for line in self._splitter.feed(chunk):
                frames = read_line(line)
                self._frames.extend(frames)
                if not frames and self.on_noise is not None:
                    self.on_noise(clean(line.data.decode(errors="replace")))
        except Fault as refusal:
            self.on_refusal(refusal)
            self.end()


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
