"""The toolbox beside a fastmcp server with the same tools, and beside the bare spawn of the same script.

mcbox, mcp-server-bash-sdk and MCPShell are in no package registry and need a network to be had; where
MCBOX_SERVER names an mcbox executable, it takes part.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.figures import interleave, machine, table
from bench.peers import environment
from faultless.kit.testing import WireClient
from tests.servers.toolbox import conftest
from tests.servers.toolbox.cases import CASES
from tests.servers.toolbox.test_bad_inputs import complaints

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


Figure = Callable[[WireClient], float]


@dataclass(frozen=True)
class Row:
    title: str
    figure: Figure
    write: Callable[[float], str]
    rounds: int
    without: frozenset[str] = frozenset()
    highest: bool = False

    def fill(self, clients: dict[str, WireClient]) -> list[str]:
        """The best of the rounds: other people's load only ever makes a figure worse."""
        peers = {name: it for name, it in clients.items() if name not in self.without}
        found = interleave({name: lambda it=it: self.figure(it) for name, it in peers.items()}, self.rounds)
        best = max if self.highest else min
        shown = {name: self.write(best(figures)) for name, figures in found.items()}
        return [self.title, *(shown.get(name, ABSENT) for name in clients)]


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.2f}"


def latency(title: str, tool: str, *without: str) -> Row:
    return Row(title, lambda it: call_seconds(it, tool, WHO), milliseconds, ROUNDS, frozenset(without))


def throughput(title: str, tool: str, arguments: dict[str, Any], calls: int) -> Row:
    def figure(client: WireClient) -> float:
        return calls_a_second(client, tool, arguments, calls)

    return Row(title, figure, lambda it: f"{it:.1f}", 5, frozenset({"mcbox"}), highest=True)


def script_row(clients: dict[str, WireClient]) -> list[str]:
    """Interleaved with the bare spawn, whose ratio is shown."""
    peers: dict[str, Callable[[], float]] = {
        name: lambda it=it: call_seconds(it, "sh_hello", WHO)
        for name, it in clients.items()
        if name != "mcbox"
    }
    found = {
        name: min(figures) for name, figures in interleave(peers | {"bare": spawn_seconds}, ROUNDS).items()
    }
    bare = found.pop("bare")
    shown = {name: f"{milliseconds(it)} ({it / bare:.2f})" for name, it in found.items()}
    return [f"script, ms (bare spawn {milliseconds(bare)})", *(shown.get(name, ABSENT) for name in clients)]


ROWS = [
    latency("bash function, ms", "bash_hello", "fastmcp"),
    latency("Python function, ms", "py_hello", "mcbox"),
    throughput("script, 16 callers, calls/s", "sh_hello", WHO, 200),
    throughput("Python function, 16 callers, calls/s", "py_hello", WHO, 400),
    throughput("200 ms tool, 16 callers, calls/s (ideal 80)", "nap", {}, NAPS),
    Row(
        "1 MB argument, ms",
        lambda it: answer_seconds(it, "size", {"text": "x" * 1_000_000}),
        milliseconds,
        7,
        frozenset({"mcbox"}),
    ),
]


def time_out(name: str, client: WireClient) -> str:
    if name == "mcbox":
        return ABSENT
    client.deadline_seconds = 20
    try:
        return f"{answer_seconds(client, 'stuck', {}):.2f}"
    except TimeoutError:
        return "more than 20"


def count_cases() -> str:
    """The table of bad inputs that the tests hold, counted here too."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "root")
        root.mkdir()
        (root / "notes.txt").write_text("one\ntwo\n")
        command = conftest.serve_command(conftest.copy_specimen(Path(folder, "tools")), root)
        with WireClient(command, cwd=root, env=conftest.environment()) as client:
            client.open("handshake")
            right = sum(not complaints(case, client.call(case.tool, case.arguments)) for case in CASES)
    return f"{right} of {len(CASES)}"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        root = Path(folder)
        clients = {
            name: stack.enter_context(WireClient(command, cwd=root)).open("handshake")
            for name, command in commands(root).items()
        }
        for client in clients.values():
            client.request("tools/list")
        printed = [script_row(clients), *(row.fill(clients) for row in ROWS)]
        printed.append(
            ["1 s time-out, stuck grandchild, s", *(time_out(name, it) for name, it in clients.items())]
        )
    cases = {"faultless": count_cases()}
    printed.append(["bad-input cases right", *(cases.get(name, ABSENT) for name in clients)])
    print(machine("mcp"))
    print(table("toolbox: best of the rounds", ["", *clients], printed))
    if "mcbox" not in clients:
        print("mcbox and mcp-server-bash-sdk: in no package registry; not measured in this run\n")


if __name__ == "__main__":
    main()
