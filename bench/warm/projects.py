"""The projects under test, and a call of the server beside `python -m pytest` in each."""

import os
import shutil
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
from bench.warm import ROUNDS
from faultless.testing import WireClient

LONG_ROUNDS = max(1, ROUNDS // 5)
PAUSE_SECONDS = 2.0
HELD = "a run has begun early and is held"
HEADER = ["work", "execute_tests", "python -m pytest", "ratio", "target", "began early"]
TESTS = (
    "from product import VALUE\n\n\ndef test_one():\n    assert VALUE >= 0\n\n\ndef test_two():\n    pass\n"
)
PRODUCT = "VALUE = 0\n"
DJANGO = "import django.db.models, django.forms, django.test, hypothesis\n"
PANDAS = "import numpy, pandas, hypothesis\n"
MANY = """
import pytest

@pytest.mark.parametrize("number", range({count}))
def test_number(number):
    assert number >= 0
"""


class Bench:
    """One project, its interpreter and a server on it; what is typed runs in a copy: neither disturbs."""

    def __init__(
        self, name: str, python: Path, files: dict[str, str] | None = None, root: Path | None = None
    ) -> None:
        self.root = root or PEERS / "projects" / name
        self.twin = PEERS / "projects" / f"{name}-typed"
        self.python = python
        own = {"pytest.ini": "[pytest]\n"}  # else the repository around .bench would be pytest's root
        for path, text in ({**own, **files} if files else {}).items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)
        shutil.rmtree(self.twin, ignore_errors=True)
        shutil.copytree(self.root, self.twin, symlinks=True)

    @contextmanager
    def serve(self, *options: str) -> Iterator[WireClient]:
        command = [sys.executable, "-P", "-m", "faultless", "serve", "pytest", "--root", str(self.root)]
        command += ["--python", str(self.python), *options]
        with WireClient(command, env=self.env(self.root), deadline_seconds=600) as client:
            yield client.open("handshake")

    def type_pytest(self, *arguments: str) -> float:
        started = time.perf_counter()
        finished = subprocess.run(
            [self.python, "-m", "pytest", "-q", *arguments],
            cwd=self.twin,
            capture_output=True,
            check=False,
            env=self.env(self.twin),
        )
        took = time.perf_counter() - started
        if finished.returncode != 0:
            raise RuntimeError(finished.stdout.decode()[-2000:])
        return took

    def edit(self, path: str, number: int) -> None:
        """The same edit for both."""
        for root in (self.root, self.twin):
            text = (root / path).read_text().partition("# edit")[0]
            (root / path).write_text(f"{text}# edit {'x' * number}\n")

    def env(self, root: Path) -> dict[str, str]:
        virtual = {"VIRTUAL_ENV": str(self.python.parent.parent), "PYTHONPATH": str(root / "src")}
        return {**os.environ, **virtual}


class Ours:
    """Calls of one server: their times, and how each of them started."""

    def __init__(self, client: WireClient) -> None:
        self.client = client
        self.ways: list[str] = []

    def call(self, tool: str = "execute_tests", **arguments: object) -> float:
        started = time.perf_counter()
        response = self.client.call(tool, arguments)
        took = time.perf_counter() - started
        if "error" in response:
            raise RuntimeError(str(response["error"])[:2000])
        verdict: dict[str, Any] = response["result"]["structuredContent"]
        if verdict.get("exit_code", 0) != 0 or verdict["collection_errors"]:
            raise RuntimeError(str(verdict)[:2000])
        start = response["result"]["_meta"].get("faultless/start")
        self.ways.append(start["way"] if start else "")
        return took

    def let_begin(self) -> None:
        """Until the next run is held."""
        ends = time.monotonic() + 120
        while not self._has_begun():
            if time.monotonic() > ends:
                raise TimeoutError(self.client.stderr()[-2000:])
            time.sleep(0.02)

    def _has_begun(self) -> bool:
        """The server's log has said so since its last answer."""
        lines = self.client.stderr()[-20_000:].splitlines()
        answered = [number for number, line in enumerate(lines) if '"tool":"execute_tests"' in line]
        return any(HELD in line for line in lines[answered[-1] :])

    def share(self, last: int) -> str:
        ways = self.ways[-last:]
        return f"{sum(way == 'early' for way in ways)} of {len(ways)}"


def compare(
    title: str,
    target: str,
    ours: Callable[[], float],
    typed: Callable[[], float],
    *,
    rounds: int,
    share: Callable[[int], str],
) -> list[str]:
    found = interleave({"ours": ours, "typed": typed}, rounds)
    mine, theirs = statistics.median(found["ours"]), statistics.median(found["typed"])
    print(f"  {title}: {mine / theirs:.3f}, {share(rounds)}", file=sys.stderr, flush=True)
    times = [f"{mine * 1000:.0f} ms", f"{theirs * 1000:.0f} ms", f"{mine / theirs:.2f}"]
    return [title, *times, target, share(rounds)]


def row_again(title: str, target: str, bench: Bench, rounds: int = ROUNDS, **edits: str) -> list[str]:
    """The same selection again and again, each call when its run is held; perhaps after an edit."""
    with bench.serve() as client:
        server = Ours(client)
        server.call()
        server.let_begin()
        numbers = iter(range(1, 1000))

        def ours() -> float:
            server.let_begin()
            if "edited" in edits:
                bench.edit(edits["edited"], next(numbers))
            return server.call()

        for _ in range(2):
            ours()  # from the second edit on it is known what is edited
        return compare(title, target, ours, bench.type_pytest, rounds=rounds, share=server.share)


def row_selections(title: str, target: str, bench: Bench, *, is_new: bool, rounds: int) -> list[str]:
    """Two selections in turn, or one that has never been run before in every call."""
    ids = ["test_it.py::test_one", "test_it.py::test_two"]
    with bench.serve() as client:
        server, numbers = Ours(client), iter(range(1000))

        def select() -> dict[str, object]:
            number = next(numbers)
            return {"keywords": f"one and not n{number}"} if is_new else {"node_ids": [ids[number % 2]]}

        def ours() -> float:
            time.sleep(PAUSE_SECONDS)
            return server.call(**select())

        for _ in range(4):
            ours()
        return compare(
            title, target, ours, lambda: bench.type_pytest(ids[0]), rounds=rounds, share=server.share
        )


def row_discovery(title: str, target: str, bench: Bench, rounds: int) -> list[str]:
    with bench.serve() as client:
        server = Ours(client)
        return compare(
            title,
            target,
            lambda: server.call("discover_tests"),
            lambda: bench.type_pytest("--collect-only"),
            rounds=rounds,
            share=lambda _last: "-",
        )


def row_first_call(bench: Bench) -> list[str]:
    """Every first call on a server that has just been started, its start not counted."""

    def first_call() -> float:
        with bench.serve() as client:
            return Ours(client).call()

    return compare(
        "first call", "<= 1.15", first_call, bench.type_pytest, rounds=ROUNDS, share=lambda _last: "-"
    )


class Projects:
    def __init__(self) -> None:
        plain = environment("plain", "requirements/bench-plain.txt")
        rich = environment("rich", "requirements/bench-rich.txt")
        self.plain = Bench("plain", plain, {"test_it.py": TESTS, "product.py": PRODUCT})
        self.django = Bench("django", rich, {"test_it.py": DJANGO + TESTS, "product.py": PRODUCT})
        self.pandas = Bench("pandas", rich, {"test_it.py": PANDAS + TESTS, "product.py": PRODUCT})
        suite = suites.ITSDANGEROUS
        self.public = Bench("public", suite.python, root=suites.fetch(suite))
        self.many = Bench("many", plain, {f"test_{part}.py": MANY.format(count=1000) for part in range(10)})

    @property
    def small(self) -> dict[str, tuple[Bench, str]]:
        """With the target for the same test again: some plugins work at the end of every run."""
        return {
            "plain": (self.plain, "<= 0.10"),
            "Django": (self.django, "<= 0.20"),
            "NumPy and pandas": (self.pandas, "<= 0.20"),
        }


def rows_again(projects: Projects, rounds: int = ROUNDS) -> list[list[str]]:
    """Nothing edited, a source module edited, the test file edited."""
    found = []
    for title, edits, other_target in (
        ("the same tests again", {}, None),
        ("a source module edited", {"edited": "product.py"}, None),
        ("the test file edited", {"edited": "test_it.py"}, "<= 0.55"),
    ):
        for name, (bench, target) in projects.small.items():
            found.append(row_again(f"{title}, {name}", other_target or target, bench, rounds, **edits))
    return found


def rows_others(projects: Projects) -> list[list[str]]:
    return [
        row_selections(
            "another of the last two selections", "<= 0.90", projects.plain, is_new=False, rounds=ROUNDS
        ),
        row_selections("a selection never run before", "<= 0.90", projects.plain, is_new=True, rounds=ROUNDS),
        row_again("a public suite (itsdangerous)", "<= 0.95", projects.public),
        row_again("10,000 generated tests", "<= 1.03", projects.many, LONG_ROUNDS),
        row_discovery("discover 10,000 tests", "<= 1.03", projects.many, LONG_ROUNDS),
        row_first_call(projects.plain),
    ]
