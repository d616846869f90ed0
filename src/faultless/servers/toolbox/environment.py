"""What a tool may know of our environment, and keeping what it was told out of logs and faults."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING

from faultless.contract import Fault, Json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from faultless.process import Captured

ALWAYS = ("PATH", "HOME", "LANG", "TMPDIR")
SHORTEST_SECRET = 4
"""Shorter values ("1", "yes") are no secrets, and blotting them out would spoil every text."""


def pick(names: Iterable[str], source: Mapping[str, str] | None = None) -> dict[str, str]:
    given = os.environ if source is None else source
    return {name: given[name] for name in (*ALWAYS, *names) if name in given}


class Redactor:
    """Replaces the values of named variables by their names, and takes away where the folder of tools lies.

    Shells begin their complaints with the whole path of the script.
    """

    def __init__(self, names: Iterable[str], folder: Path, source: Mapping[str, str] | None = None) -> None:
        given = os.environ if source is None else source
        values = {given[name]: f"[{name}]" for name in names if len(given.get(name, "")) >= SHORTEST_SECRET}
        values |= {json.dumps(value)[1:-1]: mark for value, mark in values.items()}
        values[f"{folder}/"] = ""
        # The longest first, for one secret may be part of another.
        self._values = sorted(values.items(), key=lambda pair: -len(pair[0]))

    def blot(self, text: str) -> str:
        for value, mark in self._values:
            text = text.replace(value, mark)
        return text

    def blot_captured(self, captured: Captured) -> Captured:
        """Also without the part of a secret that the cut left on either side of it."""
        before, marker, after = captured.parts
        if not marker:
            return replace(captured, text=self.blot(captured.text))
        before = self.blot_beginning(before)
        return replace(captured, text=before + marker + self.blot_end(after), cut=len(before))

    def blot_beginning(self, text: str) -> str:
        """Of a text that goes on elsewhere: what could be the beginning of a secret at its end goes too."""
        text = self.blot(text)
        longest = max(_overlap(text, value) for value, _ in self._values)
        return text[: len(text) - longest]

    def blot_end(self, text: str) -> str:
        """Of a text that began elsewhere: what could be the end of a secret at its beginning goes too."""
        text = self.blot(text)
        return text[max(_overlap(value, text) for value, _ in self._values) :]

    def blot_all(self, value: Json) -> Json:
        if isinstance(value, str):
            return self.blot(value)
        if isinstance(value, list):
            return [self.blot_all(item) for item in value]
        if isinstance(value, dict):
            return {self.blot(name): self.blot_all(item) for name, item in value.items()}
        return value

    def blot_fault(self, fault: Fault) -> Fault:
        return Fault(
            fault.kind,
            self.blot(fault.message),
            hint=fault.hint and self.blot(fault.hint),
            details={name: self.blot_all(value) for name, value in fault.details.items()},
            retry_after_seconds=fault.retry_after_seconds,
        )


def _overlap(first: str, second: str) -> int:
    """How many characters at the end of the first are the beginning of the second."""
    longest = min(len(first), len(second))
    return next((size for size in range(longest, 0, -1) if first.endswith(second[:size])), 0)
