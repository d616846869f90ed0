"""Non-termination of one side: a difference when the other side ends at once on the same small input."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from faultless.servers.symbolic.worker.arguments import Written
    from faultless.servers.symbolic.worker.children import Child

WATCH_SECONDS = 3.0
QUICK_SECONDS = 0.2
SMALL_NUMBER = 12
SMALL_LENGTH = 40
RUNS_ON = f"does not return within {WATCH_SECONDS:g} s"


class Termination:
    """Only small inputs count: on a large one a slow function looks the same as an endless one."""

    def __init__(self, start: Callable[..., Child]) -> None:
        self._start = start
        self._runs: dict[int, Child] = {}
        self._ends: dict[int, dict[str, Any] | None] = {}
        self._written: Written | None = None
        self.finished: list[Child] = []
        self.verdict: dict[str, Any] | None = None

    def suspect(self, written: Written, seconds_left: float) -> None:
        if self._runs or not is_small(written) or seconds_left < WATCH_SECONDS + 0.5:
            return
        self._written = written
        self._ends = {}
        self._runs = {
            side: self._start("time", seed=side, inputs=(written,), seconds=WATCH_SECONDS) for side in (0, 1)
        }

    def hears(self, child: Child, event: dict[str, Any]) -> bool:
        side = next((side for side, run in self._runs.items() if run is child), None)
        if side is None:
            return False
        if event["event"] in {"ended", "endless", "gone", "refused"}:
            self._ends[side] = event if event["event"] == "ended" else None
            if event["event"] in {"gone", "refused"}:
                self._ends[side] = {"limit": True}
            self.finished = [child]
        if len(self._ends) == len(self._runs):
            self._judge()
        return True

    def _judge(self) -> None:
        ends = [self._ends[0], self._ends[1]]
        self._runs = {}
        endless = [side for side in (0, 1) if ends[side] is None]
        ended = [end for end in ends if end is not None]
        if len(endless) != 1 or ended[0].get("limit") or self._written is None:
            return
        texts = [RUNS_ON if end is None else end["text"] for end in ends]
        self.verdict = {
            "input": self._written.as_json(),
            "verdict": "fail",
            "label": "endless",
            "violation": "one side does not end",
            "outcomes": [
                {"text": text, "error": None, "stack": [], "line": 0, "type": None} for text in texts
            ],
            "mutated": {},
            "endless": endless[0],
            "condition": "",
        }


def is_small(written: Written) -> bool:
    for text in [*written.args, *written.kwargs.values()]:
        if len(text) > SMALL_LENGTH:
            return False
        for node in ast.walk(ast.parse(text, mode="eval")):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, int | float)
                and abs(node.value) > SMALL_NUMBER
            ):
                return False
    return True
