"""The line that a stack or a traceback points at: the innermost one of the project's own code."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_FRAME = re.compile(r'^ +File "(?P<file>.*)", line (?P<line>\d+)(?:,? in (?P<function>.*))?$', re.MULTILINE)
_ENGINE = ("/_pytest/", "/pluggy/", "/pytest/__main__.py")
_MARK = "(most recent call first)"
_LIBRARY = ("site-packages", "/lib/python")
_BLOCK_OF_TIMEOUT = re.compile(r"^~+ Stack of MainThread .*~\n(?P<stack>(?:[ ].*\n?)*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Place:
    file: str
    line: int
    function: str | None
    is_own: bool
    """Of the project, not of a library."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" + (f" in {self.function}" if self.function else "")


def read_traceback(text: str, root: Path) -> Place | None:
    """Where an exception came from: the frames are written from the outside in."""
    return _choose([*_read_frames(text, root)][::-1])


def read_stack_of_pytest_timeout(text: str, root: Path) -> Place | None:
    block = _BLOCK_OF_TIMEOUT.search(text)
    return block and read_traceback(block["stack"], root)


def read_stacks(dump: str, root: Path) -> tuple[str | None, Place | None]:
    """Every thread's stack as the interpreter dumps it, and where the thread is that runs the tests."""
    threads = [block for block in _relate(dump, root).split("\n\n") if _MARK in block]
    if not threads:
        return None, None
    main = next((block for block in threads if block.startswith("Current thread")), threads[-1])
    return leave_out_engine("\n\n".join(threads)), _choose(_read_frames(main, root))


def leave_out_engine(text: str) -> str:
    """Stacks as the interpreter dumps them, less what pytest itself called: that is the same every time."""
    blocks = text.split("\n\n")
    return "\n\n".join(_cut_engine(block) if _MARK in block else block for block in blocks)


def _read_frames(text: str, root: Path) -> list[Place]:
    return [
        Place(found["file"], int(found["line"]), found["function"], _is_own(found["file"]))
        for found in _FRAME.finditer(_relate(text, root))
    ]


def _choose(innermost_first: Sequence[Place]) -> Place | None:
    """Of the project, or else of whoever is not pytest."""
    own = [place for place in innermost_first if place.is_own]
    others = [place for place in innermost_first if not any(mark in place.file for mark in _ENGINE)]
    return next(iter(own or others or innermost_first), None)


def _is_own(file: str) -> bool:
    return (
        not Path(file).is_absolute()
        and not file.startswith("<")
        and not any(mark in file for mark in _LIBRARY)
    )


def _relate(text: str, root: Path) -> str:
    return text.replace(f'"{root}/', '"')


def _cut_engine(thread: str) -> str:
    lines = thread.rstrip("\n").split("\n")
    for number, line in enumerate(lines):
        if number > 1 and any(mark in line for mark in _ENGINE):
            return "\n".join([*lines[:number], "  (frames of pytest left out)"])
    return "\n".join(lines)
