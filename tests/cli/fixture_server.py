"""A server for the command's tests: one tool for each way a call can end."""

import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import anyio
from pydantic import Field

from faultless.contract import Dialect, Fault, FaultKind
from faultless.kit.command import Check, ServerKind, option
from faultless.kit.toolset import Answer, Arguments, Call, Toolset


class Sum(Arguments):
    count: int
    """How many."""
    ratio: float = 1.0
    loud: bool = False
    names: list[str] = Field(default_factory=list)
    """Who took part."""
    numbers: list[int] = Field(default_factory=list)
    label: str | None = None
    extra: dict[str, Any] = Field(default_factory=dict)


class Summed(Answer):
    received: dict[str, Any]


class Judge(Arguments):
    good: bool


class Judged(Answer):
    good: bool
    reasons: list[str]


class Break(Arguments):
    how: str


class Wait(Arguments):
    pid_file: str


toolset = Toolset("fixture", version="1", dialect=Dialect.JSONRPC, instructions="For tests.")


@toolset.tool.reads(open_world=False)
async def add_up(arguments: Sum) -> Summed:
    """Say back what was received.

    Only this sentence's paragraph is long.
    """
    return Summed(received=arguments.model_dump())


@toolset.tool.reads(open_world=False)
async def judge_work(arguments: Judge) -> Judged:
    """Give a verdict, good or bad."""
    return Judged(good=arguments.good, reasons=[] if arguments.good else ["late", "red \x1b[31m ink"])


@toolset.tool(read_only=False, idempotent=False, destructive=True, open_world=False)
async def break_down(arguments: Break) -> Summed:
    """Fail in the way that is asked for."""
    if arguments.how == "die":
        os._exit(7)
    if arguments.how == "garbage":
        for descriptor in range(3, 64):
            try:
                os.write(descriptor, b"this is no message\n")
            except OSError:
                continue
        await anyio.sleep_forever()
    if arguments.how == "bug":
        raise ValueError("a bug with a secret")
    raise Fault(
        FaultKind.RATE_LIMITED,
        f"slow down, {arguments.how}",
        hint="wait a little",
        details={"quota": {"left": 0}, "log": "line one\nline two"},
        retry_after_seconds=2.5,
    )


@toolset.tool.reads(open_world=False)
async def wait_forever(arguments: Wait, call: Call) -> Summed:
    """Report progress, then never answer."""
    await call.report_progress(1, 4, "warming up")
    await anyio.Path(arguments.pid_file).write_text(str(os.getpid()), encoding="utf-8")
    await anyio.sleep_forever()
    return Summed(received={})


@dataclass(frozen=True, kw_only=True)
class Settings:
    root: Path
    engine: str = option("v8", "Which engine.")
    tag: tuple[str, ...] = option((), "What it is about.")
    strict: bool = option(False, "Be strict.", renamed_from=("--severe",))
    broken: bool = option(False, "Do not start.")
    timeout: float | None = option(None, "Not the call's own.")


def build_toolset(settings: Settings) -> Toolset:
    if settings.broken:
        raise Fault(FaultKind.UNAVAILABLE, "the engine is not there", hint="install it")

    class Nothing(Arguments):
        pass

    if "show_options" not in toolset.tools:

        @toolset.tool.reads(open_world=False)
        async def show_options(_: Nothing) -> Summed:
            """Say how the server was started."""
            options = {**asdict(settings), "root": str(settings.root)}
            return Summed(received={"path": sys.path[0], **options})

    return toolset


def is_bad_news(tool: str, answer: dict[str, Any]) -> bool:
    return tool == "judge_work" and not answer["good"]


def render(tool: str, answer: dict[str, Any]) -> str | None:
    if tool != "judge_work":
        return None
    return "all is well" if answer["good"] else "because: " + ", ".join(answer["reasons"])


server = ServerKind(
    name="fixture.server",
    summary="A server for tests.",
    settings=Settings,
    build_toolset=build_toolset,
    is_bad_news=is_bad_news,
    render=render,
    diagnose=lambda root: [
        Check("engine", ok=(root / "engine").exists(), found="looked in the root", fix="touch engine")
    ],
)
not_a_server = 3
