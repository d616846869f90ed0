"""Reading the stacks that the interpreter dumped before it was killed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_FRAME = re.compile(r'^  File "(?P<file>.*)", line (?P<line>\d+) in (?P<function>.*)$')
_ENGINE = ("/_pytest/", "/pluggy/", "/pytest/__main__.py")
_LIBRARY = ("site-packages", "/lib/python")
CUT = "  (frames of pytest left out)"


@dataclass(frozen=True, slots=True)
class Place:
    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}"


@dataclass(frozen=True, slots=True)
class Stacks:
    text: str
    """Every thread's, most recent call first, paths relative to the root."""
    stuck: Place | None
    """The innermost line of the user's code in the thread that runs the tests."""


def read_stacks(dump: str, root: Path) -> Stacks | None:
    threads = [block for block in dump.replace(f'"{root}/', '"').split("\n\n") if block.strip()]
    if not threads:
        return None
    main = next((block for block in threads if block.startswith("Current thread")), threads[-1])
    return Stacks("\n\n".join(_trim(block) for block in threads), _find_own_place(main))


def _trim(thread: str) -> str:
    """Without what pytest itself called, which is the same every time."""
    lines = thread.rstrip("\n").split("\n")
    for number, line in enumerate(lines):
        if number > 1 and any(mark in line for mark in _ENGINE):
            return "\n".join([*lines[:number], CUT])
    return "\n".join(lines)


def _find_own_place(thread: str) -> Place | None:
    frames = [match for line in thread.split("\n") if (match := _FRAME.match(line))]
    places = [Place(frame["file"], int(frame["line"]), frame["function"]) for frame in frames]
    own = [place for place in places if not Path(place.file).is_absolute()]
    own = [place for place in own if not any(mark in place.file for mark in _LIBRARY)]
    return next(iter(own or places), None)
