"""What compare_functions calls a difference, and what it does not call the same."""

from __future__ import annotations

import pytest

from tests.servers.symbolic.conftest import Ask
from tests.servers.symbolic.pasted import fails
from tests.servers.symbolic.truth_set import read_cases


def test_differences_show_both_results(ask: Ask) -> None:
    code = "def a(x: int) -> int:\n    return abs(x)\n\ndef b(x: int) -> int:\n    return x\n"
    answer = ask("compare_functions", code=code, function_a="a", function_b="b", timeout_seconds=10)
    assert answer["status"] == "different"
    found = answer["distinguishing_input"]
    assert (found["args"], found["function_a_result"], found["function_b_result"]) == (["-1"], "1", "-1")
    assert fails(code, found["reproduction"])


def test_changed_arguments_are_shown_side_by_side(ask: Ask) -> None:
    code = "def a(x: list[int]) -> int:\n    x.append(1)\n    return 1\ndef b(x: list[int]) -> int:\n    return 1\n"
    answer = ask("compare_functions", code=code, function_a="a", function_b="b", timeout_seconds=10)
    told = answer["distinguishing_input"]["explanation"]
    assert told == "the arguments are left in different states: [[1]] against [[]]"


@pytest.mark.parametrize(
    ("first", "second", "status"),
    [("int", "str", "timeout"), ("int", "float", "equivalent"), ("float", "int", "equivalent")],
)
def test_annotations_that_have_nothing_in_common_are_no_ground_for_a_proof(
    first: str, second: str, status: str, ask: Ask
) -> None:
    code = f"def a(x: {first}):\n    return x\n\ndef b(x: {second}):\n    return x\n"
    answer = ask("compare_functions", code=code, function_a="a", function_b="b", timeout_seconds=3)
    assert answer["status"] == status, answer
    assert "x is int on one side and str on the other" in answer["message"] or status == "equivalent"


def test_a_side_that_never_ends_is_a_difference(ask: Ask) -> None:
    (case,) = [case for case in read_cases("pairs_different") if case.name == "endless_for_negative"]
    answer = ask(case.tool, **case.arguments, timeout_seconds=20)
    assert answer["status"] == "different"
    assert "does not return" in answer["distinguishing_input"]["function_b_result"]
