"""What the client costs on a warm session beside the bare SDK's and fastmcp's clients."""

import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from itertools import product
from pathlib import Path
from typing import Any

import anyio
import mcp
from mcp import StdioServerParameters

from bench.figures import interleave, machine, medians, table
from bench.peers import environment
from faultless.client import Client

SERVERS = Path(__file__).with_name("servers")
CALLS = 320
ROUNDS = 11
CALLERS = (1, 16)
TARGET = 1.15
ARGUMENTS = {"a": 1, "b": 2}
COMMANDS = {name: [sys.executable, str(SERVERS / f"{name}.py")] for name in ("sdk", "ours")}
QUIET = {"FAULTLESS_LOG_LEVEL": "ERROR"}

Call = Callable[[], Awaitable[object]]

# Runs in the peers' environment, which has fastmcp; one line in, one figure out.
FASTMCP = """
import asyncio, json, sys, time
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

async def main(command, calls, callers):
    transport = StdioTransport(command[0], command[1:], env={"FAULTLESS_LOG_LEVEL": "ERROR"})
    async with Client(transport) as client:
        await client.list_tools()
        await client.call_tool("add", {"a": 1, "b": 2})
        async def call():
            for _ in range(calls // callers):
                await client.call_tool("add", {"a": 1, "b": 2})
        for _ in iter(sys.stdin.readline, ""):
            started = time.perf_counter()
            await asyncio.gather(*(call() for _ in range(callers)))
            print((time.perf_counter() - started) / calls, flush=True)

asyncio.run(main(json.loads(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
"""


async def measure(call: Call, callers: int) -> float:
    async def repeat() -> None:
        for _ in range(CALLS // callers):
            await call()

    started = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for _ in range(callers):
            tasks.start_soon(repeat)
    return (time.perf_counter() - started) / CALLS


class FastClient:
    """fastmcp's client, in its own environment."""

    def __init__(self, command: list[str], callers: int) -> None:
        words = [str(environment("fastmcp")), "-c", FASTMCP, json.dumps(command), str(CALLS), str(callers)]
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def measure(self) -> float:
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("opened with pipes")
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate(timeout=60)


async def compare(command: list[str], callers: int) -> dict[str, float]:
    fast = FastClient(command, callers)
    async with AsyncExitStack() as stack:
        ours = await stack.enter_async_context(Client(command, mode="legacy", env=QUIET))
        parameters = StdioServerParameters(command=command[0], args=command[1:], env=QUIET)
        bare = await stack.enter_async_context(mcp.Client(parameters, mode="legacy"))
        await bare.list_tools()  # so that both hold answers against the schema
        await ours.call("add", ARGUMENTS)
        found = await anyio.to_thread.run_sync(
            lambda: interleave(
                {
                    "mcp.Client": _in_loop(lambda: bare.call_tool("add", ARGUMENTS), callers),
                    "faultless.Client": _in_loop(lambda: ours.call("add", ARGUMENTS), callers),
                    "fastmcp.Client": fast.measure,
                },
                ROUNDS,
            )
        )
    fast.close()
    return medians(found)


def _in_loop(call: Call, callers: int) -> Callable[[], float]:
    def run() -> float:
        return anyio.from_thread.run(measure, call, callers)

    return run


def main() -> None:
    rows: list[list[str]] = []
    figures: dict[str, Any] = {}
    for (name, command), callers in product(COMMANDS.items(), CALLERS):
        figures = anyio.run(compare, command, callers)
        base = figures["mcp.Client"]
        cells = [f"{figure * 1e3:.2f} ms ({figure / base:.2f})" for figure in figures.values()]
        rows.append([f"server: {name}, callers: {callers}", *cells])
    print(machine("mcp"))
    title = f"client: median of a warm call, and the ratio to mcp.Client (target {TARGET})"
    print(table(title, ["", *figures], rows))
