"""What a tool may know and do about the request it is serving."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

from faultless.contract import Fault, Json

_ReportProgress = Callable[[float, float | None, str | None], Coroutine[Any, Any, None]]


async def _report_to_nobody(_done: float, _total: float | None, _message: str | None) -> None:
    """For calls made without a client."""


@dataclass(slots=True)
class Call:
    """What a tool may know and do about the request it is serving."""

    request_id: int | str | None = None
    meta: dict[str, Json] = field(default_factory=dict)
    """Goes into the result's `_meta`."""
    send_progress: _ReportProgress = _report_to_nobody
    states: Mapping[Any, object] = field(default_factory=dict)
    """By type: what the lifespans of the toolset made, or the fault that kept one from it."""

    async def report_progress(
        self, done: float, total: float | None = None, message: str | None = None
    ) -> None:
        """How far an `async` tool has come."""
        await self.send_progress(done, total, message)

    def report_progress_sync(
        self, done: float, total: float | None = None, message: str | None = None
    ) -> None:
        """The same for a tool without `async`, which runs in a thread."""
        from anyio import from_thread  # noqa: PLC0415 - loaded already where there are such tools

        from_thread.run(self.send_progress, done, total, message)

    def get_state(self, kind: object) -> object:
        """What a lifespan made; raises the fault it ended with."""
        state = self.states[kind]
        if isinstance(state, Fault):
            raise state
        return state
