"""How many calls run at once, how many may wait, and what the rest are told."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from faultless.contract import Fault, FaultKind

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_RETRY_SECONDS = 1.0


class Admission:
    def __init__(self, concurrent: int, waiting: int) -> None:
        self._concurrent = concurrent
        self._most_waiting = waiting
        self._slots = anyio.Semaphore(concurrent)
        self._waiting = 0

    @asynccontextmanager
    async def slot(self, name: str) -> AsyncIterator[None]:
        """A place to run in; calls are let in in the order in which they came."""
        if self._waiting >= self._most_waiting and self._slots.value == 0:
            raise Fault(
                FaultKind.RATE_LIMITED,
                f"{name} was not started: "
                f"{self._concurrent} calls are running and {self._waiting} are waiting",
                hint="call again when some of them have been answered",
                details={"running": self._concurrent, "waiting": self._waiting},
                retry_after_seconds=_RETRY_SECONDS,
            )
        try:
            self._slots.acquire_nowait()
        except anyio.WouldBlock:
            await self._wait()
        try:
            yield
        finally:
            self._slots.release()

    async def _wait(self) -> None:
        self._waiting += 1
        try:
            await self._slots.acquire()
        finally:
            self._waiting -= 1
