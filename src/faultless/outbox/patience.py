"""When a note that failed may be tried again."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

FIRST_SECONDS = 5.0
LONGEST_SECONDS = 300.0


@dataclass
class Patience:
    """Doubles with every failure of the same note; forgets when the process ends."""

    clock: Callable[[], float] = time.monotonic
    _failures: Counter[str] = field(default_factory=Counter)
    _not_before: dict[str, float] = field(default_factory=dict)

    def is_due(self, name: str) -> bool:
        return self.clock() >= self._not_before.get(name, 0.0)

    def wait(self, name: str, asked_seconds: float | None) -> None:
        own = min(FIRST_SECONDS * 2 ** self._failures[name], LONGEST_SECONDS)
        self._failures[name] += 1
        self._not_before[name] = self.clock() + max(own, asked_seconds or 0.0)
