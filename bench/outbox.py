"""The outbox's promises through random histories; nothing is compared, and nothing may be broken."""

import os
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime

from bench.figures import machine, table
from bench.peers import ROOT
from tests.outbox.simulation import run_histories

PAGE = ROOT / "docs" / "reference" / "outbox-figures.md"
HISTORIES = int(os.environ.get("FAULTLESS_HISTORIES", "100000"))
CHUNK = 250
_NOTICE = "<!-- Written by `python -m bench outbox`; run that instead of editing. -->"


def main() -> None:
    started = time.monotonic()
    firsts = range(0, HISTORIES, CHUNK)
    sizes = [min(CHUNK, HISTORIES - first) for first in firsts]
    seen: Counter[str] = Counter()
    with ProcessPoolExecutor() as pool:
        for counted in pool.map(run_histories, firsts, sizes):
            seen += counted
    minutes = (time.monotonic() - started) / 60
    rows = [[name.replace("_", " "), f"{count:,}"] for name, count in sorted(seen.items())]
    text = table("What happened", ["what", "times"], rows)
    print(text)
    intro = (
        f"{seen['histories']:,} random histories (seeds 0 to {HISTORIES - 1:,}) of people, syncs, faults\n"
        f"and kills around an outbox, in {minutes:.0f} minutes; `tests/outbox/simulation.py` says what is\n"
        "real in them. After every step: one approval sent at most once, by move each content at most once,\n"
        "nothing left that was not written and approved, nothing lost. No promise was broken; a history is\n"
        "run again by its seed."
    )
    where = f"{datetime.now(UTC).date()}; {machine('faultless')}"
    PAGE.write_text(f"# Outbox: figures\n\n{_NOTICE}\n\n{intro}\n\n{where}\n\n{text}")


if __name__ == "__main__":
    main()
