"""Calling the function under analysis: what it returned or raised, and where, within a limit of time."""

from __future__ import annotations

import contextlib
import signal
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


USER_FILE = "<code>"
_DRAIN_LIMIT = 200
_LIMITS = (RecursionError, MemoryError)


class OverrunError(BaseException):
    """One run took too long. A BaseException, so that the usual handlers in user code let it pass."""


class BlockedError(BaseException):
    """The code tried something the sandbox refuses; what it does next says nothing about it outside."""


@dataclass
class Drained:
    """A generator or iterator, run to its end or to the limit."""

    items: list[Any]
    ending: str


@dataclass
class Outcome:
    """Either `error` or `value`, or both: a generator's items and the error that ended it. `line` is where in
    the user's code the error was raised.
    """

    value: Any = None
    error: BaseException | None = None
    line: int = 0

    @property
    def label(self) -> str:
        if self.error is not None:
            first = "yields, then " if self.value is not None else ""
            return f"{first}raises {type(self.error).__name__}"
        return f"yields, then {self.value.ending}" if isinstance(self.value, Drained) else "returns"

    @property
    def is_limit(self) -> bool:
        return isinstance(self.error, _LIMITS)


def pass_engine_signals(error: BaseException) -> None:
    """What must never be taken for the user's own exception. The explorer extends this for CrossHair's."""
    if isinstance(error, OverrunError | BlockedError):
        raise error


def call(
    function: Callable[..., Any],
    positional: Sequence[Any],
    named: Mapping[str, Any],
    screen: Callable[[BaseException], None],
) -> Outcome:
    drained: Drained | None = None
    try:
        value = function(*positional, **named)
        if isinstance(value, Iterator):
            drained = Drained([], "raises")
            _drain(value, drained)
            value = drained
    except BaseException as error:  # noqa: BLE001 - whatever user code raises is its outcome
        screen(error)
        return Outcome(drained if drained and drained.items else None, error, raise_line(error))
    return Outcome(value)


def _drain(items: Iterator[Any], into: Drained) -> None:
    for item in items:
        into.items.append(item)
        if len(into.items) >= _DRAIN_LIMIT:
            into.ending = "goes on"
            return
    into.ending = "ends"


def raise_line(error: BaseException) -> int:
    """The innermost line of the user's code in the traceback."""
    line = 0
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == USER_FILE:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def user_stack(error: BaseException, source: Sequence[str]) -> list[str]:
    """The traceback's user lines, outermost first; ours and the library's are left out."""
    lines = []
    trace: types.TracebackType | None = error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        if frame.f_code.co_filename == USER_FILE:
            text = source[trace.tb_lineno - 1].strip() if trace.tb_lineno <= len(source) else ""
            lines.append(f"line {trace.tb_lineno}, in {frame.f_code.co_name}: {text}")
        trace = trace.tb_next
    return lines[:10] + lines[-10:] if len(lines) > 20 else lines  # noqa: PLR2004 - both ends of a deep recursion


def describe_error(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - a user exception may have any __str__
        text = "<its message cannot be read>"
    name = type(error).__name__
    return f"{name}: {text[:500]}" if text else name


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
