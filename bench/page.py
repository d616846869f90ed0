"""A page of figures whose parts are measured one by one and put together from the last run of each."""

import datetime as dt
import importlib
import os
from collections.abc import Sequence
from dataclasses import dataclass

from bench.figures import machine
from bench.peers import PEERS, ROOT


@dataclass(frozen=True)
class Page:
    name: str
    """Of the file below docs/reference, less its suffix."""
    head: str
    """With places for `machine` and `date`."""
    package: str
    """Has a module with a `main` for every part."""
    parts: Sequence[str]

    def measure(self) -> None:
        for part in self.parts:
            importlib.import_module(f"{self.package}.{part}").main()

    def publish(self, part: str, text: str) -> None:
        print(text)
        kept = PEERS / self.name
        kept.mkdir(parents=True, exist_ok=True)
        (kept / f"{part}.md").write_text(text)
        found = [path.read_text() for name in self.parts if (path := kept / f"{name}.md").exists()]
        date = dt.datetime.now(tz=dt.UTC).date().isoformat()
        where = f"{machine('faultless', 'mcp', 'pytest')}, {os.cpu_count()} cores"
        head = self.head.format(machine=where, date=date)
        (ROOT / "docs" / "reference" / f"{self.name}.md").write_text(head + "\n".join(found))
