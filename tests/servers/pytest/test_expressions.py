"""Our parser accepts what pytest's own accepts, and nothing else."""

from __future__ import annotations

import pytest
from _pytest.mark.expression import Expression
from hypothesis import given
from hypothesis import strategies as st

from faultless.servers.pytest.expressions import ExpressionError, check_expression

PIECES = [
    "a", "slow", "not", "and", "or", "(", ")", "True", "x-y", "a::b[c]", "1", " ", "  ", "\t", "=", ",", "'s'",
    '"t"', "'", "\\", "'\\'", "n=1", "f(n=1)", "f(a='x', b=None)", "f()", "f(1)", "f(if=1)", "f(n=-3)", "f(n=1.5)",
    ";", "é", "\n", "$", "f(a=1,)", "...", "-", "f(n=x)", "f (n=2)",
]  # fmt: skip


def pytest_accepts(text: str) -> bool:
    try:
        Expression.compile(text)
    except Exception:  # noqa: BLE001 - it raises its own kind in 7 and 8, SyntaxError in 9
        return False
    return True


def we_accept(text: str) -> bool:
    try:
        check_expression(text, allows_arguments=True)
    except ExpressionError as error:
        if not 1 <= error.position <= len(text) + 1:
            raise
        return False
    return True


@given(
    st.lists(st.sampled_from(PIECES), max_size=9).map("".join)
    | st.lists(st.sampled_from(PIECES), max_size=9).map(" ".join)
)
def test_we_accept_what_pytest_accepts(text: str) -> None:
    assert we_accept(text) == pytest_accepts(text)


@given(st.text(max_size=30))
def test_any_text_is_judged_as_pytest_judges_it(text: str) -> None:
    assert we_accept(text) == pytest_accepts(text)


def test_deep_nesting_is_refused_rather_than_crashing() -> None:
    with pytest.raises(ExpressionError, match="nested deeper than 100"):
        check_expression("(" * 50_000, allows_arguments=True)
