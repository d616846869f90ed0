"""A server with one tool for every way a tool can misbehave; run it as a script to serve it."""

import asyncio
import sys
import time
from collections.abc import Callable
from typing import Annotated, Any, Literal

import anyio
from pydantic import Field

from faultless.contract import Dialect, Fault, FaultKind
from faultless.kit import stdio
from faultless.kit.toolset import Answer, Arguments, Call, Prompt, Resource, Toolset
from faultless.testing import WireClient

Misdeed = Literal[
    "system_exit",
    "keyboard_interrupt",
    "cancelled",
    "recursion",
    "memory",
    "leak",
    "surrogate",
    "nan",
    "cycle",
    "wrong_type",
    "out_of_range",
]


StartServer = Callable[..., WireClient]


def specimen_command(**options: object) -> list[str]:
    return [sys.executable, __file__, *(f"{name}={value}" for name, value in options.items())]


class Echo(Arguments):
    text: str
    """What to say back."""


class Said(Answer):
    text: str


class Level(Arguments):
    verbosity: Annotated[int, Field(ge=-2, le=2)] = 0
    names: tuple[str, ...] = ()


class Levelled(Answer):
    verbosity: int
    names: list[str]


class Fail(Arguments):
    kind: FaultKind
    message: str = "it broke"


class Misbehave(Arguments):
    how: Misdeed


class Anything(Answer):
    number: Annotated[float, Field(le=10)] = 0.0
    value: Any = None


class Size(Arguments):
    count: int


class Nothing(Arguments):
    pass


def specimen(dialect: Dialect) -> Toolset:  # noqa: C901 - a list of tools, not a decision
    toolset = Toolset(
        "specimen",
        version="1",
        dialect=dialect,
        instructions="Misbehaves on request.",
        resources=[Resource("info://specimen", "info", "What this is", lambda: {"is": "a specimen"})],
        prompts=[Prompt("greet", "Greets", {"who": "Whom to greet"}, lambda given: f"Greet {given['who']}.")],
    )

    @toolset.tool(read_only=True, idempotent=True, destructive=False, open_world=False)
    async def echo(arguments: Echo) -> Said:
        """Say it back."""
        return Said(text=arguments.text)

    @toolset.tool(read_only=True, idempotent=True, destructive=False, open_world=False)
    def level(arguments: Level) -> Levelled:
        """Take a number and names, in a thread."""
        return Levelled(verbosity=arguments.verbosity, names=list(arguments.names))

    @toolset.tool(read_only=True, idempotent=False, destructive=False, open_world=False)
    async def fail(arguments: Fail) -> Said:
        """Raise a fault of the kind asked for."""
        raise Fault(
            arguments.kind,
            arguments.message,
            hint="do otherwise",
            details={"output": "half done"} if arguments.kind is FaultKind.CRASH else {"seen": 3},
            retry_after_seconds=1.5,
        )

    @toolset.tool(read_only=True, idempotent=True, destructive=False, open_world=False)
    async def misbehave(arguments: Misbehave) -> Anything:
        """Do what no tool should."""
        return _misbehave(arguments.how)

    @toolset.tool(read_only=True, idempotent=True, destructive=False, open_world=False)
    def misbehave_in_thread(arguments: Misbehave) -> Anything:
        """Do what no tool should, in a thread."""
        return _misbehave(arguments.how)

    @toolset.tool(read_only=True, idempotent=True, destructive=False, open_world=False)
    async def big(arguments: Size) -> Said:
        """Answer with that many characters."""
        return Said(text="x" * arguments.count)

    @toolset.tool(read_only=True, idempotent=True, destructive=False, open_world=False)
    async def wait(arguments: Nothing, call: Call) -> Said:
        """Report progress, then wait until cancelled."""
        await call.report_progress(1, 3, "waiting")
        await anyio.sleep_forever()
        return Said(text="never")

    @toolset.tool(read_only=True, idempotent=True, destructive=False, open_world=False)
    async def soon(arguments: Size) -> Said:
        """Answer after that many milliseconds."""
        await anyio.sleep(arguments.count / 1000)
        return Said(text="done")

    @toolset.tool(read_only=True, idempotent=True, destructive=False, open_world=False)
    def stuck(arguments: Nothing) -> Said:
        """Block a thread for an hour."""
        time.sleep(3600)
        return Said(text="never")

    @toolset.tool(read_only=True, idempotent=True, destructive=False, open_world=False)
    async def noisy(arguments: Nothing) -> Said:
        """Print to standard output."""
        sys.stdout.write("this is not a frame\n")
        sys.stdout.flush()
        return Said(text=f"read {sys.stdin.read()!r}")

    return toolset


RAISED = {
    "system_exit": SystemExit(3),
    "keyboard_interrupt": KeyboardInterrupt(),
    "cancelled": asyncio.CancelledError(),
    "memory": MemoryError(),
    "leak": RuntimeError("the password is hunter2"),
}


def _misbehave(how: Misdeed) -> Anything:
    if how in RAISED:
        raise RAISED[how]
    if how == "recursion":
        return _misbehave(how)
    if how == "surrogate":
        return Anything(value="caf\udce9")
    if how == "nan":
        return Anything(number=float("nan"))
    if how == "cycle":
        loop: list[Any] = []
        loop.append(loop)
        return Anything(value=loop)
    if how == "out_of_range":
        return Anything.model_construct(number=11.0)
    return "not an answer"  # type: ignore[return-value]  # the point of this case


if __name__ == "__main__":
    options = dict(argument.split("=", 1) for argument in sys.argv[1:])
    dialect = Dialect(options.pop("dialect", "jsonrpc"))
    limit = int(options.pop("max_frame_bytes", stdio.MAX_FRAME_BYTES))
    stdio.serve(
        specimen(dialect),
        faults="result" if options.pop("faults", "native") == "result" else "native",
        debug="debug" in options,
        max_frame_bytes=limit,
    )
