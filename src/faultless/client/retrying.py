"""Which calls are made again, and when: tenacity's loop with the contract's rules.

Only tools that call themselves read-only or idempotent; only kinds whose table says yes or later, or maybe
where it was the connection that broke. A server that answered has spoken, and asking thrice costs thrice.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import anyio
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception

from faultless.contract import Fault, Retry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from faultless.client.listing import ListedTool

T = TypeVar("T")
SURE = frozenset({Retry.YES, Retry.LATER})


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    attempts: int = 3
    first_wait_seconds: float = 0.1
    longest_wait_seconds: float = 5.0

    async def run(self, attempt: Callable[[], Awaitable[T]], find_tool: Callable[[], ListedTool]) -> T:
        try:
            return await attempt()
        except Fault as fault:
            if not may_repeat(fault, find_tool()):
                raise
            first = fault
        return await self._repeat(first, attempt, find_tool)

    async def _repeat(
        self, first: Fault, attempt: Callable[[], Awaitable[T]], find_tool: Callable[[], ListedTool]
    ) -> T:
        """Go on after a first attempt; the loop costs more than a call, so only failures enter it."""
        failed = [first]

        async def attempt_again() -> T:
            if failed:
                raise failed.pop()
            return await attempt()

        retrying = AsyncRetrying(
            retry=retry_if_exception(lambda raised: may_repeat(raised, find_tool())),
            stop=self._is_over,
            wait=self._choose_wait,
            sleep=anyio.sleep,
            reraise=True,
        )
        return await retrying(attempt_again)

    def _is_over(self, state: RetryCallState) -> bool:
        too_late = anyio.current_time() + state.upcoming_sleep > anyio.current_effective_deadline()
        return too_late or state.attempt_number >= self.attempts

    def _choose_wait(self, state: RetryCallState) -> float:
        raised = state.outcome.exception() if state.outcome else None
        asked = raised.retry_after_seconds if isinstance(raised, Fault) else None
        doubled = self.first_wait_seconds * 2.0 ** (state.attempt_number - 1)
        longest = min(self.longest_wait_seconds, doubled)
        return (asked or 0.0) + longest * random.uniform(0.5, 1.0)  # noqa: S311 - spreads retries, keeps no secret


def may_repeat(raised: BaseException, tool: ListedTool) -> bool:
    if not isinstance(raised, Fault) or not tool.is_repeatable:
        return False
    rule = raised.facts.retry
    is_lost = raised.layer == "transport" and raised.origin == "local"
    return rule in SURE or (rule is Retry.MAYBE and is_lost)
