"""Streams of bytes cut into lines: the only place where that is done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

EDGE_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its newline; of one over the limit only its two ends."""

    data: bytes
    """All of it, or the beginning of a line over the limit."""
    size: int
    tail: bytes | None = None
    """The end of a line over the limit."""

    @property
    def is_whole(self) -> bool:
        return self.tail is None


class LineSplitter:
    """Keeps at most `limit` bytes of a line, whatever comes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept = bytearray()
        self._head = b""
        self._dropped = 0

    def feed(self, chunk: bytes) -> Iterator[Line]:
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            self._keep(end)
            yield self._cut()
        self._keep(rest)

    def finish(self) -> Line | None:
        """What stands after the last newline, when the stream has ended."""
        return self._cut() if self._kept else None

    @property
    def unfinished(self) -> bytes:
        """After the last line: what a writer that was killed left of another."""
        return bytes(self._kept)

    @property
    def is_over(self) -> bool:
        """Whether the line that is being read is over the limit already."""
        return bool(self._head)

    def _keep(self, piece: bytes) -> None:
        self._kept += piece
        if self._head or len(self._kept) > self._limit:
            self._head = self._head or bytes(self._kept[:EDGE_BYTES])
            excess = len(self._kept) - EDGE_BYTES
            if excess > 0:
                self._dropped += excess
                del self._kept[:excess]

    def _cut(self) -> Line:
        kept, head, dropped = bytes(self._kept), self._head, self._dropped
        self._kept.clear()
        self._head, self._dropped = b"", 0
        return Line(head, dropped + len(kept), kept) if head else Line(kept, len(kept))


class Lines:
    """Whole lines of a command's private pipe. The command waits while nobody reads: read beside `wait()`."""

    def __init__(self, read: Callable[[], Awaitable[bytes]], limit: int) -> None:
        self._read = read
        self._limit = limit
        self._splitter = LineSplitter(limit)

    @property
    def unfinished(self) -> bytes:
        return self._splitter.unfinished

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while data := await self._read():
            for line in self._splitter.feed(data):
                if not line.is_whole:
                    raise self._refuse()
                yield line.data
            if self._splitter.is_over:
                raise self._refuse()

    def _refuse(self) -> Fault:
        return Fault(
            FaultKind.TOO_LARGE,
            f"the command reported a line of more than {self._limit} bytes",
            hint="make it report less in one line",
        )
