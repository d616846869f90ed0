"""What a server tells the command line: its settings as options, how it shows an answer, what doctor finds.

A server's settings are one frozen dataclass. Each field that a user may set is an `option`; its type decides
what the option takes, and its default is written nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pathlib import Path

    import click
    from rich.console import RenderableType

    from faultless.kit.toolset import Toolset

T = TypeVar("T")
OPTION = "option"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One field of the settings as users spell it."""

    help: str
    flag: str | None = None
    """By default the field's name with dashes."""
    renamed_from: tuple[str, ...] = ()
    """Old spellings; they still work, and warn."""
    metavar: str | None = None
    at_least: float | None = None
    more_than: float | None = None
    at_most: float | None = None
    must_exist: bool = False
    """Of a path."""
    variable: str | None = None
    """The environment variable that stands in for it."""
    shown_default: str | None = None
    """Where the default is found out later."""
    hidden: bool = False
    is_positional: bool = False
    """A word after the server's name instead of an option; `serve` only."""


def option(default: T, help: str, **facts: Any) -> T:  # noqa: A002, ANN401 - the words of a command line; the fields of Option
    """A field that users may set. Bool is a flag, tuple may be repeated, Literal is a choice."""
    described: T = field(default=default, metadata={OPTION: Option(help=help, **facts)})
    return described


@dataclass(frozen=True, slots=True)
class Check:
    """One line of `faultless doctor`."""

    name: str
    ok: bool
    found: str
    fix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerKind:
    """A server as the command line sees it. Servers of this house have one made of their folder's modules."""

    name: str
    summary: str
    settings: type[Any] | None = None
    """A frozen dataclass; `root` is filled in with the folder the server may touch."""
    build_toolset: Callable[[Any], Toolset]
    is_bad_news: Callable[[str, dict[str, Any]], bool] = lambda _tool, _answer: False
    render: Callable[[str, dict[str, Any]], RenderableType | None] = lambda _tool, _answer: None
    diagnose: Callable[[Path], Sequence[Check]] = lambda _root: ()
    commands: Callable[[], Mapping[str, click.Command]] = dict
    """Commands of its own: `faultless NAME COMMAND`."""
