"""Which failures count as one, and how many names that saves."""

from __future__ import annotations

import pytest

from faultless.servers.pytest.record import Outcome, Row
from faultless.servers.pytest.results import fold_rows, mask, name_tests


def failed(name: str, message: str, line: int = 3, outcome: Outcome = Outcome.FAILED) -> Row:
    return Row(name, outcome, 0.1, message, "...", "", ("tests/test_a.py", line))


def test_numbers_and_addresses_do_not_make_a_difference() -> None:
    rows = [failed("a", "E: <X at 0x7f00> is 3"), failed("b", "E: <X at 0x7fff> is 4.5e3")]
    (fold,) = fold_rows(rows)
    assert (fold.first.node_id, [row.node_id for row in fold.others]) == ("a", ["b"])


@pytest.mark.parametrize(
    "other",
    [
        failed("b", "E: other words"),
        failed("b", "E: same", line=4),
        failed("b", "E: same", outcome=Outcome.ERROR),
    ],
)
def test_another_message_place_or_outcome_does(other: Row) -> None:
    assert len(fold_rows([failed("a", "E: same"), other])) == 2


def test_masking_keeps_the_words() -> None:
    assert mask("KeyError: 'x12' at 0xab12, 3 of 4.0") == "KeyError: 'x#' at #, # of #"


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["t[1]", "t[2]", "t[3]"], ["t[{1..3}]"]),
        (["t[1]", "t[3]"], ["t[1]", "t[3]"]),
        (["t_9", "t_10", "t_11"], ["t_{9..11}"]),
        (["a", "b"], ["a", "b"]),
        (["t[01]", "t[02]"], ["t[01]", "t[02]"]),
        (["x1[a]", "x2[a]", "y"], ["x{1..2}[a]", "y"]),
    ],
)
def test_names_in_a_row_are_told_as_one(names: list[str], told: list[str]) -> None:
    assert name_tests(names) == told


def test_beyond_a_dozen_names_the_rest_is_counted_in_tests() -> None:
    names = [f"test_{letter}" for letter in "abcdefghijklmnop"] + ["n[1]", "n[2]", "n[3]"]
    told = name_tests(names)
    assert len(told) == 12
    assert told[-1] == "and 8 more"


def test_a_number_of_thousands_of_digits_is_a_name() -> None:
    names = [f"test_a[{digit * 5000}]" for digit in "12"]
    assert name_tests(names) == names
