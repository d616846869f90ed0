"""The tutorial for a server of one's own, run from an empty folder as it is written."""

from pathlib import Path

from tests.cli.command import environment
from tests.pages import DOCS, follow


def test_the_tutorial_does_what_it_shows(tmp_path: Path) -> None:
    assert follow(DOCS / "tutorials" / "server.md", tmp_path, environment()) == 4
