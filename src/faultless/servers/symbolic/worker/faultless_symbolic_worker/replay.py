"""Running inputs again in plain CPython: what is true of a call, told in words and expressions."""

from __future__ import annotations

import re
import sys
import time
from typing import TYPE_CHECKING, Any

from .arguments import Written, read_arguments, unbind, write_arguments
from .calls import (
    USER_FILE,
    Drained,
    Outcome,
    OverrunError,
    describe_error,
    limited,
    user_stack,
)
from .events import Measured, ShownCall, ShownOutcome
from .shrink import shrink
from .subjects import FAIL, LIMIT, UNCLEAR, Judgement
from .values import NotRenderableError, Renderer

if TYPE_CHECKING:
    from types import CodeType, FrameType

    from .prepare import Prepared

RUN_SECONDS = 2.0
_SHRINK_SECONDS = 0.3
_SHRINK_RUN_SECONDS = 0.1
_TEXT_LIMIT = 2000
_REPEATS = 4
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
NOT_DETERMINISTIC = "not deterministic"


def judge_written(prepared: Prepared, written: Written, seconds: float = RUN_SECONDS) -> Judgement:
    """Arguments that cannot be built, or a run that takes too long, are a limit: nothing is claimed."""
    try:
        with limited(seconds):
            positional, named = read_arguments(written, prepared.loaded.namespace)
            return prepared.subject.judge(positional, named)
    except OverrunError:
        return Judgement(LIMIT, "still running")


def judge_repeatedly(prepared: Prepared, written: Written) -> Judgement:
    """Bad news counts only if the code says it again: else it is its chance, its clock or its memory that
    speaks.
    """
    first = judge_written(prepared, written)
    if first.verdict != FAIL:
        return first
    told = tell_outcomes(prepared, first)
    for _ in range(_REPEATS):
        again = judge_written(prepared, written)
        if tell_outcomes(prepared, again) != told:
            return Judgement(UNCLEAR, NOT_DETERMINISTIC, outcomes=first.outcomes)
    return first


def tell_outcomes(prepared: Prepared, judgement: Judgement) -> list[str]:
    """In words, without the places of objects in memory."""
    texts = [describe_outcome(outcome, prepared).text for outcome in judgement.outcomes]
    return [judgement.verdict, judgement.label, *(_ADDRESS.sub("", text) for text in texts)]


def describe(prepared: Prepared, written: Written, judgement: Judgement) -> ShownCall:
    return ShownCall(
        input=written,
        verdict=judgement.verdict,
        label=judgement.label,
        violation=judgement.violation,
        outcomes=[describe_outcome(outcome, prepared) for outcome in judgement.outcomes],
        mutated={
            name: [show(value, prepared.loaded.namespace) for value in pair]
            for name, pair in judgement.mutated.items()
        },
    )


def describe_outcome(outcome: Outcome, prepared: Prepared) -> ShownOutcome:
    error = outcome.error
    if error is not None:
        stack = user_stack(error, prepared.loaded.lines)
        return ShownOutcome(
            f"raises {describe_error(error)}", error=type(error).__name__, line=outcome.line, stack=stack
        )
    text = show(outcome.value, prepared.loaded.namespace)
    return ShownOutcome(text, type=type(outcome.value).__name__)


def show(value: Any, namespace: dict[str, Any]) -> str:
    """An expression where there is one, else the value's repr, bounded."""
    if isinstance(value, Drained):
        return f"generator of {show(value.items, namespace)}, which {value.ending}"
    try:
        return Renderer(namespace).render(value)
    except (NotRenderableError, RecursionError):
        pass
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - a user class may have any __repr__
        text = f"<{type(value).__name__} whose repr fails>"
    return text if len(text) <= _TEXT_LIMIT else f"{text[:_TEXT_LIMIT]}… ({len(text)} characters)"


def shrink_call(prepared: Prepared, written: Written) -> ShownCall:
    """Replay a candidate; if it holds, give the smallest input found that shows the same."""
    judgement = judge_repeatedly(prepared, written)
    if judgement.verdict != FAIL:
        return describe(prepared, written, judgement)
    parameters, namespace = prepared.parameters, prepared.loaded.namespace
    values = unbind(*read_arguments(written, namespace), parameters)

    def shows(candidate: list[Any]) -> bool:
        try:
            with limited(_SHRINK_RUN_SECONDS):
                found = prepared.subject.judge(*parameters.bind(candidate))
        except OverrunError:
            return False
        return found.verdict == FAIL and found.label == judgement.label

    small = (
        values
        if ":=" in written.call_text
        else shrink(values, parameters, shows, time.monotonic() + _SHRINK_SECONDS)
    )
    try:
        smaller = write_arguments(small, parameters, namespace)
    except NotRenderableError:
        smaller = written
    return describe(prepared, smaller, judge_written(prepared, smaller))


class Measure:
    """Lines and branch sides of the functions under analysis that a set of inputs runs through."""

    def __init__(self, recorded: Prepared) -> None:
        self._prepared = recorded
        self._codes = [
            target.function.__code__ for target in recorded.targets if hasattr(target.function, "__code__")
        ]
        self.lines: set[int] = set()
        self.sides: set[tuple[int, bool]] = set()
        self.possible_lines = {line for code in self._codes for line in _lines_of(code)}

    def run(self, written: Written) -> list[tuple[int, bool]]:
        """Returns the sides in the order taken."""
        recorder = self._prepared.loaded.recorder
        recorder.reset()
        sys.settrace(self._trace)
        try:
            judge_written(self._prepared, written, _SHRINK_RUN_SECONDS)
        finally:
            sys.settrace(None)
        self.sides |= recorder.taken
        return list(recorder.trace)

    def _trace(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if frame.f_code.co_filename != USER_FILE:
            return None
        if event == "line" and frame.f_lineno in self.possible_lines:
            self.lines.add(frame.f_lineno)
        return self._trace

    def report(self, trace: list[tuple[int, bool]]) -> Measured:
        return Measured(
            lines=sorted(self.lines & self.possible_lines),
            possible_lines=sorted(self.possible_lines),
            sides=sorted(self.sides),
            possible_sides=2 * len(self._prepared.loaded.branches),
            condition=_write_condition(self._prepared, trace),
        )


def _lines_of(code: CodeType) -> set[int]:
    """Executable lines, nested functions included; the `def` line itself is not one."""
    lines = {line for _, _, line in code.co_lines() if line and line != code.co_firstlineno}
    if code.co_name == "<lambda>" or not lines:
        lines = {code.co_firstlineno}
    for constant in code.co_consts:
        if hasattr(constant, "co_lines"):
            lines |= _lines_of(constant)
    return lines


def _write_condition(prepared: Prepared, trace: list[tuple[int, bool]]) -> str:
    """The branches a call took, in the function's own words."""
    words: list[str] = []
    for number, side in trace:
        branch = prepared.loaded.branches[number]
        if branch.kind in {"for", "comprehension", "except", "case"}:
            text = branch.condition if side else f"not {branch.condition}"
            if branch.kind != "case" and not side:
                continue
        else:
            text = branch.condition if side else f"not ({branch.condition})"
        if text not in words:
            words.append(text)
    return " and ".join(words[:20])
