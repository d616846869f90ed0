"""What our kit costs beside the bare SDK and fastmcp, and the same four-tool server written in both.

Writes docs/reference/kit-figures.md.
"""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from bench.figures import interleave, machine, medians, table
from bench.kit_inputs import BOOK, CASES, find_problems
from bench.peers import environment
from faultless.testing import WireClient

SERVERS = Path(__file__).with_name("servers")
PAGE = Path(__file__).parent.parent / "docs" / "reference" / "kit-figures.md"
CALLS = 400
STARTS = 11
ROUNDS = 9
HEAD = """\
# What the kit costs

Written by `python -m bench kit`: {machine}, {cores} cores, {date},
load average {load:.1f} at the start. On a machine with other work every figure is worse; the rounds of all
competitors are interleaved, so that it hits them alike.

The server for books has four tools on an SQLite database, written with the
[kit](../../bench/servers/books.py) and with [fastmcp](../../bench/servers/fast_books.py), as the users of
each write them: the same docstrings, the same types, the same formatter.

A bad input is answered right where the answer is declared as an error, names what is wrong, nothing was done,
and the server lives on.
"""


@dataclass(frozen=True)
class Contest:
    title: str
    commands: dict[str, list[str]]
    base: str
    """Whose figures the others' are divided by."""
    tool: str
    arguments: dict[str, Any]
    expected: dict[str, Any]
    prepare: tuple[tuple[str, dict[str, Any]], ...] = ()


def contests() -> list[Contest]:
    fastmcp = str(environment("fastmcp"))
    return [
        Contest(
            "books",
            {
                "faultless": [sys.executable, str(SERVERS / "books.py")],
                "fastmcp": [fastmcp, str(SERVERS / "fast_books.py")],
            },
            "fastmcp",
            "find_books",
            {"words": "Fault"},
            {"result": [BOOK]},
            (("add_book", BOOK),),
        ),
        Contest(
            "one trivial tool",
            {
                "faultless": [sys.executable, str(SERVERS / "ours.py")],
                "bare SDK": [sys.executable, str(SERVERS / "sdk.py")],
                "fastmcp": [fastmcp, str(SERVERS / "fast.py")],
            },
            "bare SDK",
            "add",
            {"a": 1, "b": 2},
            {"total": 3},
        ),
    ]


def start(contest: Contest, command: list[str]) -> tuple[float, float]:
    """Seconds from starting a server to its first answer, and those it had a processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    with WireClient(command) as client:
        client.open("handshake").call(contest.tool, contest.arguments)
        wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare_starts(contest: Contest) -> tuple[dict[str, float], dict[str, float]]:
    processor: dict[str, list[float]] = {name: [] for name in contest.commands}

    def measured(name: str) -> Callable[[], float]:
        def run() -> float:
            wall, used = start(contest, contest.commands[name])
            processor[name].append(used)
            return wall

        return run

    walls = interleave({name: measured(name) for name in contest.commands}, STARTS)
    return medians(walls), medians(processor)


def with_callers(contest: Contest, client: WireClient, callers: int) -> float:
    """Seconds a call with that many in flight; the last answer frees the next caller."""
    asked = {"name": contest.tool, "arguments": contest.arguments}
    started = time.perf_counter()
    sent = min(callers, CALLS)
    for _ in range(sent):
        client.start("tools/call", asked)
    for _ in range(CALLS):
        answer = client.receive()
        if answer["result"]["structuredContent"] != contest.expected:
            raise ValueError(f"wrong answer: {answer}")
        if sent < CALLS:
            client.start("tools/call", asked)
            sent += 1
    return (time.perf_counter() - started) / CALLS


def processor_seconds(contest: Contest, client: WireClient) -> float:
    """What a call takes of a processor in the server, which other work on the machine changes little."""
    before = psutil.Process(client.process.pid).cpu_times()
    with_callers(contest, client, 1)
    after = psutil.Process(client.process.pid).cpu_times()
    return (after.user + after.system - before.user - before.system) / CALLS


def peak_memory_mib(client: WireClient) -> float:
    status = Path(f"/proc/{client.process.pid}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def _show(figure: float) -> str:
    return f"{figure:.0f}" if figure >= 100 else f"{figure:.3g}"


def measure(contest: Contest) -> str:
    def row(name: str, figures: dict[str, float], unit: float, suffix: str) -> list[str]:
        base = figures[contest.base]
        return [
            name,
            *(f"{_show(figure * unit)} {suffix} ({figure / base:.2f})" for figure in figures.values()),
        ]

    walls, processor = compare_starts(contest)
    rows = [
        row("start to first answer", walls, 1e3, "ms"),
        row("the same, processor time", processor, 1e3, "ms"),
    ]
    with ExitStack() as stack:
        clients = {
            name: stack.enter_context(WireClient(command)).open("handshake")
            for name, command in contest.commands.items()
        }
        for client in clients.values():
            for tool, arguments in contest.prepare:
                client.call(tool, arguments)
        for title, callers in {"1 caller": 1, "16 callers": 16, f"{CALLS} pipelined": CALLS}.items():
            turns = {
                name: lambda it=it, count=callers: with_callers(contest, it, count)
                for name, it in clients.items()
            }
            rows.append(row(f"call, {title}", medians(interleave(turns, ROUNDS)), 1e3, "ms"))
        turns = {name: lambda it=it: processor_seconds(contest, it) for name, it in clients.items()}
        rows.append(row("call, processor time", medians(interleave(turns, ROUNDS)), 1e3, "ms"))
        memory = {name: peak_memory_mib(it) for name, it in clients.items()}
        rows.append(row("peak memory", memory, 1, "MiB"))
    heading = f"{contest.title}: medians, and the ratio to {contest.base}"
    return table(heading, ["", *contest.commands], rows)


def count_lines(path: Path) -> int:
    """Of a file that the formatter leaves as it is."""
    ruff = Path(sys.executable).with_name("ruff")
    subprocess.run([ruff, "format", "--check", "--quiet", path], check=True)
    return len(path.read_text().splitlines())


def compare_books(contest: Contest) -> str:
    problems = {name: find_problems(command) for name, command in contest.commands.items()}
    rows = [
        ["lines", *(str(count_lines(Path(command[-1]))) for command in contest.commands.values())],
        [
            "bad inputs answered right",
            *(f"{len(CASES) - len(found)} of {len(CASES)}" for found in problems.values()),
        ],
    ]
    wrong = [f"- {name}: {problem}" for name, found in problems.items() for problem in found]
    return "\n".join(
        [table("books: lines and bad inputs", ["", *contest.commands], rows), "Not right:", "", *wrong, ""]
    )


def main() -> None:
    head = HEAD.format(
        machine=machine("mcp"),
        cores=os.cpu_count(),
        date=datetime.now(tz=UTC).date().isoformat(),
        load=os.getloadavg()[0],
    )
    books, trivial = contests()
    text = "\n".join([head, compare_books(books), measure(books), measure(trivial)])
    print(text)
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
