"""Non-termination of one side: a difference when the other side ends at once on the same small input."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .arguments import Written
from .events import Ended, Endless, Event, Gone, Refused, ShownCall, ShownOutcome
from .subjects import FAIL

if TYPE_CHECKING:
    from collections.abc import Callable

    from .children import Child

_WATCH_SECONDS = 3.0
_SMALL_NUMBER = 12
_SMALL_LENGTH = 40
ENDLESS = "endless"
_RUNS_ON = f"does not return within {_WATCH_SECONDS:g} s"


class Termination:
    """Only small inputs count: on a large one a slow function looks the same as an endless one."""

    def __init__(self, start: Callable[..., Child]) -> None:
        self._start = start
        self._runs: dict[int, Child] = {}
        self._ends: dict[int, Ended | None] = {}
        """By side, once it is known: how it ended, or None where it did not."""
        self._written = Written()
        self.finished: list[Child] = []
        self.verdict: ShownCall | None = None

    def suspect(self, written: Written, seconds_left: float) -> None:
        if self._runs or not _is_small(written) or seconds_left < _WATCH_SECONDS + 0.5:
            return
        self._written = written
        self._ends = {}
        self._runs = {
            side: self._start("time", seed=side, inputs=(written,), seconds=_WATCH_SECONDS) for side in (0, 1)
        }

    def hears(self, child: Child, event: Event | Gone) -> bool:
        side = next((side for side, run in self._runs.items() if run is child), None)
        if side is None:
            return False
        if isinstance(event, Ended | Endless | Gone | Refused):
            self._ends[side] = _read_end(event)
            self.finished = [child]
        if len(self._ends) == len(self._runs):
            self._judge()
        return True

    def _judge(self) -> None:
        ends = [self._ends[0], self._ends[1]]
        self._runs = {}
        ended = [end for end in ends if end is not None]
        if len(ended) != 1 or ended[0].is_limit:
            return
        self.verdict = ShownCall(
            input=self._written,
            verdict=FAIL,
            label=ENDLESS,
            violation="one side does not end",
            outcomes=[
                ShownOutcome(_RUNS_ON) if end is None else ShownOutcome(end.outcome.text) for end in ends
            ],
        )


def _read_end(event: Ended | Endless | Gone | Refused) -> Ended | None:
    """A side that could not be run ran into a limit: it says nothing."""
    if isinstance(event, Endless):
        return None
    return event if isinstance(event, Ended) else Ended(ShownOutcome(""), is_limit=True)


def _is_small(written: Written) -> bool:
    for text in [*written.args, *written.kwargs.values()]:
        if len(text) > _SMALL_LENGTH:
            return False
        for node in ast.walk(ast.parse(text, mode="eval")):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, int | float)
                and abs(node.value) > _SMALL_NUMBER
            ):
                return False
    return True
