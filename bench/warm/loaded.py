"""The same with every core busy, and how often a call finds its run begun, by the time between calls."""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from bench.figures import table
from bench.warm import ROUNDS, publish, tell_load
from bench.warm.projects import HEADER, Bench, Ours, Projects, rows_again

BUSY_ROUNDS = max(1, ROUNDS // 3)
GAPS = {0.2: 15, 1.0: 15, 5.0: 8}
"""Calls for each time between calls."""


@contextmanager
def load() -> Iterator[None]:
    """Every core busy with something else, in sessions that are neither ours nor a run's.

    Linux shares out processor time by session: together with ours, `python -m pytest` would get less of it
    than a run of the server, which has a session of its own.
    """
    command = [sys.executable, "-c", "while True: pass"]
    busy = [subprocess.Popen(command, start_new_session=True) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def row_gap(bench: Bench, name: str, gap: float) -> list[str]:
    shown = [f"{name}, calls {gap:g} s apart"]
    for is_loaded in (False, True):
        with load() if is_loaded else nullcontext(), bench.serve() as client:
            server = Ours(client)
            server.call()
            took = []
            for _ in range(GAPS[gap]):
                time.sleep(gap)
                took.append(server.call())
        shown += [server.share(GAPS[gap]), f"{statistics.median(took) * 1000:.0f} ms"]
    print(" · ".join(shown), file=sys.stderr, flush=True)
    return shown


def measure() -> str:
    outside, projects = tell_load(), Projects()
    with load():
        busy = table(
            f"Every core busy with something else ({BUSY_ROUNDS} rounds)",
            HEADER,
            rows_again(projects, BUSY_ROUNDS),
        )
    header = ["calls", "began early, idle", "median", "began early, every core busy", "median"]
    gaps = [
        row_gap(bench, name, gap)
        for name, bench in (("plain", projects.plain), ("Django", projects.django))
        for gap in GAPS
    ]
    return "\n".join([busy, outside, "", table("Calls that found their run begun", header, gaps)])


def main() -> None:
    publish("loaded", measure())
