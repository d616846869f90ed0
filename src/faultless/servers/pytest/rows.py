"""One row per test, worst phase wins.

passed, then an error in teardown    error
failed, then an error in teardown    error, both told
a subtest failed                     failed, each told
expected failure                     skipped, with the reason
unexpected pass                      passed, with the reason; failed where the project is strict
run again by a plugin                the last run's outcome
a module skipped or not collected    a row of its own, as in pytest's own counts
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from faultless.contract.text import replace_surrogates

if TYPE_CHECKING:
    from collections.abc import Iterable

    from faultless.servers.pytest.record import Phase, Record, Test


class Outcome(StrEnum):
    """From best to worst."""

    PASSED = "passed"
    SKIPPED = "skipped"
    FAILED = "failed"
    ERROR = "error"


SEVERITY = {outcome: number for number, outcome in enumerate(Outcome)}
BAD = frozenset({Outcome.FAILED, Outcome.ERROR})


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


def make_rows(record: Record) -> list[Row]:
    """All that pytest counts: modules skipped or broken as a whole, then the tests."""
    skips = [
        Row(skip["test"], Outcome.SKIPPED, 0.0, replace_surrogates(skip["reason"]))
        for skip in record.collection_skips
    ]
    return [*skips, *_make_collection_rows(record), *make_test_rows(record)]


def make_test_rows(record: Record) -> list[Row]:
    """Every test that was decided, in the order they ran."""
    return [make_row(test) for test in record.tests if test.is_decided]


def make_row(test: Test) -> Row:
    graded = [(grade(phase), phase) for phase in test.phases if phase.outcome != "rerun"]
    outcome = max((outcome for outcome, _ in graded), key=SEVERITY.__getitem__, default=Outcome.ERROR)
    duration = sum(phase.duration for phase in test.phases)
    bad = [phase for phase_outcome, phase in graded if phase_outcome in BAD]
    if not bad:
        return Row(test.node_id, outcome, duration, _explain(outcome, (phase for _, phase in graded)))
    return Row(
        test.node_id,
        outcome,
        duration,
        message=replace_surrogates("\n".join(_head(phase, bad) + (phase.message or "") for phase in bad)),
        traceback=replace_surrogates("\n\n".join(_head(phase, bad) + (phase.text or "") for phase in bad)),
        captured=replace_surrogates(_show_sections(bad[-1])),
        frame=bad[0].frame,
    )


def grade(phase: Phase) -> Outcome:
    if phase.outcome == "failed":
        return Outcome.ERROR if phase.name in {"setup", "teardown"} else Outcome.FAILED
    if phase.subtest is not None:  # only its failures count against the test
        return Outcome.PASSED
    return Outcome.SKIPPED if phase.outcome == "skipped" else Outcome.PASSED


def count_outcomes(rows: Iterable[Row]) -> Counter[Outcome]:
    return Counter(row.outcome for row in rows)


def _explain(outcome: Outcome, phases: Iterable[Phase]) -> str | None:
    for phase in phases:
        if phase.wasxfail is not None:
            word = "xfail" if outcome is Outcome.SKIPPED else "xpass"
            reason = phase.wasxfail.removeprefix("reason: ")
            return replace_surrogates(f"{word}: {reason}" if reason else word)
        if phase.message and outcome is Outcome.SKIPPED and phase.subtest is None:
            return replace_surrogates(phase.message)
    return None


def _head(phase: Phase, bad: list[Phase]) -> str:
    if phase.subtest is not None:
        return f"{phase.subtest} "
    return f"in {phase.name}: " if len(bad) > 1 or phase.name in {"setup", "teardown"} else ""


def _show_sections(phase: Phase) -> str:
    return "\n".join(f"--- {name} ---\n{text.rstrip()}" for name, text in phase.sections if text.strip())


def _make_collection_rows(record: Record) -> list[Row]:
    """Pytest counts a broken file as one error, and so does the summary."""
    return [
        Row(
            error["file"],
            Outcome.ERROR,
            0.0,
            replace_surrogates(f"{error['error_type']}: {error['message']}"),
            "see collection_errors",
        )
        for error in record.collection_errors
    ]
