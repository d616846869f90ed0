"""Strangers' text is safe to put into a sentence."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultless.contract import clean


@pytest.mark.parametrize(
    ("dirty", "cleaned"),
    [
        ("plain", "plain"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("bell\x07 nul\x00 del\x7f c1\x9b", "bell nul del c1"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;http://x\x07link\x1b]8;;\x07", "link"),
        ("lone \ud800 surrogate", "lone \ufffd surrogate"),
        ("evil\u202etxt", "eviltxt"),
        ("tag\U000e0041", "tag"),
        ("family 👩\u200d👧 ok", "family 👩\u200d👧 ok"),
    ],
)
def test_only_what_prints_is_kept(dirty: str, cleaned: str) -> None:
    assert clean(dirty) == cleaned


def test_the_end_says_how_much_was_left_out() -> None:
    cleaned = clean("x" * 5000, limit=100)

    kept = cleaned.count("x", 0, cleaned.index("…"))
    assert cleaned.endswith(f"… [{5000 - kept} characters left out]")
    assert len(cleaned) <= 100


@settings(deadline=None, max_examples=100)
@given(text=st.text(st.characters()), limit=st.integers(0, 60))
def test_cleaning_is_bounded_encodes_and_is_done_once(text: str, limit: int) -> None:
    cleaned = clean(text, limit)

    assert len(cleaned) <= limit
    cleaned.encode()
    assert clean(cleaned, limit) == cleaned
