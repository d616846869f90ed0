"""From what the worker said to what the caller reads: lean, and whole where it matters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from faultless.contract import clean
from faultless.contract.text import replace_surrogates
from faultless.servers.pytest import folding, rows
from faultless.servers.pytest.outputs import CollectionError, SameCause, Summary, TestResult
from faultless.servers.pytest.rows import Outcome, Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from faultless.servers.pytest.folding import Fold
    from faultless.servers.pytest.record import Record
    from faultless.servers.pytest.session import Session, Text


@dataclass(frozen=True, slots=True)
class Budget:
    """Characters an answer may spend. Over it whole tracebacks go, then whole rows; nothing is cut short."""

    rows: int
    tracebacks: int
    message: int
    captured: int
    text: int


BUDGETS = {
    -2: Budget(rows=100, tracebacks=12_000, message=4_000, captured=1_000, text=2_000),
    -1: Budget(rows=100, tracebacks=24_000, message=4_000, captured=2_000, text=4_000),
    0: Budget(rows=100, tracebacks=24_000, message=4_000, captured=2_000, text=4_000),
    1: Budget(rows=1_000_000, tracebacks=100_000, message=20_000, captured=8_000, text=40_000),
    2: Budget(rows=1_000_000, tracebacks=4_000_000, message=4_000_000, captured=32_000, text=400_000),
}


@dataclass(frozen=True, slots=True)
class Results:
    """The rows as the caller sees them, and what had to stay out."""

    shown: list[TestResult]
    tracebacks_left_out: int
    rows_left_out: int


def show_rows(all_rows: Sequence[Row], verbosity: int) -> Results:
    """Bad news first at verbosity <= 0, where equal causes are folded and passing tests only counted."""
    budget = BUDGETS[verbosity]
    if verbosity > 0:
        folds = [folding.Fold(row, ()) for row in all_rows]
    else:
        notable = [row for row in all_rows if row.outcome is not Outcome.PASSED]
        notable.sort(key=lambda row: row.outcome is Outcome.SKIPPED)
        folds = folding.fold_rows(notable)
    spent = left_out = 0
    shown: list[TestResult] = []
    for fold in folds[: budget.rows]:
        traceback = _join(fold.first, budget)
        if traceback is not None and spent + len(traceback) > budget.tracebacks:
            left_out += 1
            traceback = f"[left out: {len(traceback):,} characters]"
        spent += len(traceback or "")
        shown.append(_show(fold, traceback, budget))
    return Results(shown, left_out, sum(1 + len(fold.others) for fold in folds[budget.rows :]))


def _join(row: Row, budget: Budget) -> str | None:
    if row.traceback is None or not row.captured:
        return row.traceback
    return f"{row.traceback}\n{cut_middle(row.captured, budget.captured)}"


def _show(fold: Fold, traceback: str | None, budget: Budget) -> TestResult:
    row, message = fold.first, fold.first.message
    if message is not None and len(message) > budget.message:
        message = f"{message.partition(':')[0][:80]}: [left out: {len(message):,} characters]"
    names = folding.name_tests([other.node_id for other in fold.others])
    return TestResult(
        node_id=replace_surrogates(row.node_id),
        outcome=row.outcome,
        duration=round(row.duration, 3),
        message=message,
        traceback=traceback,
        same_cause=SameCause(count=len(fold.others), node_ids=names) if fold.others else None,
    )


def summarise(record: Record, all_rows: Iterable[Row], duration: float) -> Summary:
    counts = rows.count_outcomes(all_rows)
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
    return "tail" if verbosity <= 0 else "lean" if verbosity == 1 else "whole"


def show_text(session: Session, verbosity: int, *, keeps_color: bool) -> str:
    """What pytest printed, without what the rows say already, and its standard error."""
    if session.finished is None:
        return ""
    limit = BUDGETS[verbosity].text
    text = session.finished.stdout.text
    before, mark, after = text.rpartition(session.mark + "\n")
    if mark:
        text = after if session.job.text == "tail" else before + after
    errors = session.finished.stderr.text.strip()
    joined = f"{text.strip()}\n[stderr]\n{errors}" if errors else text.strip()
    whole = cut_middle(joined, limit)
    return replace_surrogates(whole) if keeps_color else clean(whole, len(whole) + 1)


def cut_middle(text: str, limit: int) -> str:
    """The beginning and the end, with a line between them that counts what is missing."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[{len(text) - 2 * half:,} characters left out]\n{text[-half:]}"
