"""`faultless config CLIENT NAME`: what to paste into a client's settings."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING, Any

import click

from faultless.cli.lookup import import_folder, split
from faultless.cli.options import ByServer, ServerCommand, server_command, serving_arguments, serving_options
from faultless.kit.root import Root

if TYPE_CHECKING:
    from collections.abc import Sequence

    from faultless.kit.command import ServerKind

PLACES = {
    "claude-code": ("mcpServers", ".mcp.json in the project"),
    "claude-desktop": ("mcpServers", "claude_desktop_config.json (Settings, Developer, Edit Config)"),
    "vscode": ("servers", ".vscode/mcp.json in the workspace"),
    "cursor": ("mcpServers", ".cursor/mcp.json in the project, or ~/.cursor/mcp.json"),
}
HELP = """\
Print the snippet that makes CLIENT start the server NAME from this installation.

\b
  faultless config claude-code pytest
  faultless config vscode pytest --root ~/project > .vscode/mcp.json

The JSON goes to standard output, where to put it to standard error. The root is the current folder unless
--root names another; other options of `serve` are taken over too.
"""


def make_for(client: str) -> click.Command:
    def make(name: str, kind: ServerKind) -> click.Command:
        options = serving_options(kind)

        @click.pass_context
        def config(ctx: click.Context, /, root: str, **_others: Any) -> None:  # noqa: ANN401 - taken over by name
            words = server_command(name, serving_arguments(ctx, options, Root(root).path))
            # The client starts it elsewhere, where a module of the current folder would not be found.
            local = ":" in name and not split(name)[0].endswith(".py")
            folders = {"PYTHONPATH": import_folder(name)} if local else {}
            _print_snippet(client, re.sub(r"[^\w-]", "-", kind.name), words, folders)

        return ServerCommand(name, kind, params=[*options], callback=config, help=HELP)

    return ByServer(client, make, help=HELP, short_help=PLACES[client][1])


def _print_snippet(client: str, title: str, words: Sequence[str], environment: dict[str, str]) -> None:
    key, place = PLACES[client]
    entry: dict[str, Any] = {"command": words[0], "args": list(words[1:])}
    if client in {"vscode", "claude-code"}:
        entry = {"type": "stdio", **entry}
    if environment:
        entry["env"] = environment
    if client == "claude-code":
        setting = [word for pair in environment.items() for word in ("--env", "=".join(pair))]
        command = ["claude", "mcp", "add", *setting, "--transport", "stdio", title, "--", *words]
        click.echo(f"run:  {shlex.join(command)}", err=True)
        click.echo(f"or put this into {place}:", err=True)
    else:
        click.echo(f"put this into {place}:", err=True)
    click.echo(json.dumps({key: {title: entry}}, indent=2))


command = click.Group(
    "config",
    commands={client: make_for(client) for client in PLACES},
    help=HELP,
    subcommand_metavar="CLIENT NAME [OPTIONS]...",
)
