"""What is left of pytest's own text, beside fields that say the rest."""

from __future__ import annotations

import pytest

from faultless.servers.pytest.printed import (
    leave_out_counts,
    leave_out_exception,
    leave_out_message,
    leave_out_name,
    leave_out_session,
    name_failure,
    name_parameters,
)

TRACEBACK = """test_a.py:3: in test_a
    assert total() == 2, "too much"
E   AssertionError: too much
E   assert 3 == 2"""


def test_a_line_of_counts_is_left_out_and_titles_lose_their_decoration() -> None:
    text = "===== warnings summary =====\ntest_a.py: old\n\n-- Docs: https://docs.pytest.org/x\n== 1 failed in 0.01s =="
    assert leave_out_counts(text) == "warnings summary\ntest_a.py: old"


@pytest.mark.parametrize("word", ["1 xpassed", "3 warnings", "2 rerun"])
def test_counts_that_no_field_holds_stay(word: str) -> None:
    assert leave_out_counts(f"=== 1 passed, {word} in 0.01s ===") == f"1 passed, {word} in 0.01s"


def test_of_a_session_only_what_the_project_printed_stays() -> None:
    text = """==== test session starts ====
platform linux -- Python 3.11.7
plugins: xdist-3.8.0
collected 3 items

tests/test_a.py .F
heard it
tests/test_b.py .                     [100%]

!!!! Interrupted: 1 error during collection !!!!
==== 2 passed, 1 failed in 0.10s ====
"""
    assert leave_out_session(text) == "heard it"
    assert leave_out_session("collected 1 item\n\ntests/test_stock.py ") == ""
    assert leave_out_session("tests/test_stock.py") == "tests/test_stock.py"
    assert leave_out_session("printed before\n" + text).startswith("printed before\n")


def test_a_line_of_a_megabyte_is_passed_over() -> None:
    line = "a::b " * 200_000
    assert leave_out_session(line) == line
    assert name_parameters(f"({line}") == f"({line}"


def test_the_message_is_taken_out_of_its_traceback_word_for_word_only() -> None:
    place = 'test_a.py:3: in test_a\n    assert total() == 2, "too much"'
    assert leave_out_message(TRACEBACK, "AssertionError: too much\nassert 3 == 2") == place
    assert leave_out_message(TRACEBACK, "AssertionError: too") == TRACEBACK
    assert leave_out_message("E   assert 1\nE   assert 1", "AssertionError: assert 1") == "E   assert 1"


def test_causes_keep_their_own_messages() -> None:
    text = (
        f"{TRACEBACK}\n\nThe above exception was the direct cause\ntest_a.py:9: in load\nE   OSError: no disk"
    )
    assert leave_out_message(text, "OSError: no disk").startswith(TRACEBACK)


def test_the_first_line_does_not_repeat_the_name_of_the_test() -> None:
    assert (
        leave_out_name("test_a.py:3: in test_a\n    x", "test_a.py::T::test_a[in b::c]")
        == "test_a.py:3\n    x"
    )
    assert (
        leave_out_name("test_a.py:3: in helper\n    x", "test_a.py::test_a")
        == "test_a.py:3: in helper\n    x"
    )


def test_a_failure_told_as_text_is_named_by_what_pytest_marks() -> None:
    assert (
        name_failure("file a.py, line 1\nE       fixture 'x' not found\n>   use") == "fixture 'x' not found"
    )
    assert name_failure("Expected:\n    1\n\nshop.py:3: DocTestFailure") == "shop.py:3: DocTestFailure"


def test_frames_of_a_broken_file_stay_and_another_last_line_too() -> None:
    text = 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\nshop.Bad: no'
    assert leave_out_exception(text, "Bad: no") == '  File "a.py", line 1, in <module>'
    assert leave_out_exception(text, "Bad: yes") == text
    assert leave_out_exception("Bad: no", "Bad: no") == "Bad: no"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "Omitting 2 identical items, use -vv to show",
            "Omitting 2 identical items, use verbosity 2 to show",
        ),
        ("  Use -v to get more diff", "  Use verbosity 1 to get more diff"),
        (
            "E     ...Full output truncated (3 lines hidden), use '-vv' to show",
            "E     ...Full output truncated (3 lines hidden), use verbosity 2 to show",
        ),
        (
            "Skipping 290 identical leading characters in diff, use -v to show",
            "Skipping 290 identical leading characters in diff, use verbosity 1 to show",
        ),
        (
            "(3 durations < 0.005s hidden.  Use -vv to show these durations.)",
            "(3 durations < 0.005s hidden.  Use verbosity 2 to show these durations.)",
        ),
    ],
)
def test_advice_names_our_parameter(line: str, told: str) -> None:
    assert name_parameters(line) == told


@pytest.mark.parametrize("line", ["+ use -vv to show", "AssertionError: Use -v to get more diff", "rm -v x"])
def test_words_of_the_project_are_left_alone(line: str) -> None:
    assert name_parameters(line) == line
