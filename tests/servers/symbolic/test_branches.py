"""What analyze_branches lists, reaches and calls dead."""

from __future__ import annotations

from typing import Any

import pytest
from radon.complexity import cc_visit  # type: ignore[import-untyped]  # it has no stubs

from tests.servers.symbolic.conftest import Ask
from tests.servers.symbolic.truth_set import read_cases

BRANCHES = """
def f(x: int, items: list[int]) -> str:
    if x > 10 and x < 5:
        return "never"
    for item in items:
        if item == x:
            break
    else:
        return "missing"
    try:
        y = 10 // x
    except ZeroDivisionError:
        return "zero"
    match y:
        case 1:
            return "one"
        case _:
            pass
    return "big" if y > 3 else "small"
"""


def test_static_branches_are_listed_and_not_guessed(ask: Ask) -> None:
    answer = ask("analyze_branches", code=BRANCHES, function_name="f", timeout_seconds=10)
    assert (answer["status"], answer["analysis_mode"]) == ("complete", "static")
    assert answer["total_branches"] == len(answer["branches"]) == 8
    assert {row["true_reachable"] for row in answer["branches"]} == {None}
    assert answer["time_seconds"] < 2


def test_symbolic_branches_come_with_inputs_that_take_them(ask: Ask) -> None:
    answer = ask(
        "analyze_branches", code=BRANCHES, function_name="f", timeout_seconds=5, symbolic_reachability=True
    )
    assert answer["analysis_mode"] == "symbolic"
    rows = {row["condition"]: row for row in answer["branches"]}
    namespace: dict[str, Any] = {}
    exec(BRANCHES, namespace)
    assert eval(rows["except ZeroDivisionError"]["true_example"], namespace) == "zero"
    assert eval(rows["y > 3"]["true_example"], namespace) == "big"
    assert rows["x > 10 and x < 5"]["true_example"] is None
    assert rows["x > 10 and x < 5"]["true_reachable"] in (None, False)


def test_dead_code_is_only_named_when_proved(ask: Ask) -> None:
    code = "def f(x: int) -> int:\n    if x * 2 == 7:\n        return 1\n    return 2\n"
    answer = ask(
        "analyze_branches", code=code, function_name="f", timeout_seconds=20, symbolic_reachability=True
    )
    assert answer["status"] == "complete"
    assert answer["dead_code_lines"] == [3]
    assert answer["branches"][0]["true_reachable"] is False


@pytest.mark.parametrize("kind", ["contracts_true", "contracts_false", "exceptions_reachable"])
def test_cyclomatic_complexity_is_radons(kind: str, ask: Ask) -> None:
    for case in read_cases(kind)[::6]:
        wanted = {block.name: block.complexity for block in cc_visit(case.code)}
        answer = ask("analyze_branches", code=case.code, function_name="f", timeout_seconds=5)
        assert answer["cyclomatic_complexity"] == wanted["f"], case
