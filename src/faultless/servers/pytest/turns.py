"""Whose turn it is: runs of one project do not overlap, across all servers of this user, unless told so."""

from __future__ import annotations

import hashlib
import time
from contextlib import ExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from faultless import durable
from faultless.approval import default_state_folder
from faultless.contract import Fault, FaultKind
from faultless.kit import log

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

_WAITING_AT_MOST = 8
_LOOK_AGAIN_SECONDS = 0.05
_TELL_AGAIN_SECONDS = 5.0
_RETRY_SECONDS = 10.0


class Turns:
    """A file in the state folder for each run that may be under way; who holds one may run."""

    def __init__(self, root: Path, *, concurrent: int, longest_wait_seconds: float) -> None:
        name = hashlib.sha256(str(root.resolve()).encode(errors="surrogateescape")).hexdigest()[:16]
        self._places = [default_state_folder() / "pytest" / f"{name}.{slot}" for slot in range(concurrent)]
        self._longest_wait_seconds = longest_wait_seconds
        self._waiting = 0
        self._queue = anyio.Lock()

    @asynccontextmanager
    async def take(self, tell: Callable[[str], Awaitable[None]]) -> AsyncIterator[int]:
        """The number of the place; Fault(rate_limited) if too many wait here, or one for too long."""
        with ExitStack() as held:
            slot = None if self._waiting else self._find(held)
            yield await self._wait_in_line(held, tell) if slot is None else slot

    async def _wait_in_line(self, held: ExitStack, tell: Callable[[str], Awaitable[None]]) -> int:
        if self._waiting >= _WAITING_AT_MOST:
            raise self._refuse(f"{self._waiting} others are waiting already")
        self._waiting += 1
        try:
            with anyio.fail_after(self._longest_wait_seconds):
                async with self._queue:  # here they go in the order in which they came
                    return await self._wait(held, tell)
        except TimeoutError:
            reason = f"nobody else ended within {self._longest_wait_seconds:g} seconds"
            raise self._refuse(reason) from None
        finally:
            self._waiting -= 1

    async def _wait(self, held: ExitStack, tell: Callable[[str], Awaitable[None]]) -> int:
        told = 0.0
        while (slot := self._find(held)) is None:
            if time.monotonic() - told > _TELL_AGAIN_SECONDS:
                told = time.monotonic()
                await tell("waiting: another run of this project is under way")
            await anyio.sleep(_LOOK_AGAIN_SECONDS)
        return slot

    def _find(self, held: ExitStack) -> int | None:
        for slot, place in enumerate(self._places):
            with ExitStack() as tried:
                try:
                    is_free = tried.enter_context(durable.lock(place, wait=False))
                except OSError as error:  # a state folder that cannot be used keeps nobody from testing
                    log.warn("runs may overlap: the state folder cannot be used", reason=error.strerror)
                    return slot
                if is_free:
                    held.enter_context(tried.pop_all())
                    return slot
        return None

    def _refuse(self, reason: str) -> Fault:
        return Fault(
            FaultKind.RATE_LIMITED,
            f"execute_tests was not started: another run of this project is under way, and {reason}",
            hint="call again when it has ended, or start the server with --concurrent",
            retry_after_seconds=_RETRY_SECONDS,
        )
