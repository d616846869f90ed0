"""Time, bytes and tokens of one test and of click's whole suite, beside plain pytest, in one run."""

import subprocess
import sys
import time
from pathlib import Path

from bench.figures import interleave, medians, table
from bench.pytest import servers, suites
from bench.pytest.servers import Competitor, text_of
from bench.tokens import count_tokens
from faultless.kit.testing import WireClient

ROUNDS = 3
DEADLINE_SECONDS = 900
(CLICK,) = [suite for suite in suites.SUITES if suite.name == "click"]


def measure() -> str:
    root = suites.fetch(CLICK)
    rows = []
    for title, target in (("one test", CLICK.one), ("click's suite", CLICK.tests)):
        sizes: dict[str, tuple[int, int]] = {}
        clients = {competitor: _start(competitor, root) for competitor in servers.every()}
        try:
            runs = {"plain pytest": lambda target=target: _run_plain(root, target)}
            for competitor, client in clients.items():
                if competitor.selects or target == CLICK.tests:
                    runs[competitor.name] = _make_run(competitor, client, target, sizes)
            walls = medians(interleave(runs, ROUNDS))
        finally:
            for client in clients.values():
                client.__exit__(None, None, None)
        base = walls["plain pytest"]
        for name, wall in walls.items():
            size, tokens = sizes.get(name, (0, 0))
            rows.append([title, name, f"{wall:.2f} s", f"{wall / base:.2f}", f"{size:,}", f"{tokens:,}"])
    header = ["work", "server", "wall", "ratio", "bytes to the model", "tokens"]
    return table(f"Time and size (medians of {ROUNDS}, interleaved)", header, rows)


def _start(competitor: Competitor, root: Path) -> WireClient:
    env = servers.environment_for(competitor, root, {})
    client = WireClient(competitor.command(root), cwd=root, env=env, deadline_seconds=DEADLINE_SECONDS)
    return client.open("handshake")


def _make_run(competitor: Competitor, client: WireClient, target: str, sizes: dict[str, tuple[int, int]]):  # noqa: ANN202 - a closure
    def run() -> float:
        tool, arguments = competitor.ask([target], 600)
        started = time.perf_counter()
        response = client.call(tool, arguments)
        wall = time.perf_counter() - started
        text = text_of(response)
        sizes[competitor.name] = len(text.encode()), count_tokens(text)
        return wall

    return run


def _run_plain(root: Path, target: str) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "pytest", "-q", target], cwd=root, capture_output=True, check=False)
    return time.perf_counter() - started


def main() -> None:
    print(measure())
