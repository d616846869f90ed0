"""A limit on one run of user code, by an alarm the code can only delay."""

from __future__ import annotations

import contextlib
import signal
from typing import TYPE_CHECKING

from faultless.servers.symbolic.worker.calls import OverrunError

if TYPE_CHECKING:
    from collections.abc import Iterator


def _ring(_number: int, _frame: object) -> None:
    raise OverrunError


def prepare_alarm() -> None:
    signal.signal(signal.SIGALRM, _ring)


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raises OverrunError inside; rings again every 50 ms, for code that swallows it once."""
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.05)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
