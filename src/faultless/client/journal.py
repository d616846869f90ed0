"""What was called, when, and how it ended: JSON lines, one file per day.

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

    from faultless.contract import Fault, Json

_LEVELS = {"attempt": "INFO", "mcp_fallback": "WARN", "mcp_escalation": "ERROR", "outcome": "INFO"}


class Journal:
    """Writes `journal-YYYY-MM-DD.jsonl` in a folder; argument values only if asked for."""

    def __init__(
        self, folder: Path, *, values: bool = False, clock: Callable[[], datetime] | None = None
    ) -> None:
        self.folder = folder
        self.values = values
        self.lost = 0
        """Lines that could not be written; a full disk does not stop a call."""
        self._clock = clock or (lambda: datetime.now(UTC))
        self._day = ""
        self._file: int | None = None

    def write(
        self,
        event: str,
        call: str,
        redactor: Redactor,
        fault: Fault | None = None,
        **fields: Any,  # noqa: ANN401 - JSON
    ) -> None:
        now = self._clock()
        entry = {"time": now.isoformat(), "level": _LEVELS[event], "event": event, "call": call}
        if "arguments" in fields and not self.values:
            fields["arguments"] = sorted(fields["arguments"])
        fields |= _describe(fault) if fault is not None else {}
        kept = {name: redactor.hide(value) for name, value in fields.items() if value is not None}
        try:
            os.write(self._open(now), to_json({**entry, **kept}) + b"\n")
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
            size = os.fstat(self._file).st_size
            if size and os.pread(self._file, 1, size - 1) != b"\n":  # a torn line must not swallow the next
                os.write(self._file, b"\n")
        return self._file


def _describe(fault: Fault) -> dict[str, Any]:
    return {
        "kind": fault.kind.value,
        "message": fault.message,
        "origin": fault.origin,
        "layer": fault.layer,
        "effect": fault.outcome,
        "certainty": fault.certainty.value,
        "kind_basis": fault.kind_basis.value,
    }


def read_journal(folder: Path) -> Iterator[dict[str, Json]]:
    """Every whole line, oldest first; torn ones are passed over."""
    for path in sorted(folder.glob("journal-*.jsonl")):
        with path.open("rb") as lines:
            for line in lines:
                try:
                    entry = json.loads(line)
                except ValueError:
                    continue
                if isinstance(entry, dict):
                    yield entry
