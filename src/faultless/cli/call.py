"""`faultless call NAME TOOL key=value`: one tool of a real server process, over the wire."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from faultless.cli.options import (
    ByServer,
    Number,
    ServerCommand,
    foreign_option,
    server_command,
    serving_arguments,
    serving_options,
)
from faultless.kit.root import Root

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

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
        words = serving_arguments(ctx, passed_on, Root(values["root"]).path)
        return _call(kind, server_command(name, words), values)

    passed_on = serving_options(kind)
    ours = _own_parameters({word for option in passed_on for word in option.opts})
    return ServerCommand(name, kind, params=[*ours, *passed_on], callback=call, help=HELP)


def make_foreign() -> click.Command:
    def call(**values: Any) -> int:  # noqa: ANN401 - as above
        return _call(None, values["command"], values)

    return click.Command("call", params=[foreign_option(), *_own_parameters()], callback=call, help=HELP)


def _own_parameters(taken: AbstractSet[str] = frozenset()) -> list[click.Parameter]:
    """Those of `call` itself; a flag that the server has means what it means to `serve`."""
    return [
        click.Argument(["tool"]),
        click.Argument(["pairs"], nargs=-1, metavar="[KEY=VALUE]..."),
        click.Option(
            ["--json"], metavar="OBJECT", help="Arguments as one JSON object; KEY=VALUE goes over it."
        ),
        click.Option(["--raw"], is_flag=True, help="Print the response as JSON, as it came."),
        click.Option(
            [flag for flag in ("--cancel-after", "--timeout") if flag not in taken],
            type=Number(min=0, min_open=True),
            metavar="SECONDS",
            help="Cancel the call after this.",
        ),
    ]


def _call(kind: ServerKind | None, address: Sequence[str] | str, values: dict[str, Any]) -> int:
    from faultless import process  # noqa: PLC0415 - --help must be fast

    process.get_ready()  # what will supervise the server starts while the SDK loads
    from faultless.cli import conversation  # noqa: PLC0415 - as above

    asked = Asked(values["tool"], values["pairs"], values["json"], values["raw"], values["cancel_after"])
    return conversation.call_tool(kind, conversation.Server(address, is_ours=kind is not None), asked)


command = ByServer(
    "call",
    make,
    make_foreign=make_foreign,
    help=HELP,
)
