"""The toolbox beside a fastmcp server with the same tools, and beside the bare spawn of the same script.

Writes docs/reference/toolbox-figures.md. Where MCBOX_SERVER names an mcbox executable, it takes part.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.figures import interleave, machine, table
from bench.peers import environment
from bench.toolbox_cases import count_ours, grade_peer
from faultless.testing import WireClient

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "reference" / "toolbox-figures.md"
TOOLS = HERE / "toolbox_tools"
ROUNDS = 21
CALLS = 20
CALLERS = 16
NAPS = 64
ABSENT = "-"
WHO = {"who": "you"}
SCRIPTS = {
    "sh script that only prints": "sh_hello",
    "sh script that calls wc": "sh_count",
    "Python script": "script_hello",
}
Figure = Callable[[], float]


def commands(root: Path) -> dict[str, list[str]]:
    ours = [sys.executable, "-P", "-m", "faultless", "serve", "toolbox", str(TOOLS), "--root", str(root)]
    found = {
        "faultless": ours,
        "fastmcp": [str(environment("fastmcp")), str(HERE / "servers" / "fast_toolbox.py")],
    }
    if "MCBOX_SERVER" in os.environ:
        found["mcbox"] = [os.environ["MCBOX_SERVER"]]
    return found


@contextmanager
def bare_spawn(tool: str) -> Iterator[Figure]:
    """The same script without any server, from a small process of its own."""
    command = [sys.executable, "-I", str(HERE / "servers" / "bare_spawn.py"), str(TOOLS / tool)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as spawner:
        asked, answered = spawner.stdin, spawner.stdout
        assert asked is not None  # a pipe, as asked for
        assert answered is not None  # as above

        def measure() -> float:
            asked.write(f"{CALLS}\n")
            asked.flush()
            return float(answered.readline())

        yield measure
        asked.close()


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


@dataclass(frozen=True)
class Row:
    title: str
    figure: Callable[[WireClient], float]
    write: Callable[[float], str]
    rounds: int = ROUNDS
    target: str = ""
    without: frozenset[str] = frozenset()

    def fill(self, clients: dict[str, WireClient]) -> list[str]:
        peers = {name: it for name, it in clients.items() if name not in self.without}
        found = interleave({name: lambda it=it: self.figure(it) for name, it in peers.items()}, self.rounds)
        shown = {name: self.write(statistics.median(figures)) for name, figures in found.items()}
        return [self.title, self.target, *(shown.get(name, ABSENT) for name in clients)]


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.2f}"


def latency(title: str, tool: str, target: str, *without: str) -> Row:
    return Row(
        title,
        lambda it: call_seconds(it, tool, WHO),
        milliseconds,
        target=target,
        without=frozenset(without),
    )


def throughput(title: str, tool: str, arguments: dict[str, Any], calls: int, target: str = "") -> Row:
    def figure(client: WireClient) -> float:
        return calls_a_second(client, tool, arguments, calls)

    return Row(title, figure, lambda it: f"{it:.1f}", 5, target, frozenset({"mcbox"}))


def script_rows(what: str, tool: str, clients: dict[str, WireClient]) -> list[list[str]]:
    """Interleaved with the bare spawn; the best round shows what the machine's other work added."""
    peers: dict[str, Figure] = {
        name: lambda it=it: call_seconds(it, tool, WHO) for name, it in clients.items() if name != "mcbox"
    }
    with bare_spawn(tool) as bare:
        found = interleave(peers | {"bare": bare}, ROUNDS)
    rows = []
    for title, choose in {"median": statistics.median, "best round": min}.items():
        spawn = choose(found["bare"])
        shown = {
            name: f"{milliseconds(choose(found[name]))} ({choose(found[name]) / spawn:.2f})" for name in peers
        }
        rows.append(
            [
                f"{what}, {title}, ms (times the bare spawn, {milliseconds(spawn)})",
                "1.5 times",
                *(shown.get(name, ABSENT) for name in clients),
            ]
        )
    return rows


ROWS = [
    latency("bash function, ms", "bash_hello", "10", "fastmcp"),
    latency("Python function, ms", "py_hello", "2", "mcbox"),
    throughput("sh script, 16 callers, calls/s", "sh_hello", WHO, 200),
    throughput("Python function, 16 callers, calls/s", "py_hello", WHO, 400),
    throughput("200 ms tool, 16 callers, calls/s (ideal 80)", "nap", {}, NAPS, "70"),
    Row(
        "1 MB argument, ms",
        lambda it: answer_seconds(it, "size", {"text": "x" * 1_000_000}),
        milliseconds,
        7,
        without=frozenset({"mcbox"}),
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


def measure() -> tuple[list[str], list[list[str]]]:
    """The names of the servers, and a row for every figure."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        root = Path(folder)
        clients = {
            name: stack.enter_context(WireClient(command, cwd=root)).open("handshake")
            for name, command in commands(root).items()
        }
        for client in clients.values():
            client.request("tools/list")
        rows = [row for what, tool in SCRIPTS.items() for row in script_rows(what, tool, clients)]
        rows += [row.fill(clients) for row in ROWS]
        outs = [time_out(name, it) for name, it in clients.items()]
        rows.append(["1 s time-out, stuck grandchild, s", "1.5", *outs])
    return list(clients), rows


PREFACE = """# What a call of a tool costs

Written by `python -m bench toolbox`: {machine}, fastmcp {fastmcp}, {cores} cores, {date}, load average
{load} at the start. On a machine with other work every figure is worse, and those of calls that take several
processes most of all.

Medians of interleaved rounds, from writing a request to having parsed its answer. The bare spawn is
`subprocess.run` of the same script, with pipes for all three streams, in a small Python process of its own.
The fastmcp server runs the same scripts with `subprocess.run`, as its users do.

To a script's own time a call adds the protocol, the check of the arguments, a look whether the folder has
changed, and a supervisor that leaves nothing behind: a few milliseconds. The target, half of the script's
own time, is missed for shell scripts that end within 3 ms and met for those that take longer.
"""
ABSENTEES = """
mcbox and mcp-server-bash-sdk are git repositories that npm, PyPI and Debian do not have, so they are not in
this run. The target for a bash function is a fiftieth of the 532 ms that a call of mcbox once took elsewhere.
"""
CASES = """
Ours is right where the answer is, word for word, what the tests' table prescribes. Of fastmcp only those
were asked that can be put to a server of functions, and only this: that a fault is declared, that it names
the parameter if one is wrong, and that the server lives on. Not so:

{wrong}
"""


def fastmcp_version() -> str:
    program = "import importlib.metadata as m; print(m.version('fastmcp'))"
    asked = [str(environment("fastmcp")), "-c", program]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    # `python3` is to be an interpreter: the shim of a version manager takes several times its time to start.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    preface = PREFACE.format(
        machine=machine("mcp"),
        fastmcp=fastmcp_version(),
        cores=os.cpu_count(),
        date=datetime.now(UTC).date().isoformat(),
        load=f"{os.getloadavg()[0]:.1f}",
    )
    names, rows = measure()
    right, wrong = grade_peer()
    counted = {"faultless": count_ours(), "fastmcp": right}
    rows.append(["bad inputs answered right", "all", *(counted.get(name, ABSENT) for name in names)])
    text = table("Calls", ["", "target", *names], rows)
    absentees = "" if "mcbox" in names else ABSENTEES
    cases = CASES.format(wrong="\n".join(f"- {sentence}" for sentence in wrong))
    PAGE.write_text(f"{preface}\n{text}{absentees}{cases}")
    print(PAGE.read_text())


if __name__ == "__main__":
    main()
