"""`faultless tools NAME`: what a server offers, asked over the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from faultless.cli.options import (
    ByServer,
    ServerCommand,
    foreign_option,
    server_command,
    serving_arguments,
    serving_options,
)
from faultless.kit.root import Root

if TYPE_CHECKING:
    from collections.abc import Sequence

    from faultless.kit.command import ServerKind

HELP = """\
The tools of the server NAME and their parameters, as a client sees them.

\b
  faultless tools pytest
  faultless tools pytest --raw | jq '.[].name'
  faultless tools --command 'npx some-server .'

A parameter with a star must be given.
"""


def make(name: str, kind: ServerKind) -> click.Command:
    options = serving_options(kind)

    @click.pass_context
    def tools(ctx: click.Context, /, raw: bool, root: str, **_others: Any) -> None:  # noqa: ANN401 - passed on by name
        _list(server_command(name, serving_arguments(ctx, options, Root(root).path)), is_ours=True, raw=raw)

    return ServerCommand(name, kind, params=[_raw_option(), *options], callback=tools, help=HELP)


def make_foreign() -> click.Command:
    def tools(raw: bool, command: Sequence[str] | str) -> None:
        _list(command, is_ours=False, raw=raw)

    return click.Command("tools", params=[foreign_option(), _raw_option()], callback=tools, help=HELP)


def _raw_option() -> click.Option:
    return click.Option(["--raw"], is_flag=True, help="Print the list as JSON, as it came.")


def _list(address: Sequence[str] | str, *, is_ours: bool, raw: bool) -> None:
    from faultless.cli import conversation, show  # noqa: PLC0415 - the SDK is slow to import, --help must not be

    listed = conversation.list_tools(conversation.Server(address, is_ours))
    if raw:
        show.print_json(listed)
    else:
        show.emit(show.console(), *(show.render_tool(show.cleaned(tool)) for tool in listed))


command = ByServer(
    "tools",
    make,
    make_foreign=make_foreign,
    help=HELP,
)
