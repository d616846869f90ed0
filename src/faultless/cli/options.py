"""A command that takes a server's NAME first, and then that server's own options."""

from __future__ import annotations

import dataclasses
import math
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

import click
from click.core import ParameterSource

from faultless.cli.lookup import load, split
from faultless.kit.command import OPTION
from faultless.servers import SERVERS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from faultless.kit.command import Option, ServerKind

FOREIGN = "--command"


class Number(click.FloatRange):
    """A number one can count or wait: nan is in every range, since it compares with nothing."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401 - click's signature
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class ByServer(click.Group):
    """`faultless VERB NAME …`: the options after NAME are those of the server it names."""

    def __init__(
        self,
        name: str,
        make: Callable[[str, ServerKind], click.Command],
        *,
        make_foreign: Callable[[], click.Command] | None = None,
        **settings: Any,  # noqa: ANN401 - click's own
    ) -> None:
        super().__init__(name, subcommand_metavar="NAME [OPTIONS]...", **settings)
        self._make = make
        self._make_foreign = make_foreign

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(SERVERS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:  # noqa: ARG002 - as above
        if cmd_name == FOREIGN and self._make_foreign is not None:
            return self._make_foreign()
        return self._make(cmd_name, load(cmd_name))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Options may also come before NAME, as people write them; --command stands in its place."""
        if self._make_foreign is not None and any(word.split("=")[0] == FOREIGN for word in args):
            return super().parse_args(ctx, ["--", FOREIGN, *args])
        if args and args[0].startswith("-"):
            place = next((index for index, word in enumerate(args) if _names_server(word)), 0)
            args = [args[place], *args[:place], *args[place + 1 :]]
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Without importing every server."""
        rows = [(name, SERVERS[name].summary) for name in self.list_commands(ctx)]
        with formatter.section("Servers"):
            formatter.write_dl(
                [*rows, ("module:attribute", "a Toolset or ServerKind of your own; file.py:attribute too")]
            )


def _names_server(word: str) -> bool:
    return word in SERVERS or (":" in word and "=" not in word and not word.startswith(("-", "{")))


def foreign_option() -> click.Option:
    return click.Option(
        [FOREIGN],
        required=True,
        metavar="COMMAND",
        callback=_read_address,
        help="Start this server instead of one of ours, or reach it, if it is a URL.",
    )


def _read_address(_ctx: click.Context, _option: click.Parameter, value: str) -> list[str] | str:
    if value.startswith(("http://", "https://")):
        return value
    try:
        words = shlex.split(value)
    except ValueError as unclosed:
        raise click.BadParameter(f"{unclosed}: {value}") from unclosed
    if not words:
        raise click.BadParameter("it is empty")
    return words


def serving_options(kind: ServerKind) -> list[click.Option]:
    """What `serve` takes; the other commands pass it on."""
    return [
        click.Option(
            ["--root"],
            type=click.Path(file_okay=False),
            default=".",
            show_default="the current folder",
            metavar="DIR",
            help="The folder the server may touch.",
        ),
        click.Option(
            ["--faults"],
            type=click.Choice(["native", "result"]),
            default="native",
            show_default=True,
            help="native: as the server's documents fix it; result: always as isError results.",
        ),
        click.Option(["--debug"], is_flag=True, help="Add our own tracebacks to internal faults."),
        click.Option(
            ["--max-frame-bytes"],
            type=click.IntRange(min=1024),
            default=4 * 1024 * 1024,
            show_default="4 MiB",
            metavar="N",
            help="Refuse longer messages.",
        ),
        *settings_options(kind),
    ]


def settings_options(kind: ServerKind) -> list[click.Option]:
    """The fields of the server's settings, as options."""
    return [
        _make_option(name, described, hint, default)
        for name, described, hint, default in _list_settings(kind)
        if not described.is_positional
    ]


def settings_arguments(kind: ServerKind) -> list[click.Argument]:
    """Words that `serve` takes after the server's name."""
    return [
        click.Argument([name], required=False, metavar=described.metavar)
        for name, described, _hint, _default in _list_settings(kind)
        if described.is_positional
    ]


def _list_settings(kind: ServerKind) -> list[tuple[str, Option, Any, Any]]:
    if kind.settings is None:
        return []
    hints = get_type_hints(kind.settings)
    return [
        (field.name, field.metadata[OPTION], hints[field.name], field.default)
        for field in dataclasses.fields(kind.settings)
        if OPTION in field.metadata
    ]


def _make_option(name: str, described: Option, hint: Any, default: Any) -> click.Option:  # noqa: ANN401 - types and values
    is_flag, is_repeatable = hint is bool, get_origin(hint) is tuple
    flag = described.flag or f"--{name.replace('_', '-')}"
    is_set = default is not None and not is_flag and not is_repeatable
    return click.Option(
        [flag, name],
        type=None if is_flag else _choose_type(_element(hint), described),
        is_flag=is_flag,
        multiple=is_repeatable,
        default=default,
        show_default=described.shown_default or is_set,
        envvar=described.variable,
        metavar=described.metavar or _name_value(name, hint),
        hidden=described.hidden,
        help=described.help,
    )


def _name_value(name: str, hint: Any) -> str | None:  # noqa: ANN401 - a type
    if _element(hint) not in {int, float}:
        return None
    return "SECONDS" if name.endswith("seconds") else "N"


def _element(hint: Any) -> Any:  # noqa: ANN401 - a type
    """Of `X | None` and of `tuple[X, ...]`: X."""
    if get_origin(hint) is Literal:
        return hint
    inner = [one for one in get_args(hint) if one not in {type(None), ...}]
    return inner[0] if inner else hint


def _choose_type(hint: Any, described: Option) -> click.ParamType[Any]:  # noqa: ANN401 - a type
    if get_origin(hint) is Literal:
        return click.Choice(get_args(hint))
    if hint is Path:
        return click.Path(exists=described.must_exist, path_type=Path)
    if hint in {int, float}:
        low = described.at_least if described.more_than is None else described.more_than
        is_open = described.more_than is not None
        number = click.IntRange if hint is int else Number
        return number(min=low, max=described.at_most, min_open=is_open)  # type: ignore[arg-type]  # whole for an int
    return click.STRING


class ServerCommand(click.Command):
    """A command with a server's options, which also knows their old spellings."""

    def __init__(self, name: str, kind: ServerKind, **settings: Any) -> None:  # noqa: ANN401 - click's own
        super().__init__(name, **settings)
        self._renamed = {
            old: described.flag or f"--{field.replace('_', '-')}"
            for field, described, _hint, _default in _list_settings(kind)
            for old in described.renamed_from
        }

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [self._spell_anew(word) for word in args])

    def _spell_anew(self, word: str) -> str:
        flag, equals, value = word.partition("=")
        if flag not in self._renamed:
            return word
        click.echo(f"{flag} is now called {self._renamed[flag]}", err=True)
        return f"{self._renamed[flag]}{equals}{value}"


def serving_arguments(ctx: click.Context, options: Sequence[click.Option], root: Path) -> list[str]:
    """Those of the options that this command was given, as words for `serve` from any folder."""
    words = ["--root", str(root)]
    for option in options:
        name = option.name or ""
        if name != "root" and ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            words += _spell(option, ctx.params[name])
    return words


def _spell(option: click.Option, value: Any) -> list[str]:  # noqa: ANN401 - whatever the option's type made
    flag = max(option.opts, key=len)
    if option.is_flag:
        off = max(option.secondary_opts, key=len, default="")
        return [flag if value else off]
    if option.count:
        return [flag] * int(value)
    values: Sequence[Any] = value if option.multiple else [value]
    return [word for one in values for word in (flag, *_words(one, option.nargs))]


def _words(value: Any, count: int) -> list[str]:  # noqa: ANN401 - as above
    parts: Sequence[Any] = value if count > 1 else [value]
    return [str(part.absolute() if isinstance(part, Path) else part) for part in parts]


def server_command(name: str, words: Sequence[str]) -> list[str]:
    """A command that works from anywhere; -P keeps the current folder's modules from shadowing ours."""
    module_name, attribute = split(name)
    if module_name.endswith(".py"):
        name = f"{Path(module_name).resolve()}:{attribute}"
    return [sys.executable, "-P", "-m", "faultless", "serve", name, *words]
