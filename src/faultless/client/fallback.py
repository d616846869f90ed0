"""Another way to the same end, for when the server cannot be reached; never a way round a refusal."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sized
from dataclasses import dataclass
from typing import Any, TypeAlias

import anyio

from faultless.contract import Fault, FaultKind

NEVER = frozenset(
    {
        FaultKind.PERMISSION_DENIED,
        FaultKind.INVALID_PARAMS,
        FaultKind.CONFLICT,
        FaultKind.APPROVAL_REQUIRED,
    }
)
# Not outcome_unknown: the effect may have happened, and the fallback would be the second one.
LOST = frozenset({FaultKind.UNAVAILABLE, FaultKind.CRASH, FaultKind.TIMEOUT})

Run: TypeAlias = Callable[[Fault], Any]


@dataclass(frozen=True, slots=True)
class Fallback:
    run: Run
    """Sync (runs in a thread) or async; gets the fault."""
    on: frozenset[FaultKind] = frozenset()
    """Kinds it may stand in for, beyond a server that cannot be reached."""
    allow_empty: bool = False
    """Whether None or something empty counts as an answer."""
    timeout: float | None = None
    """Its own deadline; that of the call, unless given."""

    def __post_init__(self) -> None:
        if forbidden := self.on & NEVER:
            raise ValueError(f"a fallback never stands in for {', '.join(sorted(forbidden))}")

    def covers(self, fault: Fault) -> bool:
        if fault.kind in NEVER:
            return False
        is_lost = fault.kind is FaultKind.UNAVAILABLE or (fault.layer == "transport" and fault.kind in LOST)
        return is_lost or fault.kind in self.on

    async def answer(self, fault: Fault, seconds: float) -> tuple[Any, Exception | None]:
        """What it returned, and what went wrong if that is no answer."""
        try:
            with anyio.fail_after(self.timeout or seconds):
                value = await self._run(fault)
        except Exception as failed:  # noqa: BLE001 - the caller's own code may raise anything; it is attached to the fault
            return None, failed
        if not self.allow_empty and _is_empty(value):
            return None, ValueError(f"the fallback returned {value!r}, which says nothing was done")
        return value, None

    async def _run(self, fault: Fault) -> Any:  # noqa: ANN401 - whatever the caller's function returns
        if inspect.iscoroutinefunction(self.run):
            return await self.run(fault)
        value = await anyio.to_thread.run_sync(self.run, fault, abandon_on_cancel=True)
        return await value if isinstance(value, Awaitable) else value


def _is_empty(value: object) -> bool:
    if isinstance(value, str):
        return not value.strip()
    return value is None or (isinstance(value, Sized) and len(value) == 0)
