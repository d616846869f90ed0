"""The toolbox beside a fastmcp server with the same tools, and beside the bare spawn of the same script.

mcbox, mcp-server-bash-sdk and MCPShell are in no package registry and need a network to be had; where
MCBOX_SERVER names an mcbox executable, it takes part.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.figures import interleave, machine, medians, table
from bench.peers import environment
from faultless.kit.testing import WireClient

HERE = Path(__file__).parent
TOOLS = HERE / "toolbox_tools"
ROUNDS = 15
CALLS = 30
CALLERS = 16
NAPS = 64
ABSENT = "-"
WHO = {"who": "you"}


def commands(root: Path) -> dict[str, list[str]]:
    ours = [sys.executable, "-P", "-m", "faultless", "serve", "toolbox", str(TOOLS), "--root", str(root)]
    found = {
        "faultless": ours,
        "fastmcp": [str(environment("fastmcp")), str(HERE / "servers" / "fast_toolbox.py")],
    }
    if "MCBOX_SERVER" in os.environ:
        found["mcbox"] = [os.environ["MCBOX_SERVER"]]
    return found


def spawn_seconds() -> float:
    """The same script without any server."""
    started = time.perf_counter()
    for _ in range(CALLS):
        subprocess.run([TOOLS / "sh_hello"], env={"ARG_WHO": "you"}, capture_output=True, check=True)
    return (time.perf_counter() - started) / CALLS


def call_seconds(client: WireClient, tool: str, arguments: dict[str, Any]) -> float:
    started = time.perf_counter()
    for _ in range(CALLS):
        answer = client.call(tool, arguments)
        if answer.get("result", {}).get("isError", True):
            raise ValueError(f"{tool} failed: {answer}")
    return (time.perf_counter() - started) / CALLS


def calls_a_second(client: WireClient, tool: str, arguments: dict[str, Any], calls: int) -> float:
    started = time.perf_counter()
    sent = 0
    for _ in range(CALLERS):
        client.start("tools/call", {"name": tool, "arguments": arguments})
        sent += 1
    for _ in range(calls):
        client.receive()
        if sent < calls:
            client.start("tools/call", {"name": tool, "arguments": arguments})
            sent += 1
    return calls / (time.perf_counter() - started)


def answer_seconds(client: WireClient, tool: str, arguments: dict[str, Any]) -> float:
    started = time.perf_counter()
    client.call(tool, arguments)
    return time.perf_counter() - started


def rows(clients: dict[str, WireClient]) -> Iterator[list[str]]:
    def measured(
        tool: str, peers: dict[str, WireClient], figure: Callable[[WireClient], float], rounds: int
    ) -> dict[str, float]:
        del tool
        return medians(interleave({name: lambda it=it: figure(it) for name, it in peers.items()}, rounds))

    spawns: dict[str, Callable[[], float]] = {
        name: lambda it=it: call_seconds(it, "sh_hello", WHO)
        for name, it in clients.items()
        if name != "mcbox"
    }
    script = medians(interleave(spawns | {"bare": spawn_seconds}, ROUNDS))
    bare = script.pop("bare")
    yield show(
        "script, ms (bare spawn " + f"{bare * 1e3:.2f})",
        script,
        clients,
        lambda it: f"{it * 1e3:.2f} ({it / bare:.2f})",
    )
    bash = {name: it for name, it in clients.items() if name != "fastmcp"}
    for title, tool, peers in (
        ("bash function, ms", "bash_hello", bash),
        ("Python function, ms", "py_hello", {name: it for name, it in clients.items() if name != "mcbox"}),
    ):
        found = measured(tool, peers, lambda it, tool=tool: call_seconds(it, tool, WHO), ROUNDS)
        yield show(title, found, clients, lambda it: f"{it * 1e3:.2f}")
    others = {name: it for name, it in clients.items() if name != "mcbox"}
    for title, tool, arguments, calls in (
        ("script, 16 callers, calls/s", "sh_hello", WHO, 200),
        ("Python function, 16 callers, calls/s", "py_hello", WHO, 400),
        ("200 ms tool, 16 callers, calls/s (ideal 80)", "nap", {}, NAPS),
    ):
        found = measured(
            tool, others, lambda it, t=tool, a=arguments, c=calls: calls_a_second(it, t, a, c), 5
        )
        yield show(title, found, clients, lambda it: f"{it:.1f}")
    megabyte = {"text": "x" * 1_000_000}
    found = measured("size", others, lambda it: answer_seconds(it, "size", megabyte), 7)
    yield show("1 MB argument, ms", found, clients, lambda it: f"{it * 1e3:.1f}")
    yield ["1 s time-out, stuck grandchild, s", *(time_out(name, it) for name, it in clients.items())]


def time_out(name: str, client: WireClient) -> str:
    if name == "mcbox":
        return ABSENT
    client.deadline_seconds = 20
    try:
        return f"{answer_seconds(client, 'stuck', {}):.2f}"
    except TimeoutError:
        return "more than 20"


def show(
    title: str, found: dict[str, float], clients: dict[str, WireClient], write: Callable[[float], str]
) -> list[str]:
    return [title, *(write(found[name]) if name in found else ABSENT for name in clients)]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        root = Path(folder)
        clients = {
            name: stack.enter_context(WireClient(command, cwd=root)).open("handshake")
            for name, command in commands(root).items()
        }
        for client in clients.values():
            client.request("tools/list")
        printed = list(rows(clients))
    print(machine("mcp"))
    print(table("toolbox: medians", ["", *clients], printed))
    if "mcbox" not in clients:
        print("mcbox and mcp-server-bash-sdk: in no package registry; not measured in this run\n")


if __name__ == "__main__":
    main()
