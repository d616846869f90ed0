"""What our kit costs beside the bare SDK and fastmcp: start, calls, memory."""

import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bench.figures import interleave, machine, medians, table
from bench.peers import environment
from faultless.testing import WireClient

SERVERS = Path(__file__).with_name("servers")
CALLS = 400
STARTS = 11
ROUNDS = 9
ARGUMENTS = {"name": "add", "arguments": {"a": 1, "b": 2}}


def commands() -> dict[str, list[str]]:
    return {
        "faultless": [sys.executable, str(SERVERS / "ours.py")],
        "bare SDK": [sys.executable, str(SERVERS / "sdk.py")],
        "fastmcp": [str(environment("fastmcp")), str(SERVERS / "fast.py")],
    }


def start_wall(command: list[str]) -> float:
    started = time.perf_counter()
    with WireClient(command) as client:
        client.open("handshake").call("add", {"a": 1, "b": 2})
        return time.perf_counter() - started


def start_cpu(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start_wall(command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def with_callers(client: WireClient, callers: int) -> float:
    """Seconds a call with that many in flight; the last answer frees the next caller."""
    started = time.perf_counter()
    sent = min(callers, CALLS)
    for _ in range(sent):
        client.start("tools/call", ARGUMENTS)
    for _ in range(CALLS):
        answer = client.receive()
        if answer["result"]["structuredContent"] != {"total": 3}:
            raise ValueError(f"wrong answer: {answer}")
        if sent < CALLS:
            client.start("tools/call", ARGUMENTS)
            sent += 1
    return (time.perf_counter() - started) / CALLS


def peak_memory_mib(client: WireClient) -> float:
    status = Path(f"/proc/{client.process.pid}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def row(name: str, figures: dict[str, float], unit: float, suffix: str) -> list[str]:
    base = figures["bare SDK"]
    return [name, *(f"{figure * unit:.3g} {suffix} ({figure / base:.2f})" for figure in figures.values())]


def call_rows(clients: dict[str, WireClient]) -> list[list[str]]:
    shapes = {"call, 1 caller": 1, "call, 16 callers": 16, f"call, {CALLS} pipelined": CALLS}

    def measured(client: WireClient, callers: int) -> Callable[[], float]:
        return lambda: with_callers(client, callers)

    return [
        row(
            title,
            medians(interleave({name: measured(it, callers) for name, it in clients.items()}, ROUNDS)),
            1e3,
            "ms",
        )
        for title, callers in shapes.items()
    ]


def main() -> None:
    found = commands()
    walls = interleave(
        {name: lambda command=command: start_wall(command) for name, command in found.items()}, STARTS
    )
    cpus = interleave(
        {name: lambda command=command: start_cpu(command) for name, command in found.items()}, STARTS
    )
    rows = [
        row("start to first answer", medians(walls), 1e3, "ms"),
        row("the same, CPU", medians(cpus), 1e3, "ms"),
    ]
    clients = {name: WireClient(command).open("handshake") for name, command in found.items()}
    try:
        rows += call_rows(clients)
        rows.append(row("peak memory", {name: peak_memory_mib(it) for name, it in clients.items()}, 1, "MiB"))
    finally:
        for client in clients.values():
            client.__exit__(None, None, None)
    print(machine("mcp"))
    print(table("kit: medians, and the ratio to the bare SDK", ["", *found], rows))


if __name__ == "__main__":
    main()
