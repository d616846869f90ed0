"""`faultless call NAME TOOL key=value`: one tool of a real server process, over the wire."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from faultless.cli import BAD_NEWS, FAULT, VERDICT
from faultless.cli.options import (
    ByServer,
    ServerCommand,
    foreign_option,
    server_command,
    serving_arguments,
    serving_options,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from mcp.shared.dispatcher import ProgressFnT

    from faultless.cli.wire import Peer, Server
    from faultless.client import Reply
    from faultless.contract import Fault
    from faultless.kit.command import ServerKind

HELP = """\
Start the server NAME as a real process, call one TOOL over the wire, show the verdict or the fault.

\b
  faultless call pytest execute_tests                        no arguments
  faultless call pytest execute_tests verbosity=1 markers='not slow'
  faultless call pytest execute_tests node_ids=a.py,b.py     a list; or repeat the key
  faultless call pytest execute_tests --json '{"verbosity": 1}'
  faultless call pytest execute_tests --raw | jq .result     the response as it came
  faultless call --command 'npx some-server .' TOOL a=1      anybody's server; a URL will do, too

Values are typed by the tool's schema: numbers, true and false, lists, JSON. Options of `serve` are passed
on to the server. Ctrl-C cancels the call and leaves no process behind.

With --command the answer says how it was recognised: most servers hide their failures in a success.

Exit status: 0 a verdict, 1 a verdict with bad news, 2 a fault.
"""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asked for."""

    tool: str
    words: Sequence[str]
    literal: str | None
    raw: bool
    timeout_seconds: float | None


def make(name: str, kind: ServerKind) -> click.Command:
    @click.pass_context
    def call(ctx: click.Context, /, **values: Any) -> int:  # noqa: ANN401 - includes options of a server known only now
        from faultless.kit.root import Root  # noqa: PLC0415 - --help must be fast

        asked = Asked(values["tool"], values["pairs"], values["json"], values["raw"], values["timeout"])
        words = serving_arguments(ctx, passed_on, Root(values["root"]).path)
        return _call(kind, server_command(name, words), asked)

    ours = _own_parameters()
    taken = {word for parameter in ours for word in parameter.opts}
    passed_on = [option for option in serving_options(kind) if not taken & set(option.opts)]
    return ServerCommand(name, kind, params=[*ours, *passed_on], callback=call, help=HELP)


def make_foreign() -> click.Command:
    def call(**values: Any) -> int:  # noqa: ANN401 - as above
        asked = Asked(values["tool"], values["pairs"], values["json"], values["raw"], values["timeout"])
        return _call(None, values["command"], asked)

    return click.Command("call", params=[foreign_option(), *_own_parameters()], callback=call, help=HELP)


def _own_parameters() -> list[click.Parameter]:
    return [
        click.Argument(["tool"]),
        click.Argument(["pairs"], nargs=-1, metavar="[KEY=VALUE]..."),
        click.Option(
            ["--json"], metavar="OBJECT", help="Arguments as one JSON object; KEY=VALUE goes over it."
        ),
        click.Option(["--raw"], is_flag=True, help="Print the response as JSON, as it came."),
        click.Option(
            ["--timeout"],
            type=click.FloatRange(min=0, min_open=True),
            metavar="SECONDS",
            help="Cancel the call after this.",
        ),
    ]


@dataclass(slots=True)
class Answered:
    """How a call ended, and the response it was read from, if there was one."""

    response: dict[str, Any] | None = None
    reply: Reply | None = None
    fault: Fault | None = None


def _call(kind: ServerKind | None, address: Sequence[str] | str, asked: Asked) -> int:
    from faultless import process  # noqa: PLC0415 - --help must be fast

    process.get_ready()  # what will supervise the server starts while the SDK loads
    from faultless.cli import wire  # noqa: PLC0415 - the SDK is slow to import

    started = time.monotonic()
    server = wire.Server(address, strict=kind is not None)
    with _progress(asked.tool) as on_progress:

        async def talk(peer: Peer) -> Answered:
            return await _ask(peer, asked, on_progress)

        answered = _converse(server, talk, asked)
    if asked.raw:
        return _print_raw(kind, asked, answered)
    return _report(kind, asked, answered, time.monotonic() - started)


def _converse(server: Server, talk: Callable[[Peer], Awaitable[Answered]], asked: Asked) -> Answered:
    from faultless.cli import wire  # noqa: PLC0415 - as above
    from faultless.contract import Fault  # noqa: PLC0415 - as above

    try:
        return wire.converse(server, talk, timeout_seconds=asked.timeout_seconds)
    except Fault as fault:
        return Answered(fault=fault)


async def _ask(peer: Peer, asked: Asked, on_progress: ProgressFnT | None) -> Answered:
    from faultless.cli import arguments  # noqa: PLC0415 - as above
    from faultless.contract import Fault  # noqa: PLC0415 - as above

    listed = {tool["name"]: tool for tool in await peer.list_tools()}
    # A tool that is not listed is called all the same: what is wrong with the name, the server says best.
    schema = listed.get(asked.tool, {}).get("inputSchema")
    given = arguments.parse(asked.words, asked.literal, schema)
    try:
        reply = await peer.call(asked.tool, given, on_progress)
    except Fault as fault:
        return Answered(peer.response, fault=fault)
    return Answered(peer.response, reply)


def _print_raw(kind: ServerKind | None, asked: Asked, answered: Answered) -> int:
    from faultless.cli import show  # noqa: PLC0415 - rich is slow to import

    if answered.response is not None:
        show.print_json(answered.response)
    elif answered.fault is not None:
        show.print_json(_written(answered.fault))
    return _judge(kind, asked, answered)


def _report(kind: ServerKind | None, asked: Asked, answered: Answered, seconds: float) -> int:
    from rich.text import Text  # noqa: PLC0415 - as above

    from faultless.cli import show  # noqa: PLC0415 - as above

    status = _judge(kind, asked, answered)
    if answered.fault is not None:
        show.print_fault(answered.fault)
    elif answered.reply is not None:
        word, style = ("bad news", "bold yellow") if status == BAD_NEWS else ("verdict", "bold green")
        title = Text(f"{word}: {show.cleaned(asked.tool)}, {seconds:.1f} s", style)
        value = answered.reply.value
        payload = value if isinstance(value, dict) else None
        verdict = show.render_verdict(kind, asked.tool, payload, answered.reply.text)
        attached = show.render_attachments(answered.reply.content)
        shown = [] if attached and not answered.reply.text else [verdict]
        show.emit(show.console(), title, *shown, *attached)
    if kind is None:
        show.print_recognised(answered.response, answered.fault)
    return status


def _judge(kind: ServerKind | None, asked: Asked, answered: Answered) -> int:
    if answered.reply is None:
        return FAULT
    value = answered.reply.value
    bad = kind is not None and isinstance(value, dict) and kind.is_bad_news(asked.tool, value)
    return BAD_NEWS if bad else VERDICT


def _written(fault: Fault) -> dict[str, Any]:
    """A fault of our own, in the shape a script already reads."""
    from faultless.contract.dialects import Dialect, ErrorReply, write  # noqa: PLC0415 - as above

    reply = write(fault, Dialect.JSONRPC)
    assert isinstance(reply, ErrorReply)  # noqa: S101 - that dialect has no other, unless asked for
    return {"error": {"code": reply.code, "message": reply.message, "data": reply.data}}


@contextmanager
def _progress(tool: str) -> Iterator[ProgressFnT | None]:
    """A moving line on stderr for a person who waits; nothing for a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415 - as above

    from faultless.cli import show  # noqa: PLC0415 - as above

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


command = ByServer(
    "call",
    make,
    make_foreign=make_foreign,
    help=HELP,
    short_help="Call one tool and show the verdict or the fault.",
)
