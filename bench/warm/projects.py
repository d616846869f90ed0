"""The projects under test, and a call of the server beside `python -m pytest` in each."""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.figures import interleave
from bench.peers import PEERS, environment
from bench.pytest import suites
from faultless.testing import WireClient

ROUNDS = 15
PAUSE_SECONDS = 2.0  # between calls: an agent reads the answer before it calls again
HEADER = ["work", "execute_tests", "python -m pytest", "ratio", "target"]
ONE = "def test_one():\n    assert 1 + 1 == 2\n"
EDITED = "from product import VALUE\n\n\ndef test_it():\n    assert VALUE % 2 == 0\n"
DJANGO = "import django.db.models, django.forms, django.test, hypothesis\n\n\n" + ONE
PANDAS = "import numpy, pandas, hypothesis\n\n\n" + ONE
MANY = """
import pytest

@pytest.mark.parametrize("number", range({count}))
def test_number(number):
    assert number >= 0
"""


class Bench:
    """One project, its interpreter and a server on it."""

    def __init__(
        self, name: str, python: Path, files: dict[str, str] | None = None, root: Path | None = None
    ) -> None:
        self.root = root or PEERS / "projects" / name
        self.python = python
        own = {"pytest.ini": "[pytest]\n"}  # else the repository around .bench would be pytest's root
        for path, text in ({**own, **files} if files else {}).items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)

    @contextmanager
    def serve(self, *options: str) -> Iterator[WireClient]:
        command = [sys.executable, "-P", "-m", "faultless", "serve", "pytest", "--root", str(self.root)]
        command += ["--python", str(self.python), *options]
        with WireClient(command, env=self.env(), deadline_seconds=600) as client:
            yield client.open("handshake")

    def type_pytest(self, *arguments: str) -> float:
        started = time.perf_counter()
        command = [self.python, "-m", "pytest", *arguments]
        finished = subprocess.run(command, cwd=self.root, capture_output=True, check=False, env=self.env())
        if finished.returncode != 0:
            raise RuntimeError(finished.stdout.decode()[-2000:])
        return time.perf_counter() - started

    def env(self) -> dict[str, str]:
        return {
            **os.environ,
            "VIRTUAL_ENV": str(self.python.parent.parent),
            "PYTHONPATH": str(self.root / "src"),
        }


def call(client: WireClient, tool: str, **arguments: object) -> float:
    started = time.perf_counter()
    answer = client.call(tool, arguments)
    took = time.perf_counter() - started
    verdict: dict[str, Any] = answer["result"]["structuredContent"]
    if verdict.get("exit_code", 0) != 0 or verdict["collection_errors"]:
        raise RuntimeError(str(verdict)[:2000])
    return took


def begin_early(client: WireClient, arguments: dict[str, object]) -> None:
    """Until the run of this selection had begun before, and the next one has had time to begin."""
    ends = time.monotonic() + 120
    while client.call("execute_tests", arguments)["result"]["_meta"]["faultless/start"]["way"] != "early":
        if time.monotonic() > ends:
            raise TimeoutError(client.stderr()[-2000:])
        time.sleep(PAUSE_SECONDS)
    time.sleep(PAUSE_SECONDS)


def compare(
    title: str, target: str, ours: Callable[[], float], typed: Callable[[], float], rounds: int = ROUNDS
) -> list[str]:
    found = interleave({"ours": ours, "typed": typed}, rounds)
    mine, theirs = statistics.median(found["ours"]), statistics.median(found["typed"])
    print(f"  {title}: {mine / theirs:.3f}", file=sys.stderr)
    return [title, f"{mine * 1000:.0f} ms", f"{theirs * 1000:.0f} ms", f"{mine / theirs:.2f}", target]


def row_early(title: str, target: str, bench: Bench, rounds: int = ROUNDS, **arguments: object) -> list[str]:
    """The same selection again and again, with time between."""
    with bench.serve() as client:
        begin_early(client, arguments)

        def ours() -> float:
            time.sleep(PAUSE_SECONDS)
            return call(client, "execute_tests", **arguments)

        return compare(title, target, ours, lambda: bench.type_pytest("-q"), rounds)


def row_discovery(title: str, target: str, bench: Bench) -> list[str]:
    with bench.serve() as client:
        ours, theirs = (
            lambda: call(client, "discover_tests"),
            lambda: bench.type_pytest("-q", "--collect-only"),
        )
        return compare(title, target, ours, theirs)


def row_cold_start(bench: Bench) -> list[str]:
    """Every first call on a server that has just been started, its start not counted."""

    def first_call() -> float:
        with bench.serve() as client:
            return call(client, "execute_tests")

    return compare("first call, cold", "<= 1.15", first_call, lambda: bench.type_pytest("-q"))


class Projects:
    def __init__(self) -> None:
        plain = environment("plain", "requirements/bench-plain.txt")
        rich = environment("rich", "requirements/bench-rich.txt")
        self.one = Bench("one", plain, {"test_one.py": ONE})
        self.django = Bench("django", rich, {"test_one.py": DJANGO})
        self.pandas = Bench("pandas", rich, {"test_one.py": PANDAS})
        self.public = Bench("public", suites.python(), root=suites.fetch(suites.ITSDANGEROUS))
        self.many = Bench("many", plain, {f"test_{part}.py": MANY.format(count=1000) for part in range(10)})
        self.edited = Bench("edits", plain, {"test_edit.py": EDITED})


def rows(projects: Projects, long_rounds: int = ROUNDS) -> list[list[str]]:
    many = projects.many
    return [
        row_early("one test, plain environment", "<= 0.10", projects.one),
        row_early("one test, rich environment, Django imported", "<= 0.20", projects.django),
        row_early("one test, rich environment, NumPy and pandas imported", "<= 0.20", projects.pandas),
        row_early("a public suite (itsdangerous)", "<= 0.95", projects.public),
        row_early("10,000 generated tests", "<= 1.03", many, long_rounds),
        row_discovery("discover 10,000 tests", "<= 1.03", many),
        row_cold_start(projects.one),
    ]
