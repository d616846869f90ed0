"""The tutorial, run from an empty folder as it is written."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.toolbox.conftest import environment

PAGE = Path(__file__).parents[3] / "docs" / "tutorials" / "toolbox.md"
BLOCK = re.compile(
    r"^```(?P<language>\w+)(?: file=(?P<file>\S+))?\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
DEADLINE_SECONDS = 120


def commands(block: str) -> Iterator[tuple[str, str]]:
    """What is typed after each `$`, and what is shown below it."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


def matches(shown: str, printed: str) -> bool:
    """A `…` alone on a line stands for any lines, elsewhere for anything on its line."""
    lines = [
        r"(?:.*\n)*" if line == "…" else re.escape(line).replace("…", ".*") + r"\n"
        for line in shown.splitlines()
    ]
    return re.fullmatch("".join(lines), printed) is not None


def type_in(command: str, folder: Path) -> str:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    finished = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env=environment(PATH=path, FAULTLESS_LOG_LEVEL="ERROR", COLUMNS="200"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    return finished.stdout


def test_the_tutorial_does_what_it_shows(tmp_path: Path) -> None:
    seen = 0
    for block in BLOCK.finditer(PAGE.read_text()):
        if block["file"]:
            path = tmp_path / block["file"]
            path.parent.mkdir(exist_ok=True)
            path.write_text(block["text"])
        elif block["language"] == "console":
            for command, shown in commands(block["text"]):
                printed = type_in(command, tmp_path)
                assert matches(shown, printed), f"$ {command}\n{printed}"
                seen += 1
    assert seen == 7


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
