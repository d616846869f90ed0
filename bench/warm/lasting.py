"""What waiting costs, 50 edits, and 300 calls of one server."""

import statistics
import time

import psutil

from bench.warm import publish, tell_load
from bench.warm.projects import Bench, Ours, Projects

WATCHED_SECONDS = 65.0  # a held run is begun again after 60
CALLS = 300
SETTLED = 50
MEBIBYTE = 2**20


def _list_tree(process_id: int) -> list[psutil.Process]:
    server = psutil.Process(process_id)
    return [server, *server.children(recursive=True)]


def _count_seconds(process_id: int) -> float:
    """Of the processor, by the server and all that it started and that is gone."""
    times = [process.cpu_times() for process in _list_tree(process_id)]
    return float(sum(each.user + each.system + each.children_user + each.children_system for each in times))


def idle_cost(bench: Bench, name: str) -> str:
    with bench.serve() as client:
        server = Ours(client)
        server.call()
        server.let_begin()
        held = [child for child in _list_tree(client.process.pid) if child.cmdline()[1:3] == ["-m", "pytest"]]
        size = sum(child.memory_full_info().pss for child in held) / MEBIBYTE
        before = _count_seconds(client.process.pid)
        time.sleep(WATCHED_SECONDS)
        used = _count_seconds(client.process.pid) - before
    return (
        f"- {name}: the run that is held ({len(held)} process) holds {size:.0f} MiB (PSS); with nobody "
        f"calling, the server and its runs used {used:.2f} s of processor time in {WATCHED_SECONDS:.0f} s, "
        "until `--idle-minutes` (10) end it."
    )


def edits(bench: Bench, count: int = 50) -> str:
    """From a saved edit to the answer, which must be the one of the edit just made."""
    took, wrong = [], 0
    with bench.serve() as client:
        server = Ours(client)
        server.call()
        for number in range(1, count + 1):
            server.let_begin()
            (bench.root / "product.py").write_text(f"VALUE = {-1 if number % 2 else 1}  # {'x' * number}\n")
            started = time.perf_counter()
            response = client.call("execute_tests")["result"]
            took.append(time.perf_counter() - started)
            server.ways.append(response["_meta"]["faultless/start"]["way"])
            wrong += response["structuredContent"]["summary"]["failed"] != number % 2
    (bench.root / "product.py").write_text("VALUE = 0\n")
    return (
        f"- {count} edits: median {statistics.median(took) * 1000:.0f} ms, worst {max(took) * 1000:.0f} ms "
        f"from edit to answer, {wrong} wrong answers, {server.share(count)} began early."
    )


def endurance(bench: Bench) -> str:
    with bench.serve() as client:
        server = Ours(client)
        sizes = []
        for number in range(1, CALLS + 1):
            server.call()
            server.let_begin()
            if number in {SETTLED, CALLS}:
                tree = _list_tree(client.process.pid)
                sizes.append((tree[0].memory_info().rss / MEBIBYTE, tree[0].num_fds(), len(tree)))
    (memory, files, processes), (memory_after, files_after, processes_after) = sizes
    return (
        f"- {CALLS} calls, {server.share(CALLS)} began early: the server held {memory:.1f} MiB, {files} "
        f"descriptors and {processes} processes after {SETTLED} calls, {memory_after:.1f} MiB, {files_after} "
        f"and {processes_after} at the end."
    )


def measure() -> str:
    load, projects = tell_load(), Projects()
    notes = [
        endurance(projects.plain),
        edits(projects.plain),
        idle_cost(projects.plain, "plain"),
        idle_cost(projects.django, "Django"),
    ]
    return "\n".join(["## In the long run", "", *notes, "", load, ""])


def main() -> None:
    publish("lasting", measure())
