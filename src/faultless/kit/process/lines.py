"""Lines from a command's private pipe, read no faster than the caller takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable


class Lines:
    """Complete lines without their newline. The command waits while nobody reads: read beside `wait()`."""

    def __init__(self, read: Callable[[], Awaitable[bytes]], limit: int) -> None:
        self._read = read
        self._limit = limit
        self.unfinished = b""
        """After the last line: what a command that was killed while writing left of another."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while data := await self._read():
            *lines, rest = (self.unfinished + data).split(b"\n")
            self.unfinished = rest
            for line in lines:
                self._check(line)
                yield line
            self._check(rest)

    def _check(self, line: bytes) -> None:
        if len(line) > self._limit:
            raise Fault(
                FaultKind.TOO_LARGE,
                f"the command reported a line of more than {self._limit} bytes",
                hint="make it report less in one line",
            )
