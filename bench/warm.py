"""What a call of the pytest server takes beside `python -m pytest` in the same environment."""

import datetime as dt
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil

from bench.figures import interleave, machine, medians, table
from bench.peers import PEERS, environment
from bench.pytest import servers, suites
from bench.pytest.servers import Competitor
from faultless.kit.testing import WireClient

ROUNDS = 15
LONG_ROUNDS_UNDER_LOAD = 5
PEER_ROUNDS = 3
HEADER = ["work", "execute_tests", "python -m pytest", "ratio", "target"]
PAGE = Path(__file__).parent.parent / "docs" / "reference" / "pytest-speed.md"
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

HEAD = """# How fast the pytest server answers

<!-- Written by `python -m bench warm`; run that, do not edit this. -->

Medians of 15 interleaved runs against `python -m pytest -q` with the same selection in one environment,
output captured. {machine}, {cores} cores, {date}.

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


def warm(client: WireClient, tool: str, **arguments: object) -> None:
    """Until the parent knows what these tests import."""
    ends = time.monotonic() + 120
    settled = 0
    while settled < 3:
        answer = client.call(tool, arguments)
        settled = settled + 1 if answer["result"]["_meta"]["faultless/start"] == "warm" else 0
        if time.monotonic() > ends:
            raise TimeoutError(client.stderr()[-2000:])
        time.sleep(0.5)  # a new parent comes up beside us


def compare(
    title: str, target: str, ours: Callable[[], float], typed: Callable[[], float], rounds: int = ROUNDS
) -> list[str]:
    found = interleave({"ours": ours, "typed": typed}, rounds)
    mine, theirs = statistics.median(found["ours"]), statistics.median(found["typed"])
    print(f"  {title}: {mine / theirs:.3f}", file=sys.stderr)
    return [title, f"{mine * 1000:.0f} ms", f"{theirs * 1000:.0f} ms", f"{mine / theirs:.2f}", target]


def row_warm(
    title: str,
    target: str,
    bench: Bench,
    tool: str = "execute_tests",
    *typed: str,
    rounds: int = ROUNDS,
    **arguments: object,
) -> list[str]:
    with bench.serve() as client:
        warm(client, tool, **arguments)
        ours, theirs = lambda: call(client, tool, **arguments), lambda: bench.type_pytest("-q", *typed)
        return compare(title, target, ours, theirs, rounds)


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
        row_warm("one test, plain environment", "<= 0.28", projects.one),
        row_warm("one test, rich environment, Django imported", "<= 0.10", projects.django),
        row_warm("one test, rich environment, NumPy and pandas imported", "<= 0.10", projects.pandas),
        row_warm("a public suite (itsdangerous)", "<= 0.95", projects.public),
        row_warm("10,000 generated tests", "<= 1.03", many, rounds=long_rounds),
        row_warm("discover 10,000 tests", "<= 1.03", many, "discover_tests", "--collect-only"),
        row_cold_start(projects.one),
    ]


@contextmanager
def load() -> Iterator[None]:
    """Every core busy with something else."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def peer_rows(projects: Projects) -> list[list[str]]:
    """The same work by the others, each call against `python -m pytest` beside it."""
    works = {
        "one test, plain environment": projects.one,
        "one test, rich environment, Django imported": projects.django,
        "a public suite (itsdangerous)": projects.public,
        "10,000 generated tests": projects.many,
    }
    competitors = servers.every()
    found = [[title, *compare_peers(bench, competitors)] for title, bench in works.items()]
    return [["work", *(competitor.name for competitor in competitors)], *found]


def compare_peers(bench: Bench, competitors: Sequence[Competitor]) -> list[str]:
    with ExitStack() as stack:
        runs: dict[str, Callable[[], float]] = {"typed": lambda: bench.type_pytest("-q")}
        for competitor in competitors:
            path = {"PYTHONPATH": str(bench.root / "src")}
            serving = servers.serving(competitor, bench.root, bench.python, deadline_seconds=120, extra=path)
            run = ask(competitor, stack.enter_context(serving))
            if run is not None:
                runs[competitor.name] = run
        walls = medians(interleave(runs, PEER_ROUNDS))
    return [
        f"{walls[each.name] / walls['typed']:.2f}" if each.name in walls else "no verdict"
        for each in competitors
    ]


def ask(competitor: Competitor, client: WireClient) -> Callable[[], float] | None:
    """None for a server that does not call this green project green."""
    tool, arguments = competitor.ask(["."], 500)

    def run() -> float:
        started = time.perf_counter()
        client.call(tool, arguments)
        return time.perf_counter() - started

    try:
        return run if competitor.says_green(client.call(tool, arguments)) else None
    except (TimeoutError, EOFError):
        return None


def idle_memory(bench: Bench) -> str:
    with bench.serve() as client:
        warm(client, "execute_tests")
        parents = [
            child
            for child in psutil.Process(client.process.pid).children(recursive=True)
            if "faultless_warm" in " ".join(child.cmdline())
        ]
        sizes = [child.memory_full_info().pss / 2**20 for child in parents]
    return (
        f"The idle warm parent and its supervisors ({len(sizes)} processes) hold {sum(sizes):.0f} MiB (PSS)."
    )


def edits(bench: Bench, count: int = 50) -> str:
    """From a saved edit to the answer, which must be the one of the edit just made."""
    (bench.root / "product.py").write_text("VALUE = 0\n")
    took, wrong = [], 0
    with bench.serve() as client:
        warm(client, "execute_tests")
        for number in range(1, count + 1):
            (bench.root / "product.py").write_text(f"VALUE = {number}\nLINE = '{'x' * number}'\n")
            started = time.perf_counter()
            verdict = client.call("execute_tests")["result"]["structuredContent"]
            took.append(time.perf_counter() - started)
            wrong += verdict["summary"]["failed"] != number % 2
    return (
        f"{count} edits: median {statistics.median(took) * 1000:.0f} ms, worst {max(took) * 1000:.0f} ms "
        f"from edit to answer, {wrong} wrong answers."
    )


def idle(projects: Projects) -> str:
    found = table("A machine with nothing else to do", HEADER, rows(projects))
    return "\n".join([found, idle_memory(projects.django), "", edits(projects.edited), ""])


def loaded(projects: Projects) -> str:
    with load():
        found = rows(projects, LONG_ROUNDS_UNDER_LOAD)
    title = f"Every core busy with something else ({LONG_ROUNDS_UNDER_LOAD} rounds of 10,000 tests)"
    return table(title, HEADER, found)


def beside_peers(projects: Projects) -> str:
    header, *found = peer_rows(projects)
    return table(f"Times of a call as parts of `python -m pytest`'s ({PEER_ROUNDS} rounds)", header, found)


def main() -> None:
    projects, today = Projects(), dt.datetime.now(dt.UTC).date()
    text = HEAD.format(machine=machine("mcp"), cores=os.cpu_count(), date=today)
    for part in (idle, loaded, beside_peers):
        text += part(projects) + "\n"
        PAGE.write_text(text.rstrip() + "\n")
    print(text)


if __name__ == "__main__":
    main()
