"""A breaker: after several lost connections in a row, calls fail at once until a probe gets through."""

from __future__ import annotations

from dataclasses import dataclass

import anyio

from faultless.contract import Fault, FaultKind

DEFAULT_LIMIT = 5
DEFAULT_COOL_DOWN_SECONDS = 30.0


@dataclass
class Breaker:
    limit: int = DEFAULT_LIMIT
    """Transport faults in a row that open it."""
    cool_down_seconds: float = DEFAULT_COOL_DOWN_SECONDS
    _faults: int = 0
    _opens_at: float = 0.0

    @property
    def is_closed(self) -> bool:
        return self._faults < self.limit

    @property
    def is_due(self) -> bool:
        """Open for long enough that one probe may go through."""
        return not self.is_closed and self._remaining() <= 0

    def note(self, fault: Fault | None) -> None:
        """Count how a call went; any word from the peer proves that it can be reached."""
        if fault is None or fault.layer != "transport" or fault.origin == "peer":
            self._faults = 0
            return
        self._faults += 1
        if self._faults >= self.limit:
            self._opens_at = anyio.current_time() + self.cool_down_seconds

    def refuse(self) -> Fault:
        return Fault(
            FaultKind.UNAVAILABLE,
            f"the server failed {self._faults} times in a row and is left alone for now",
            hint="call again later",
            retry_after_seconds=round(max(self._remaining(), 0.0), 3),
            layer="transport",
            outcome="not_done",
        )

    def _remaining(self) -> float:
        return self._opens_at - anyio.current_time()
