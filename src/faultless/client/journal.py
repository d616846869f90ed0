"""What was called, when, and how it ended: JSON lines, one file a day.

A line is one write to a file opened for appending, so a process that is killed leaves at most its last line
torn, and several processes may share a folder.
"""

from __future__ import annotations

import json
import logging
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from faultless.contract.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from faultless.contract import Json

LEVELS = {"attempt": "INFO", "mcp_fallback": "WARN", "mcp_escalation": "ERROR", "outcome": "INFO"}


def _now() -> datetime:
    return datetime.now(UTC)


class Journal:
    """Writes `journal-YYYY-MM-DD.jsonl` in a folder; argument values only if asked for."""

    def __init__(self, folder: Path, *, values: bool = False, clock: Callable[[], datetime] = _now) -> None:
        self.folder = folder
        self.values = values
        self.lost = 0
        """Lines that could not be written; a full disk does not stop a call."""
        self._clock = clock
        self._day = ""
        self._file: int | None = None

    def write(self, event: str, call: str, redactor: Redactor, **fields: Any) -> None:  # noqa: ANN401 - JSON
        now = self._clock()
        entry = {"time": now.isoformat(), "level": LEVELS[event], "event": event, "call": call}
        kept = {name: redactor.hide(value) for name, value in fields.items() if value is not None}
        line = to_json({**entry, **kept}) + b"\n"
        try:
            os.write(self._open(now), line)
        except OSError:
            self.lost += 1
            logging.getLogger(__name__).warning(
                "the journal in %s cannot be written", self.folder, exc_info=True
            )

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
        self._file, self._day = None, ""

    def _open(self, now: datetime) -> int:
        day = now.date().isoformat()
        if self._file is None or day != self._day:
            self.close()
            self.folder.mkdir(parents=True, exist_ok=True)
            path = self.folder / f"journal-{day}.jsonl"
            self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self._day = day
            self._end_torn_line(self._file)
        return self._file

    @staticmethod
    def _end_torn_line(file: int) -> None:
        size = os.fstat(file).st_size
        if size and os.pread(file, 1, size - 1) != b"\n":
            os.write(file, b"\n")


def read_journal(folder: Path) -> Iterator[dict[str, Json]]:
    """Every whole line, oldest first; torn ones are passed over."""
    for path in sorted(folder.glob("journal-*.jsonl")):
        with path.open("rb") as lines:
            for line in lines:
                entry = _parse(line)
                if entry is not None:
                    yield entry


def _parse(line: bytes) -> dict[str, Json] | None:
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) else None
