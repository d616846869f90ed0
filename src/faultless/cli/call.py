"""`faultless call NAME TOOL key=value`: one tool of a real server process, over the wire."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from faultless.cli import BAD_NEWS, FAULT, VERDICT
from faultless.cli.options import ByServer, server_command, serving_arguments, serving_options

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp.shared.dispatcher import ProgressFnT

    from faultless.cli.wire import Peer
    from faultless.contract import Fault
    from faultless.kit.toolset import ServerKind

HELP = """\
Start the server NAME as a real process, call one TOOL over the wire, show the verdict or the fault.

\b
  faultless call pytest execute_tests                        no arguments
  faultless call pytest execute_tests verbosity=1 markers='not slow'
  faultless call pytest execute_tests node_ids=a.py,b.py     a list; or repeat the key
  faultless call pytest execute_tests --json '{"verbosity": 1}'
  faultless call pytest execute_tests --raw | jq .result     the response as it came

Values are typed by the tool's schema: numbers, true and false, lists, JSON. Options of `serve` are passed
on to the server. Ctrl-C cancels the call and leaves no process behind.

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
    return click.Command(name, params=[*ours, *passed_on], callback=call, help=HELP)


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


def _call(kind: ServerKind, command: Sequence[str], asked: Asked) -> int:
    from faultless.cli import wire  # noqa: PLC0415 - the SDK is slow to import
    from faultless.contract import Fault  # noqa: PLC0415 - as above

    started = time.monotonic()
    try:
        with _progress(asked.tool) as on_progress:

            async def talk(peer: Peer) -> dict[str, Any]:
                return await _ask(peer, asked, on_progress)

            response = wire.converse(command, talk, timeout_seconds=asked.timeout_seconds)
    except Fault as fault:
        if not asked.raw:
            raise
        response = _written(fault)
    return _report(kind, asked, response, time.monotonic() - started)


async def _ask(peer: Peer, asked: Asked, on_progress: ProgressFnT | None) -> dict[str, Any]:
    from faultless.cli import arguments  # noqa: PLC0415 - as above

    listed = {tool["name"]: tool for tool in await peer.list_tools()}
    # A tool that is not listed is called all the same: what is wrong with the name, the server says best.
    tool = listed.get(asked.tool, {"name": asked.tool})
    return await peer.call(
        tool, arguments.parse(asked.words, asked.literal, tool.get("inputSchema")), on_progress
    )


def _report(kind: ServerKind, asked: Asked, response: dict[str, Any], seconds: float) -> int:
    from rich.text import Text  # noqa: PLC0415 - as above

    from faultless.cli import show  # noqa: PLC0415 - rich is slow to import
    from faultless.contract.reader import read  # noqa: PLC0415 - as above

    reading = read(response)
    bad = (
        reading.fault is None
        and reading.payload is not None
        and kind.is_bad_news(asked.tool, reading.payload)
    )
    if asked.raw:
        show.print_json(response)
    elif reading.fault:
        show.print_fault(reading.fault)
    else:
        screen = show.console()
        word, style = ("bad news", "bold yellow") if bad else ("verdict", "bold green")
        title = Text(f"{word}: {show.cleaned(asked.tool)}, {seconds:.1f} s", style)
        show.emit(screen, title, show.render_verdict(kind, asked.tool, reading.payload, reading.text))
    return FAULT if reading.fault else BAD_NEWS if bad else VERDICT


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


command = ByServer("call", make, help=HELP, short_help="Call one tool and show the verdict or the fault.")
