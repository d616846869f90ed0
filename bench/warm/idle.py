"""On a machine with nothing else to do; and what a held run holds, and 50 edits."""

import statistics
import time

import psutil

from bench.figures import table
from bench.warm import publish
from bench.warm.projects import HEADER, Bench, Projects, begin_early, rows


def idle_memory(bench: Bench) -> str:
    with bench.serve() as client:
        begin_early(client, {})
        held = [
            child
            for child in psutil.Process(client.process.pid).children(recursive=True)
            if child.cmdline()[1:3] == ["-m", "pytest"]
        ]
        sizes = [child.memory_full_info().pss / 2**20 for child in held]
    return f"The run that is held ({len(sizes)} process) holds {sum(sizes):.0f} MiB (PSS)."


def edits(bench: Bench, count: int = 50) -> str:
    """From a saved edit to the answer, which must be the one of the edit just made."""
    (bench.root / "product.py").write_text("VALUE = 0\n")
    took, wrong = [], 0
    with bench.serve() as client:
        begin_early(client, {})
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


def measure() -> str:
    projects = Projects()
    found = table("A machine with nothing else to do", HEADER, rows(projects))
    return "\n".join([found, idle_memory(projects.django), "", edits(projects.edited), ""])


def main() -> None:
    publish("idle", measure())
