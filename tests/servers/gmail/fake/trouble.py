"""What can go wrong between a request and its answer."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal


@dataclass(frozen=True)
class Trouble:
    how: Literal[
        "refuse",
        "drop_before",
        "drop_after",
        "stall",
        "stall_after",
        "truncate",
        "garbage",
        "silent",
        "nameless",
        "oversized",
        "foreign",
    ]
    status: int = 0
    reason: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    newer: bool = False
    """Whether the reason comes as an ErrorInfo in `details`, as newer Google services send it."""

    @property
    def happens_first(self) -> bool:
        """Whether the request is not carried out."""
        return self.how in {"refuse", "drop_before", "stall"}


def refuse(status: int, reason: str = "", **headers: str) -> Trouble:
    return Trouble("refuse", status, reason, {name.replace("_", "-"): text for name, text in headers.items()})


def refuse_anew(status: int, reason: str, **headers: str) -> Trouble:
    return replace(refuse(status, reason, **headers), newer=True)


class Plan:
    """Troubles by method, each used once in order; or a function that decides."""

    def __init__(self) -> None:
        self._queues: dict[str, deque[Trouble]] = defaultdict(deque)
        self._lock = threading.Lock()
        self.decide: Callable[[str], Trouble | None] = lambda _: None

    def add(self, method: str, *troubles: Trouble) -> None:
        with self._lock:
            self._queues[method].extend(troubles)

    def next(self, method: str) -> Trouble | None:
        with self._lock:
            for name in (method, "*"):
                if self._queues[name]:
                    return self._queues[name].popleft()
            return self.decide(method)

    def left(self) -> dict[str, int]:
        with self._lock:
            return {name: len(queue) for name, queue in self._queues.items() if queue}
