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

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

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
        from faultless.kit.root import Root  # noqa: PLC0415 - slow to import, --help must not be

        _list(server_command(name, serving_arguments(ctx, options, Root(root).path)), strict=True, raw=raw)

    return ServerCommand(name, kind, params=[_raw_option(), *options], callback=tools, help=HELP)


def make_foreign() -> click.Command:
    def tools(raw: bool, command: Sequence[str] | str) -> None:
        _list(command, strict=False, raw=raw)

    return click.Command("tools", params=[foreign_option(), _raw_option()], callback=tools, help=HELP)


def _raw_option() -> click.Option:
    return click.Option(["--raw"], is_flag=True, help="Print the list as JSON, as it came.")


def _list(address: Sequence[str] | str, *, strict: bool, raw: bool) -> None:
    from faultless.cli import show, wire  # noqa: PLC0415 - as above

    listed = wire.converse(wire.Server(address, strict), lambda peer: peer.list_tools())
    if raw:
        show.print_json(listed)
    else:
        screen = show.console()
        show.emit(screen, *(_render(show.cleaned(tool)) for tool in listed))


def _render(tool: dict[str, Any]) -> RenderableType:
    from rich.console import Group  # noqa: PLC0415 - as above
    from rich.padding import Padding  # noqa: PLC0415 - as above
    from rich.table import Table  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415 - as above

    schema = tool.get("inputSchema", {})
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, rule in schema.get("properties", {}).items():
        star = "*" if name in schema.get("required", ()) else ""
        table.add_row(Text(f"{name}{star}", "cyan"), describe_type(rule), Text(rule.get("description", "")))
    first_words = str(tool.get("description", "")).split("\n\n")[0].replace("\n", " ")
    marks = ", ".join(_marks(tool.get("annotations") or {}))
    title = Text.assemble((tool["name"], "bold"), ("  " + marks, "dim"))
    return Group(title, Padding(Text(first_words), (0, 0, 0, 2)), Padding(table, (0, 0, 1, 4)))


def describe_type(rule: dict[str, Any]) -> str:
    if "enum" in rule:
        return " | ".join(str(value) for value in rule["enum"])
    options = rule.get("anyOf") or rule.get("oneOf")
    if options:
        return " | ".join(describe_type(option) for option in options)
    if rule.get("type") == "array":
        return f"list of {describe_type(rule.get('items', {}))}"
    default = f" = {rule['default']!r}" if rule.get("default") is not None else ""
    return str(rule.get("type", rule.get("$ref", "any")).rpartition("/")[2]) + default


def _marks(annotations: dict[str, Any]) -> list[str]:
    words = {"readOnlyHint": "read-only", "destructiveHint": "destructive", "idempotentHint": "idempotent"}
    return [word for key, word in words.items() if annotations.get(key)]


command = ByServer(
    "tools",
    make,
    make_foreign=make_foreign,
    help=HELP,
    short_help="The tools of a server and their parameters.",
)
