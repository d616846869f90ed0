"""What the client may do by itself: repeat a call, take another way, or leave a failing server alone."""

from __future__ import annotations

import inspect
import math
from collections.abc import Awaitable, Callable, Sized
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio

from faultless.contract import Fault, FaultKind, KindBasis, Retry
from faultless.contract.backoff import choose_wait

if TYPE_CHECKING:
    from faultless.client.listing import ListedTool

_SURE = frozenset({Retry.YES, Retry.LATER})

NEVER_REPLACED = frozenset(
    {
        FaultKind.PERMISSION_DENIED,
        FaultKind.INVALID_PARAMS,
        FaultKind.CONFLICT,
        FaultKind.APPROVAL_REQUIRED,
    }
)
_LOST = frozenset({FaultKind.UNAVAILABLE, FaultKind.CRASH, FaultKind.TIMEOUT})

Run: TypeAlias = Callable[[Fault], Any]


def check_seconds(name: str, seconds: float, least: float | None = None) -> float:
    """A number that can be waited for; without `least`, some time at all."""
    is_enough = seconds > 0 if least is None else seconds >= least
    if not (is_enough and seconds < math.inf):
        raise ValueError(f"{name} is a {'positive, ' if least is None else ''}finite number of seconds")
    return seconds


def check_count(name: str, count: int) -> int:
    if type(count) is not int or count < 1:
        raise ValueError(f"{name} is a whole number from 1 on")
    return count


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Which calls are made again, and when; a wait that would pass the deadline is not begun."""

    attempts: int = 3
    first_wait_seconds: float = 0.1
    longest_wait_seconds: float = 5.0

    def __post_init__(self) -> None:
        check_count("attempts", self.attempts)
        check_seconds("first_wait_seconds", self.first_wait_seconds, least=0)
        check_seconds("longest_wait_seconds", self.longest_wait_seconds, least=0)

    def plan_wait(self, fault: Fault, tool: ListedTool, attempts: int) -> float | None:
        """Seconds until the next attempt, after so many; None where the fault is final."""
        if attempts >= self.attempts or not may_repeat(fault, tool):
            return None
        wait = choose_wait(
            attempts, self.first_wait_seconds, self.longest_wait_seconds, fault.retry_after_seconds
        )
        is_too_late = anyio.current_time() + wait > anyio.current_effective_deadline()
        return None if is_too_late else wait


def may_repeat(fault: Fault, tool: ListedTool) -> bool:
    """Only tools that call themselves read-only or idempotent, and only kinds whose table says yes or later.

    Maybe counts where it was the connection that broke: a server that answered has spoken, and asking thrice
    costs thrice. A kind that was only understood from prose is no reason at all.
    """
    if not tool.is_repeatable or fault.kind_basis is KindBasis.PROSE:
        return False
    rule = fault.facts.retry
    is_lost = fault.layer == "transport" and fault.origin == "local"
    return rule in _SURE or (rule is Retry.MAYBE and is_lost)


@dataclass(frozen=True, slots=True)
class Fallback:
    """Another way to the same end, for when the server cannot be reached; never a way round a refusal."""

    run: Run
    """Sync (runs in a thread) or async; gets the fault."""
    on: frozenset[FaultKind] = frozenset()
    """Kinds it may stand in for, beyond a server that cannot be reached."""
    allow_empty: bool = False
    """Whether None or something empty counts as an answer."""
    timeout: float | None = None
    """Its own deadline; that of the call, unless given."""

    def __post_init__(self) -> None:
        if forbidden := self.on & NEVER_REPLACED:
            raise ValueError(f"a fallback never stands in for {', '.join(sorted(forbidden))}")
        if self.timeout is not None:
            check_seconds("timeout", self.timeout)

    def covers(self, fault: Fault, tool: ListedTool) -> bool:
        """Never where an effect could happen twice, and not on the strength of prose."""
        if fault.kind in NEVER_REPLACED or (fault.outcome == "unknown" and not tool.is_repeatable):
            return False
        if fault.kind_basis is KindBasis.PROSE and fault.kind is not FaultKind.TOOL_FAILED:
            return False  # only `tool_failed` claims no more than words can tell
        is_lost = fault.kind is FaultKind.UNAVAILABLE or (fault.layer == "transport" and fault.kind in _LOST)
        return is_lost or fault.kind in self.on

    async def answer(self, fault: Fault, seconds: float) -> tuple[Any, Exception | None]:
        """What it returned, and what went wrong if that does not count as an answer."""
        try:
            with anyio.fail_after(self.timeout or seconds):
                if inspect.iscoroutinefunction(self.run):
                    value = await self.run(fault)
                else:
                    value = await anyio.to_thread.run_sync(self.run, fault, abandon_on_cancel=True)
                    value = await value if isinstance(value, Awaitable) else value
        except Exception as failed:  # noqa: BLE001 - the caller's own code may raise anything; it is attached to the fault
            return None, failed
        if not self.allow_empty and _is_empty(value):
            return None, ValueError(f"the fallback returned {value!r}, which says nothing was done")
        return value, None


def _is_empty(value: object) -> bool:
    if isinstance(value, str):
        return not value.strip()
    return value is None or (isinstance(value, Sized) and len(value) == 0)


@dataclass
class Breaker:
    """After several lost connections in a row, calls fail at once until a probe gets through."""

    limit: int = 5
    """Transport faults in a row that open it."""
    cool_down_seconds: float = 30.0
    _faults: int = 0
    _probe_at: float = 0.0

    def __post_init__(self) -> None:
        check_count("limit", self.limit)
        check_seconds("cool_down_seconds", self.cool_down_seconds, least=0)

    @property
    def is_closed(self) -> bool:
        return self._faults < self.limit

    @property
    def is_due(self) -> bool:
        """Open for long enough that one probe may go through."""
        return not self.is_closed and self._probe_at <= anyio.current_time()

    def note(self, fault: Fault | None) -> None:
        """Count how a call went; any word from the peer proves that it can be reached."""
        if fault is None or fault.layer != "transport" or fault.origin == "peer":
            self._faults = 0
            return
        self._faults += 1
        if self._faults >= self.limit:
            self._probe_at = anyio.current_time() + self.cool_down_seconds

    def refuse(self) -> Fault:
        return Fault(
            FaultKind.UNAVAILABLE,
            f"the server failed {self._faults} times in a row and is left alone for now",
            hint="call again later",
            retry_after_seconds=round(max(self._probe_at - anyio.current_time(), 0.0), 3),
            layer="transport",
            outcome="not_done",
        )
