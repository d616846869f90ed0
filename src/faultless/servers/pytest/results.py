"""From what the worker said to what the caller reads: lean, and whole where it matters.

Rows with one cause are told once: the first is whole, the others are counted and named under it. One cause is
the same outcome, the same innermost line of the user's code, and the same message once numbers and addresses
are masked.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from faultless.contract import clean
from faultless.contract.text import replace_surrogates
from faultless.servers.pytest.outputs import CollectionError, SameCause, Summary, TestResult
from faultless.servers.pytest.printed import leave_out_counts, leave_out_progress, name_parameters
from faultless.servers.pytest.record import Outcome, Row, make_row

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from faultless.servers.pytest.record import Phase, Record, Test
    from faultless.servers.pytest.session import Session, Text

WHOLE = 2  # the verbosity at which nothing is left out
_NAMES_AT_MOST = 12
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_DIGITS = re.compile(r"(?<!\d)\d{1,18}(?!\d)")  # longer ones are names, not numbers to count with


@dataclass(frozen=True, slots=True)
class _Budget:
    """Characters an answer may spend. Over it whole tracebacks, messages and rows are left out; only captured
    output and `text_output` are cut in the middle.
    """

    rows: int
    tracebacks: int
    message: int
    captured: int
    text: int


_BUDGETS = {
    -2: _Budget(rows=100, tracebacks=12_000, message=4_000, captured=1_000, text=2_000),
    -1: _Budget(rows=100, tracebacks=24_000, message=4_000, captured=2_000, text=4_000),
    0: _Budget(rows=100, tracebacks=24_000, message=4_000, captured=2_000, text=4_000),
    1: _Budget(rows=1_000_000, tracebacks=100_000, message=20_000, captured=8_000, text=40_000),
    2: _Budget(rows=1_000_000, tracebacks=4_000_000, message=4_000_000, captured=32_000, text=400_000),
}


@dataclass(frozen=True, slots=True)
class Results:
    """The rows as the caller sees them, and what had to stay out."""

    shown: list[TestResult]
    tracebacks_left_out: int
    rows_left_out: int


def show_rows(all_rows: Sequence[Row], verbosity: int) -> Results:
    """Bad news first at verbosity <= 0, where equal causes are folded and passing tests only counted."""
    budget = _BUDGETS[verbosity]
    if verbosity > 0:
        folds = [_Fold(row, ()) for row in all_rows]
    else:
        notable = [row for row in all_rows if row.outcome is not Outcome.PASSED]
        notable.sort(key=lambda row: row.outcome is Outcome.SKIPPED)
        folds = fold_rows(notable)
    spent = left_out = 0
    shown: list[TestResult] = []
    for fold in folds[: budget.rows]:
        row, message = fold.first, fold.first.message
        is_told = message is None or len(message) <= budget.message
        traceback = row.place if is_told and verbosity < WHOLE and row.place is not None else row.traceback
        if traceback is not None and row.captured:
            traceback = f"{traceback}\n{cut_middle(row.captured, budget.captured)}".lstrip("\n")
        if traceback is not None and spent + len(traceback) > budget.tracebacks:
            left_out += 1
            traceback = f"[left out: {len(traceback):,} characters]"
        if message is not None and not is_told:
            message = f"{message.partition(':')[0][:80]}: [left out: {len(message):,} characters]"
        spent += len(traceback or "")
        if verbosity < WHOLE:
            message, traceback = (text and name_parameters(text) for text in (message, traceback))
        shown.append(_show_fold(fold, message, traceback))
    return Results(shown, left_out, sum(1 + len(fold.others) for fold in folds[budget.rows :]))


def _show_fold(fold: _Fold, message: str | None, traceback: str | None) -> TestResult:
    row, names = fold.first, name_tests([other.node_id for other in fold.others])
    return TestResult(
        node_id=replace_surrogates(row.node_id),
        outcome=row.outcome,
        duration=round(row.duration, 3),
        message=message,
        traceback=traceback,
        same_cause=SameCause(count=len(fold.others), node_ids=names) if fold.others else None,
    )


@dataclass(frozen=True, slots=True)
class _Fold:
    """Rows with one cause."""

    first: Row
    others: tuple[Row, ...]


def fold_rows(rows: Iterable[Row]) -> list[_Fold]:
    groups: dict[Hashable, list[Row]] = {}
    for row in rows:
        if row.message is None or row.outcome is Outcome.PASSED:
            cause: Hashable = row.node_id, id(row)
        else:
            cause = row.outcome, row.frame, mask(row.message)
        groups.setdefault(cause, []).append(row)
    return [_Fold(group[0], tuple(group[1:])) for group in groups.values()]


def mask(message: str) -> str:
    return _NUMBER.sub("#", _ADDRESS.sub("#", message))


def name_tests(node_ids: Sequence[str]) -> list[str]:
    """Every name, as short as it can be said: `test_a[{1..199}]` stands for all numbers between.

    Beyond a dozen the last entry only counts the rest.
    """
    groups: dict[tuple[str, str], list[str]] = {}  # last numbers, by what stands before and after them
    for node_id in node_ids:
        numbers = list(_DIGITS.finditer(node_id))
        key = (node_id[: numbers[-1].start()], node_id[numbers[-1].end() :]) if numbers else (node_id, "")
        groups.setdefault(key, []).append(numbers[-1].group() if numbers else "")
    runs = [run for template, group in groups.items() for run in _find_runs(template, group)]
    if len(runs) <= _NAMES_AT_MOST:
        return [name for name, _ in runs]
    named, rest = runs[: _NAMES_AT_MOST - 1], runs[_NAMES_AT_MOST - 1 :]
    return [*(name for name, _ in named), f"and {sum(count for _, count in rest)} more"]


def _find_runs(template: tuple[str, str], numbers: list[str]) -> list[tuple[str, int]]:
    """Names of consecutive tests, and how many tests each stands for."""
    runs: list[list[str]] = []
    for number in sorted(numbers, key=lambda text: (len(text), text)):
        follows = bool(runs) and number != "" and int(number) == int(runs[-1][-1]) + 1
        if follows and not number.startswith("0"):
            runs[-1].append(number)
        else:
            runs.append([number])
    before, after = template
    return [
        (f"{before}{run[0]}{after}" if len(run) == 1 else f"{before}{{{run[0]}..{run[-1]}}}{after}", len(run))
        for run in runs
    ]


def summarise(record: Record, all_rows: Iterable[Row], duration: float) -> Summary:
    counts = Counter(row.outcome for row in all_rows)
    return Summary(
        total=counts.total(),
        passed=counts[Outcome.PASSED],
        failed=counts[Outcome.FAILED],
        skipped=counts[Outcome.SKIPPED],
        errors=counts[Outcome.ERROR],
        not_run=max(0, len(record.planned) - len(record.tests)),
        deselected=record.deselected,
        duration=round(duration, 3),
    )


def show_collection_errors(record: Record) -> list[CollectionError]:
    return [
        CollectionError(
            file=replace_surrogates(error["file"]),
            error_type=error["error_type"],
            message=replace_surrogates(error["message"]),
            line=error["line"],
            traceback=replace_surrogates(error["traceback"]),
        )
        for error in record.collection_errors
    ]


def choose_text(verbosity: int) -> Text:
    return "tail" if verbosity <= 0 else "lean" if verbosity < WHOLE else "whole"


def show_text(session: Session, verbosity: int, *, keeps_color: bool) -> str:
    """What pytest printed, without what the rows say already, and its standard error."""
    if session.finished is None:
        return ""
    limit = _BUDGETS[verbosity].text
    text = session.finished.stdout.text
    before, mark, after = text.rpartition(session.mark + "\n")
    if mark:
        text = after if session.job.text == "tail" else before + after
    if not keeps_color:
        text = _leave_out(clean(text, len(text) + 1), session.job.text)
    errors = session.finished.stderr.text.strip()
    joined = f"{text.strip()}\n[stderr]\n{errors}".lstrip() if errors else text.strip()
    whole = cut_middle(joined, limit)
    return replace_surrogates(whole) if keeps_color else clean(whole, len(whole) + 1)


def _leave_out(text: str, amount: Text) -> str:
    if amount == "whole":
        return text
    return name_parameters(leave_out_counts(text) if amount == "tail" else leave_out_progress(text))


def cut_middle(text: str, limit: int) -> str:
    """The beginning and the end, with a line between them that counts what is missing."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[{len(text) - 2 * half:,} characters left out]\n{text[-half:]}"


def describe_progress(record: Record) -> str:
    bad = sum(test.has_failed for test in record.tests)
    current = next(iter(record.running), None)
    failures = f"{bad} failed" if bad else "no failures"
    return f"{failures}; running {current}" if current else failures


def write_json_report(record: Record, summary: Summary, exit_code: int) -> dict[str, Any]:
    """Every phase of every test, in the shape that pytest-json-report made known."""
    worker = record.worker or {}
    return {
        "duration": summary.duration,
        "exitcode": exit_code,
        "environment": {"Python": worker.get("python"), "pytest": worker.get("pytest")},
        "summary": {
            "passed": summary.passed,
            "failed": summary.failed,
            "skipped": summary.skipped,
            "error": summary.errors,
            "total": summary.total,
            "collected": len(record.planned) + record.deselected,
            "deselected": record.deselected,
        },
        "tests": [_write_test(test) for test in record.tests],
        "warnings": [
            {
                name: replace_surrogates(value) if isinstance(value, str) else value
                for name, value in warning.items()
            }
            for warning in record.warnings
        ],
    }


def _write_test(test: Test) -> dict[str, Any]:
    phases = {phase.name: _write_phase(phase) for phase in test.phases if phase.subtest is None}
    subtests = [
        {"description": phase.subtest, **_write_phase(phase)}
        for phase in test.phases
        if phase.subtest is not None
    ]
    written = {"nodeid": replace_surrogates(test.node_id), "outcome": make_row(test).outcome.value, **phases}
    return (
        written
        | ({"subtests": subtests} if subtests else {})
        | ({"reruns": test.reruns} if test.reruns else {})
    )


def _write_phase(phase: Phase) -> dict[str, Any]:
    written: dict[str, Any] = {"duration": round(phase.duration, 6), "outcome": phase.outcome}
    if phase.message is not None:
        written["message"] = replace_surrogates(phase.message)
    if phase.frame is not None:
        written["crash"] = {"path": phase.frame[0], "lineno": phase.frame[1]}
    if phase.text is not None:
        written["longrepr"] = replace_surrogates(phase.text)
    if phase.sections:
        written["sections"] = [[name, replace_surrogates(text)] for name, text in phase.sections]
    return written
