"""The tutorial, run from an empty folder as it is written."""

from pathlib import Path

import pytest

from tests.pages import DOCS, follow, matches
from tests.servers.toolbox.conftest import environment


def test_the_tutorial_does_what_it_shows(tmp_path: Path) -> None:
    assert follow(DOCS / "tutorials" / "toolbox.md", tmp_path, environment()) == 7


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a\n", "a\n", True),
        ("a … c\n", "a b c\n", True),
        ("a\n…\n", "a\nb\nc\n", True),
        ("a\n", "b\n", False),
        ("a … c\n", "a b\nc\n", False),
        ("a\n", "a\nb\n", False),
    ],
)
def test_a_difference_from_the_page_is_seen(shown: str, printed: str, same: bool) -> None:
    assert matches(shown, printed) is same
