"""One conversation with a server, carried by the client; a signal ends it and all it started.

Everything that needs the client, and with it the SDK, is here: `--help` is answered without it.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import click
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from faultless.cli import BAD_NEWS, FAULT, VERDICT, arguments, show
from faultless.client import Client, RetryPolicy
from faultless.contract import Dialect, ErrorReply, Fault, FaultKind, write

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from mcp.shared.dispatcher import ProgressFnT

    from faultless.cli.call import Asked
    from faultless.client import Reply
    from faultless.kit.command import ServerKind

T = TypeVar("T")
START_SECONDS = 60.0
PATIENCE_SECONDS = 86400.0
"""Where no time-out is asked for; a person at a terminal has Ctrl-C."""


@dataclass(frozen=True, slots=True)
class Server:
    """What to talk to."""

    address: Sequence[str] | str
    is_ours: bool = True
    """One of ours never prints a line that is not a message; strangers do, and it harms nothing."""


@dataclass(slots=True)
class Answered:
    """How a call ended, and the response it was read from, if there was one."""

    response: dict[str, Any] | None = None
    reply: Reply | None = None
    fault: Fault | None = None


def list_tools(server: Server) -> list[dict[str, Any]]:
    async def ask(client: Client) -> list[dict[str, Any]]:
        return [tool.raw for tool in await client.tools()]

    return _converse(server, ask)


def call_tool(kind: ServerKind | None, server: Server, asked: Asked) -> int:
    """Call it, show what came of it, and say how the command exits."""
    started = time.monotonic()
    answered = Answered()
    try:
        with _progress(asked.tool) as on_progress:
            _converse(server, lambda client: _ask(client, asked, answered, on_progress))
    except Fault as fault:
        answered.fault = fault
    value = answered.reply.value if answered.reply else None
    is_bad = kind is not None and isinstance(value, dict) and kind.is_bad_news(asked.tool, value)
    status = FAULT if answered.reply is None else BAD_NEWS if is_bad else VERDICT
    if asked.raw:
        _print_raw(answered)
    else:
        _print(kind, asked.tool, answered, time.monotonic() - started, is_bad=is_bad)
    return status


async def _ask(client: Client, asked: Asked, answered: Answered, on_progress: ProgressFnT | None) -> None:
    def keep(response: dict[str, Any]) -> None:
        answered.response = response

    listed = {tool.name: tool.raw for tool in await client.tools()}
    # A tool that is not listed is called all the same: what is wrong with the name, the server says best.
    schema = listed.get(asked.tool, {}).get("inputSchema")
    answered.reply = await client.call(
        asked.tool,
        arguments.parse(asked.words, asked.literal, schema),
        timeout=asked.timeout_seconds or PATIENCE_SECONDS,
        on_progress=on_progress,
        on_response=keep,
    )


def _print_raw(answered: Answered) -> None:
    if answered.response is not None:
        show.print_json(answered.response)
    elif answered.fault is not None:  # one of our own, in the shape a script already reads
        reply = write(answered.fault, Dialect.JSONRPC)
        assert isinstance(reply, ErrorReply)  # noqa: S101 - that dialect has no other, unless asked for
        show.print_json({"error": {"code": reply.code, "message": reply.message, "data": reply.data}})


def _print(kind: ServerKind | None, tool: str, answered: Answered, seconds: float, *, is_bad: bool) -> None:
    if answered.fault is not None:
        show.print_fault(answered.fault)
    elif answered.reply is not None:
        word, style = ("bad news", "bold yellow") if is_bad else ("verdict", "bold green")
        show.print_reply(kind, tool, answered.reply, f"{word}: {show.cleaned(tool)}, {seconds:.1f} s", style)
    if kind is None:
        show.print_recognised(answered.response, answered.fault)


@contextmanager
def _progress(tool: str) -> Iterator[ProgressFnT | None]:
    """A moving line on stderr for a person who waits; nothing for a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=show.console(stderr=True), transient=True) as display:
        task = display.add_task(tool, total=None)

        async def move(progress: float, total: float | None, message: str | None) -> None:
            words = f"{tool}: {show.cleaned(message)}" if message else tool
            display.update(task, completed=progress, total=total, description=words[:80])

        yield move


def _converse(server: Server, talk: Callable[[Client], Awaitable[T]]) -> T:
    """Start the server, talk, stop it and whatever it started; every failure is a Fault."""
    answer: T = anyio.run(_Conversation(server, talk).run)
    return answer


@dataclass
class _Conversation:
    server: Server
    talk: Callable[[Client], Awaitable[Any]]
    failure: Exception | None = None
    scope: anyio.CancelScope = field(init=False)

    async def run(self) -> Any:  # noqa: ANN401 - what `talk` returned
        self.scope = anyio.CancelScope()
        answer = None
        async with anyio.create_task_group() as watchers:
            watchers.start_soon(self._watch_signals)
            with self.scope:
                answer = await self._talk()
            watchers.cancel_scope.cancel()
        if self.failure:
            raise self.failure
        return answer

    async def _talk(self) -> Any:  # noqa: ANN401 - as above
        """What fails in here is told as a value: task groups would wrap it."""
        is_told = {"FAULTLESS_LOG_LEVEL", "OTEL_LOG_LEVEL"} & os.environ.keys()
        client = Client(
            self.server.address,
            timeout=START_SECONDS,
            start_timeout=START_SECONDS,
            # The server's log only when asked for, or when it holds a bug's traceback.
            env={} if is_told else {"FAULTLESS_LOG_LEVEL": "ERROR"},
            retry=RetryPolicy(attempts=1),
            echo_stderr=True,
            on_noise=self._refuse_noise if self.server.is_ours else None,
        )
        try:
            async with client:
                return await self.talk(client)
        except Fault as fault:
            self._stop(fault)

    def _refuse_noise(self, line: str) -> None:
        words = f"the server wrote a line that is no message: {line[:200]!r}"
        hint = "`faultless serve NAME` shows what it writes; report it to its author"
        self._stop(Fault(FaultKind.PARSE_ERROR, words, hint=hint))

    async def _watch_signals(self) -> None:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async for number in signals:
                self._stop(click.exceptions.Exit(128 + number))

    def _stop(self, failure: Exception) -> None:
        """What came first is the cause of what comes after."""
        self.failure = self.failure or failure
        self.scope.cancel()
