"""What an agent gets from the pytest server: a green run, a red run, and a run that hangs.

Run it with `make demo`. The server is a real process on examples/project; the same three calls work with
`faultless call pytest execute_tests --root examples/project`.
"""

import shlex
import sys
from pathlib import Path

from rich.text import Text

from faultless.cli.show import console, emit
from faultless.contract import read
from faultless.testing import WireClient
from faultless.servers.pytest import rendering

PROJECT = Path(__file__).parent / "project"
STEPS = [
    ("A green run is a verdict", ["node_ids=tests/test_basket.py"]),
    ("A red run is a verdict too: the tool did its job", ["node_ids=tests/test_receipt.py"]),
    ("A hanging test is a fault, and it says where", ["node_ids=tests/test_stock.py", "timeout=5"]),
]


def main():
    screen = console()
    command = [
        sys.executable,
        "-m",
        "faultless",
        "serve",
        "pytest",
        f"--root={PROJECT}",
        f"--python={sys.executable}",
    ]
    with WireClient(command) as client:
        client.open("handshake")
        for title, words in STEPS:
            call = shlex.join(
                ["faultless", "call", "pytest", "execute_tests", "--root", "examples/project", *words]
            )
            emit(screen, Text(f"\n{title}", style="bold"), Text(f"$ {call}", style="dim"), Text(""))
            reading = read(client.call("execute_tests", parse(words)))
            if reading.fault is None:
                emit(screen, rendering.render("execute_tests", reading.payload))
            else:
                emit(screen, *show_fault(reading.fault))
        client.close_input()
        return client.wait()


def parse(words):
    given = dict(word.split("=", 1) for word in words)
    return {name: [value] if name == "node_ids" else int(value) for name, value in given.items()}


def show_fault(fault):
    stack = fault.details.get("stack", "").splitlines()[1:]
    return [
        Text.assemble((f"fault: {fault.kind.value}", "bold red")),
        Text(f"  {fault.message}"),
        Text.assemble(("  next: ", "cyan"), fault.hint),
        Text("  stack, innermost first:", style="cyan"),
        *(Text(f"  {line}") for line in stack),
    ]


if __name__ == "__main__":
    sys.exit(main())
