"""`faultless config CLIENT NAME`: what to paste into a client's settings."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from faultless.cli.lookup import import_folder, split
from faultless.cli.options import (
    ByServer,
    ServerCommand,
    server_command,
    serving_arguments,
    serving_options,
    settings_arguments,
)
from faultless.kit.root import Root

if TYPE_CHECKING:
    from collections.abc import Sequence

    from faultless.kit.command import ServerKind


@dataclass(frozen=True, slots=True)
class _Client:
    key: str
    """Under which its settings list servers."""
    place: str
    shows: str
    """What becomes of a JSON-RPC error there: the reason for asking for results."""
    names_transport: bool = False
    takes_comments: bool = False


_CLIENTS = {
    "claude-code": _Client(
        "mcpServers",
        ".mcp.json in the project",
        "Claude Code shows the model only the message of a JSON-RPC error",
        names_transport=True,
    ),
    "claude-desktop": _Client(
        "mcpServers",
        "claude_desktop_config.json (Settings, Developer, Edit Config)",
        "Claude Desktop may show the model only the message of a JSON-RPC error",
    ),
    "vscode": _Client(
        "servers",
        ".vscode/mcp.json in the workspace",
        "VS Code shows the model only the message of a JSON-RPC error",
        names_transport=True,
        takes_comments=True,
    ),
    "cursor": _Client(
        "mcpServers",
        ".cursor/mcp.json in the project, or ~/.cursor/mcp.json",
        "Cursor may show the model only the message of a JSON-RPC error",
    ),
}
HELP = """\
Print the snippet that makes CLIENT start the server NAME from this installation.

\b
  faultless config claude-code pytest
  faultless config vscode pytest --root ~/project > .vscode/mcp.json

The snippet goes to standard output, where to put it to standard error. The root is the current folder unless
--root names another; other words and options of `serve` are taken over too, files among them with their whole
path. Without --faults it is what CLIENT shows best: results, where it shows only the message of a JSON-RPC
error; for vscode, whose settings may hold comments, a comment says so.
"""


def make_for(title: str) -> click.Command:
    client = _CLIENTS[title]

    def make(name: str, kind: ServerKind) -> click.Command:
        options, positional = serving_options(kind), settings_arguments(kind)

        @click.pass_context
        def config(ctx: click.Context, /, root: str, **_others: Any) -> None:  # noqa: ANN401 - taken over by name
            is_chosen = ctx.get_parameter_source("faults") is ParameterSource.COMMANDLINE
            best = [] if is_chosen else ["--faults", "result"]
            after_name = [given for word in positional if (given := ctx.params[word.name or ""])]
            chosen = serving_arguments(ctx, options, Root(root).path)
            words = server_command(name, [*after_name, *best, *chosen])
            # The client starts it elsewhere, where a module of the current folder would not be found.
            local = ":" in name and not split(name)[0].endswith(".py")
            folders = {"PYTHONPATH": import_folder(name)} if local else {}
            entry: dict[str, Any] = {"type": "stdio"} if client.names_transport else {}
            entry |= {"command": words[0], "args": words[1:]} | ({"env": folders} if folders else {})
            server = re.sub(r"[^\w-]", "-", kind.name)
            if title == "claude-code":
                _print_command(server, words, folders)
            click.echo(f"put this into {client.place}:", err=True)
            _print_snippet(client, {client.key: {server: entry}}, None if is_chosen else client.shows)

        return ServerCommand(name, kind, params=[*options, *positional], callback=config, help=HELP)

    return ByServer(title, make, help=HELP, short_help=client.place)


def _print_command(server: str, words: Sequence[str], environment: dict[str, str]) -> None:
    setting = [word for pair in environment.items() for word in ("--env", "=".join(pair))]
    command = ["claude", "mcp", "add", *setting, "--transport", "stdio", server, "--", *words]
    click.echo(f"run:  {shlex.join(command)}\nor", err=True)


def _print_snippet(client: _Client, snippet: dict[str, Any], reason: str | None) -> None:
    text = json.dumps(snippet, indent=2)
    if reason is not None:
        told = f"--faults result: {reason}, but the text of a result"
        if client.takes_comments:
            text = text.replace("{\n", f"{{\n  // {told}\n", 1)
        else:
            click.echo(f"({told})", err=True)
    click.echo(text)


command = click.Group(
    "config",
    commands={title: make_for(title) for title in _CLIENTS},
    help=HELP,
    subcommand_metavar="CLIENT NAME [OPTIONS]...",
)
