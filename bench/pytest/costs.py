"""Time, bytes and tokens of one test and of click's whole suite, beside plain pytest, in one run."""

import os
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from bench.figures import interleave, medians, table
from bench.pytest import publish, servers, suites
from bench.pytest.servers import Competitor, text_of
from bench.tokens import count_tokens
from faultless.testing import WireClient

DEADLINE_SECONDS = 900
QUIET = {"PYTEST_ADDOPTS": "-o asyncio_default_fixture_loop_scope=function"}
"""A peer brings pytest-asyncio, which warns without it; click's configuration makes that an error."""
(CLICK,) = [suite for suite in suites.SUITES if suite.name == "click"]


def measure() -> str:
    """All of them run the tests in one environment, which has what each of them needs."""
    root, python = suites.fetch(CLICK), servers.tools_py().home
    rows = []
    for title, target, rounds in (("one test", CLICK.one, 15), ("click's suite", CLICK.tests, 5)):
        sizes: dict[str, tuple[int, int]] = {}
        with ExitStack() as stack:
            runs: dict[str, Callable[[], float]] = {"plain pytest": _make_plain(python, root, target)}
            for competitor in servers.every():
                if competitor.selects or target == CLICK.tests:
                    client = stack.enter_context(
                        servers.serving(
                            competitor, root, python, deadline_seconds=DEADLINE_SECONDS, extra=QUIET
                        )
                    )
                    runs[competitor.name] = _make_run(competitor, client, target, sizes)
            walls = medians(interleave(runs, rounds))
        base = walls["plain pytest"]
        for name, wall in walls.items():
            size, tokens = sizes.get(name, (0, 0))
            rows.append([title, name, f"{wall:.2f} s", f"{wall / base:.2f}", f"{size:,}", f"{tokens:,}"])
    header = ["work", "server", "wall", "ratio", "bytes to the model", "tokens"]
    return table("Time and size (medians of 15 and of 5, interleaved)", header, rows)


def _make_run(
    competitor: Competitor, client: WireClient, target: str, sizes: dict[str, tuple[int, int]]
) -> Callable[[], float]:
    def run() -> float:
        tool, arguments = competitor.ask([target], 600)
        started = time.perf_counter()
        response = client.call(tool, arguments)
        wall = time.perf_counter() - started
        text = text_of(response)
        if not competitor.says_green(response):
            raise ValueError(f"{competitor.name} did not run {target}: {text[:2000]}")
        sizes[competitor.name] = len(text.encode()), count_tokens(text)
        return wall

    return run


def _make_plain(python: Path, root: Path, target: str) -> Callable[[], float]:
    command = [python, "-m", "pytest", "-q", target]

    def run() -> float:
        started = time.perf_counter()
        subprocess.run(command, cwd=root, env={**os.environ, **QUIET}, capture_output=True, check=True)
        return time.perf_counter() - started

    return run


def main() -> None:
    publish("costs", measure())
