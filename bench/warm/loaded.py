"""The same with every core busy."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from bench.figures import table
from bench.warm import publish
from bench.warm.projects import HEADER, Projects, rows

LONG_ROUNDS = 5


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


def measure() -> str:
    with load():
        found = rows(Projects(), LONG_ROUNDS)
    title = f"Every core busy with something else ({LONG_ROUNDS} rounds of 10,000 tests)"
    return table(title, HEADER, found)


def main() -> None:
    publish("loaded", measure())
