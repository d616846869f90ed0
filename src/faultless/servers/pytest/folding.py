"""Rows with one cause, told once: the first is whole, the others are counted and named under it.

One cause: the same outcome, the same innermost line of the user's code, and the same message once numbers and
addresses are masked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from faultless.servers.pytest.rows import Outcome, Row

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

NAMES_AT_MOST = 12
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Fold:
    first: Row
    others: tuple[Row, ...]


def fold_rows(rows: Iterable[Row]) -> list[Fold]:
    groups: dict[Hashable, list[Row]] = {}
    for row in rows:
        groups.setdefault(find_cause(row), []).append(row)
    return [Fold(group[0], tuple(group[1:])) for group in groups.values()]


def find_cause(row: Row) -> Hashable:
    if row.message is None or row.outcome is Outcome.PASSED:
        return row.node_id, id(row)
    return row.outcome, row.frame, mask(row.message)


def mask(message: str) -> str:
    return _NUMBER.sub("#", _ADDRESS.sub("#", message))


def name_tests(node_ids: Sequence[str]) -> list[str]:
    """Every name, as short as it can be said: `test_a[{1..199}]` stands for all numbers between.

    Beyond a dozen the last entry only counts the rest.
    """
    runs = [run for template, numbers in _group(node_ids).items() for run in _find_runs(template, numbers)]
    if len(runs) <= NAMES_AT_MOST:
        return [name for name, _ in runs]
    named, rest = runs[: NAMES_AT_MOST - 1], runs[NAMES_AT_MOST - 1 :]
    return [*(name for name, _ in named), f"and {sum(count for _, count in rest)} more"]


def _group(node_ids: Sequence[str]) -> dict[tuple[str, str], list[str]]:
    """Node ids that differ in their last number only, by what stands before and after it."""
    groups: dict[tuple[str, str], list[str]] = {}
    for node_id in node_ids:
        numbers = list(_DIGITS.finditer(node_id))
        key = (node_id[: numbers[-1].start()], node_id[numbers[-1].end() :]) if numbers else (node_id, "")
        groups.setdefault(key, []).append(numbers[-1].group() if numbers else "")
    return groups


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
