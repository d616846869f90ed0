"""What the worker said about one pytest session, kept as it arrives, and one row per test made of it.

In a row the worst phase wins:

passed, then an error in teardown    error
failed, then an error in teardown    error, both told
a subtest failed                     failed, each told
expected failure                     skipped, with the reason
unexpected pass                      passed, with the reason; failed where the project is strict
run again by a plugin                the last run's outcome
a module skipped or not collected    a row of its own, as in pytest's own counts
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from faultless.contract.text import replace_surrogates
from faultless.process.lines import LineSplitter
from faultless.servers.pytest.printed import leave_out_message, leave_out_name, name_failure

if TYPE_CHECKING:
    from collections.abc import Iterable

_LINE_LIMIT = 64 << 20  # the worker's own limits are far below
_KEPT_LIMIT = 64 << 20
_MESSAGE_LIMIT = 200
_PHASES = ("setup", "call", "teardown")
_OUTSIDE_PHASES = "???"  # how xdist reports a test whose worker process died


@dataclass(frozen=True, slots=True)
class Phase:
    """One report of pytest: a phase of a test, or a subtest within it."""

    name: str
    outcome: str
    duration: float
    message: str | None = None
    text: str | None = None
    wasxfail: str | None = None
    subtest: str | None = None
    frame: tuple[str, int] | None = None
    sections: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class Test:
    node_id: str
    phases: list[Phase] = field(default_factory=list)
    is_finished: bool = False
    has_failed: bool = False
    reruns: int = 0

    @property
    def is_decided(self) -> bool:
        """A test that only got through its setup has proved nothing, as in pytest's own counts."""
        return any(
            phase.name not in {"setup", "teardown"} or phase.outcome != "passed" for phase in self.phases
        )

    @property
    def awaits_rerun(self) -> bool:
        return any(phase.outcome == "rerun" for phase in self.phases)

    def add(self, phase: Phase) -> None:
        if phase.outcome == "rerun":
            self.reruns += 1
        self.phases.append(phase)
        self.has_failed |= phase.outcome == "failed"
        self.is_finished |= phase.subtest is None and phase.name in {"teardown", _OUTSIDE_PHASES}

    def start_again(self) -> None:
        """A plugin runs it once more: what it was before counts no longer."""
        self.phases.clear()
        self.is_finished = self.has_failed = False


@dataclass(frozen=True, slots=True)
class _Finish:
    """How pytest itself ended its session."""

    stop: str | None
    """Why it stopped before its last test."""
    duration: float


@dataclass(slots=True)
class Record:
    """Everything reported so far. A run that dies leaves whatever had arrived."""

    worker: dict[str, Any] | None = None
    planned: list[Any] = field(default_factory=list)
    is_planned: bool = False
    tests: list[Test] = field(default_factory=list)
    running: Counter[str] = field(default_factory=Counter)
    deselected: int = 0
    collection_errors: list[dict[str, Any]] = field(default_factory=list)
    collection_skips: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[dict[str, Any]] = field(default_factory=list)
    internal_error: str | None = None
    interruption: str | None = None
    finish: _Finish | None = None
    _lines: LineSplitter = field(default_factory=lambda: LineSplitter(_LINE_LIMIT))
    _kept: int = 0
    _open: dict[str, dict[str | None, Test]] = field(default_factory=dict)

    @property
    def ended(self) -> int:
        """Tests that came to an end that says something."""
        return sum(test.is_finished and test.is_decided for test in self.tests)

    @property
    def was_stopped_on_purpose(self) -> bool:
        """By failfast or maxfail, here or in the project's own options."""
        stop = self.finish.stop if self.finish else None
        return stop is not None and stop.startswith("stopping after")

    def feed(self, data: bytes) -> None:
        """A line that cannot be read is passed over: a run with fewer tests than planned is no verdict."""
        for line in self._lines.feed(data):
            try:
                event = json.loads(line.data)
                self._take(event.pop("event"), event)
            except (ValueError, KeyError, TypeError, AttributeError):
                continue

    def _take(self, name: str, event: dict[str, Any]) -> None:  # noqa: C901, PLR0912 - one case per event
        match name:
            case "started":
                self.running[event["test"]] += 1
            case "passed":
                for phase, duration in zip(_PHASES, event["durations"], strict=True):
                    self._add(event["test"], event["node"], Phase(phase, "passed", duration))
            case "phase":
                self._take_phase(event)
            case "finished":
                self._stop(event["test"])
                for test in self._open.get(event["test"], {}).values():
                    test.is_finished = True
            case "planned":
                self.planned += event["tests"]
                self.is_planned |= event.get("complete", False)
            case "deselected":
                self.deselected += event["count"]
            case "collection_error":
                self.collection_errors.append(event)
            case "collection_skip":
                self.collection_skips.append(event)
            case "warning":
                self.warnings.append(event)
            case "hello":
                self.worker = event
            case "internal_error":
                self.internal_error = event["text"]
            case "interrupted":
                self.interruption = event["reason"]
            case "finish":
                self.finish = _Finish(**event)

    def _take_phase(self, event: dict[str, Any]) -> None:
        """Ten thousand failures of a megabyte each must not fill the server: later ones lose their text."""
        node_id, node = event.pop("test"), event.pop("node")
        size = sum(len(event.get(name) or "") for name in ("text", "message"))
        if self._kept + size > _KEPT_LIMIT:
            event["text"] = f"[left out: {len(event.get('text') or ''):,} characters]"
            event["message"] = (event.get("message") or "")[:_MESSAGE_LIMIT]
            size = len(event["text"]) + len(event["message"])
        self._kept += size
        phase = Phase(
            name=event.pop("phase"),
            frame=tuple(event.pop("frame", None) or ()) or None,
            sections=tuple((name, text) for name, text in event.pop("sections", ())),
            **event,
        )
        self._add(node_id, node, phase)

    def _add(self, node_id: str, node: str | None, phase: Phase) -> None:
        open_tests = self._open.setdefault(node_id, {})
        test = open_tests.get(node)
        if test is not None and phase.name == "setup" and (test.awaits_rerun or not test.is_finished):
            test.start_again()
        elif test is None or phase.name == "setup":
            test = open_tests[node] = Test(node_id)
            self.tests.append(test)
        test.add(phase)
        if test.is_finished:
            self._stop(node_id)

    def _stop(self, node_id: str) -> None:
        self.running[node_id] -= 1
        if self.running[node_id] <= 0:
            del self.running[node_id]


class Outcome(StrEnum):
    """From best to worst."""

    PASSED = "passed"
    SKIPPED = "skipped"
    FAILED = "failed"
    ERROR = "error"


_SEVERITY = {outcome: number for number, outcome in enumerate(Outcome)}
_BAD = frozenset({Outcome.FAILED, Outcome.ERROR})


@dataclass(frozen=True, slots=True)
class Row:
    node_id: str
    outcome: Outcome
    duration: float
    message: str | None = None
    traceback: str | None = None
    captured: str = ""
    frame: tuple[str, int] | None = None
    """The innermost line of the user's own code."""
    place: str | None = None
    """The traceback without the message, where it can be taken out."""


def make_rows(record: Record) -> list[Row]:
    """All that pytest counts: modules skipped or broken as a whole, then the tests."""
    skips = [
        Row(skip["test"], Outcome.SKIPPED, 0.0, replace_surrogates(skip["reason"]))
        for skip in record.collection_skips
    ]
    broken = [
        Row(
            error["file"],
            Outcome.ERROR,
            0.0,
            replace_surrogates(f"{error['error_type']}: {error['message']}"),
            "see collection_errors",
        )
        for error in record.collection_errors
    ]
    return [*skips, *broken, *make_test_rows(record)]


def make_test_rows(record: Record) -> list[Row]:
    """Every test that was decided, in the order they ran."""
    return [make_row(test) for test in record.tests if test.is_decided]


def make_row(test: Test) -> Row:
    graded = [(_grade(phase), phase) for phase in test.phases if phase.outcome != "rerun"]
    outcome = max((outcome for outcome, _ in graded), key=_SEVERITY.__getitem__, default=Outcome.ERROR)
    duration = sum(phase.duration for phase in test.phases)
    bad = [phase for phase_outcome, phase in graded if phase_outcome in _BAD]
    if not bad:
        return Row(test.node_id, outcome, duration, _explain(outcome, (phase for _, phase in graded)))
    captured = [f"--- {name} ---\n{text.rstrip()}" for name, text in bad[-1].sections if text.strip()]
    heads, texts = [_head(phase, bad) for phase in bad], [phase.text or "" for phase in bad]
    titles = [head and f"{head.rstrip()}\n" for head in heads]
    messages = [_name_failure(phase) for phase in bad]
    places = [
        leave_out_name(leave_out_message(*pair), test.node_id) for pair in zip(texts, messages, strict=True)
    ]
    return Row(
        test.node_id,
        outcome,
        duration,
        message=_join(heads, messages, "\n"),
        traceback=_join(titles, texts, "\n\n"),
        place=_join(titles if len(bad) > 1 else [""], places, "\n\n"),
        captured=replace_surrogates("\n".join(captured)),
        frame=bad[0].frame,
    )


def _grade(phase: Phase) -> Outcome:
    if phase.outcome == "failed":
        return Outcome.ERROR if phase.name in {"setup", "teardown"} else Outcome.FAILED
    if phase.subtest is not None:  # only its failures count against the test
        return Outcome.PASSED
    return Outcome.SKIPPED if phase.outcome == "skipped" else Outcome.PASSED


def _explain(outcome: Outcome, phases: Iterable[Phase]) -> str | None:
    for phase in phases:
        if phase.wasxfail is not None:
            word = "xfail" if outcome is Outcome.SKIPPED else "xpass"
            reason = phase.wasxfail.removeprefix("reason: ")
            return replace_surrogates(f"{word}: {reason}" if reason else word)
        if phase.message and outcome is Outcome.SKIPPED and phase.subtest is None:
            return replace_surrogates(phase.message)
    return None


def _name_failure(phase: Phase) -> str:
    """Where pytest knows no exception, its whole text came as the message."""
    if phase.message is None or phase.message == phase.text:
        return name_failure(phase.text or "")
    return phase.message


def _join(heads: list[str], parts: list[str], between: str) -> str:
    joined = between.join(head + part for head, part in zip(heads, parts, strict=True) if part)
    return replace_surrogates(joined)


def _head(phase: Phase, bad: list[Phase]) -> str:
    if phase.subtest is not None:
        return f"{phase.subtest} "
    return f"in {phase.name}: " if len(bad) > 1 or phase.name in {"setup", "teardown"} else ""
