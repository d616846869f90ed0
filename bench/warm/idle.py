"""On a machine with nothing else to do; and what a parent holds, and 50 edits."""

import statistics
import time

import psutil

from bench.figures import table
from bench.warm import publish
from bench.warm.projects import HEADER, Bench, Projects, rows, warm


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


def measure() -> str:
    projects = Projects()
    found = table("A machine with nothing else to do", HEADER, rows(projects))
    return "\n".join([found, idle_memory(projects.django), "", edits(projects.edited), ""])


def main() -> None:
    publish("idle", measure())
