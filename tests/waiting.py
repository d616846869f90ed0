"""The one way tests wait: for a condition, with a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable

import anyio

LOOK_AGAIN_SECONDS = 0.005


async def until(condition: Callable[[], object], seconds: float = 30.0) -> None:
    """Let the event loop run until the condition holds; fail if it never does."""
    with anyio.fail_after(seconds):
        while not condition():  # noqa: ASYNC110 - what is waited for often lives in another process
            await anyio.sleep(LOOK_AGAIN_SECONDS)


async def let_pass(seconds: float) -> None:
    """For tests about moments: calls at every distance from each other, kills at any time."""
    ends = anyio.current_time() + seconds
    await until(lambda: anyio.current_time() >= ends, seconds + 30.0)


def wait_until(condition: Callable[[], object], seconds: float = 30.0) -> None:
    """The same for tests without an event loop."""
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends, f"not true within {seconds:g} s"
        time.sleep(LOOK_AGAIN_SECONDS)
