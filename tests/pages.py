"""Pages whose code is run as it stands: files are written, commands typed, what they print is compared."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(
    r"^```(?P<language>\w+)(?: file=(?P<file>\S+))?\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
DEADLINE_SECONDS = 120


def follow(page: Path, folder: Path, environment: Mapping[str, str]) -> int:
    """Do what the page says, from an empty folder; how many commands that were."""
    seen = 0
    for block in BLOCK.finditer(page.read_text()):
        if block["file"]:
            path = folder / block["file"]
            path.parent.mkdir(exist_ok=True)
            path.write_text(block["text"])
        elif block["language"] == "console":
            for command, shown in _commands(block["text"]):
                printed = _type_in(command, folder, environment)
                assert matches(shown, printed), f"$ {command}\n{printed}"
                seen += 1
    return seen


def _commands(block: str) -> Iterator[tuple[str, str]]:
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


def _type_in(command: str, folder: Path, environment: Mapping[str, str]) -> str:
    finished = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env={
            **environment,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "FAULTLESS_LOG_LEVEL": "ERROR",
            "COLUMNS": "200",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    return finished.stdout
