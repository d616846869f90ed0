"""`faultless doctor`: what works here, what is missing, and how to get it."""

from __future__ import annotations

import platform
import shutil
import sys
import time
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import click
from rich.text import Text

from faultless.cli import VERDICT, show
from faultless.cli.lookup import load, require_extra
from faultless.cli.options import server_command
from faultless.contract import Fault, FaultKind
from faultless.kit.command import Check
from faultless.kit.root import Root
from faultless.servers import SERVERS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MISSING = 1
OLDEST_PYTHON = (3, 11)
OLDEST_MCP = (2, 3)
PROGRAMS = {
    "git": "used to find a repository's top; install git",
    "bwrap": "a stronger sandbox for code that is run; install bubblewrap",
    "node": "only for tools written in JavaScript; install Node.js",
}
HELP = """\
Say what works here, what is missing, and how to get it.

\b
  faultless doctor                       everything
  faultless doctor pytest --root ~/project

Every server is started and asked for its tools. Exit status 1 when something that is needed is missing.
"""


@dataclass(frozen=True, slots=True)
class Finding:
    check: Check
    needed: bool = True


@click.command("doctor", help=HELP)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option(
    "--root",
    type=click.Path(file_okay=False),
    default=".",
    metavar="DIR",
    help="The folder servers may touch.",
)
def command(names: tuple[str, ...], root: str) -> int:
    folder = Root(root).path
    missing = _print_section("this installation", _look_around())
    for name in names or sorted(SERVERS):
        missing |= _print_section(f"server {name}", _look_at(name, folder, needed=bool(names)))
    return MISSING if missing else VERDICT


def _print_section(title: str, findings: Iterator[Finding]) -> bool:
    """Printed as found: starting servers takes its time. True when something needed is missing."""
    screen = show.console()
    screen.print(title, style="bold")
    missing = False
    for finding in findings:
        check = finding.check
        bad = finding.needed and not check.ok
        mark, style = (
            ("ok", "green") if check.ok else ("MISSING", "bold red") if bad else ("absent", "yellow")
        )
        screen.print(
            Text.assemble("  ", (f"{mark:<8}", style), f"{check.name}: {show.cleaned(check.found)}"),
            soft_wrap=True,
        )
        if not check.ok and check.fix:
            screen.print(
                Text.assemble("          ", ("fix: ", "cyan"), show.cleaned(check.fix)), soft_wrap=True
            )
        missing |= bad
    return missing


def _look_around() -> Iterator[Finding]:
    yield Finding(
        Check(
            "python",
            sys.version_info >= OLDEST_PYTHON,
            f"{platform.python_version()} at {sys.executable}",
            "use 3.11 or newer",
        )
    )
    yield Finding(_check_mcp())
    for program, use in PROGRAMS.items():
        place = shutil.which(program)
        yield Finding(Check(program, place is not None, place or "not on PATH", use), needed=False)


def _check_mcp() -> Check:
    try:
        found = version("mcp")
    except PackageNotFoundError:
        found = ""
    numbers = tuple(int(part) for part in found.split(".")[:2] if part.isdigit())
    return Check("mcp", numbers >= OLDEST_MCP, found or "not installed", "pip install 'mcp>=2.3'")


def _look_at(name: str, folder: Path, *, needed: bool) -> Iterator[Finding]:
    try:
        kind = load(name)
        if name in SERVERS:
            require_extra(name)
    except Fault as fault:
        # A server whose extra was not installed is nobody's loss, unless it was asked for by name.
        optional = fault.kind is FaultKind.UNAVAILABLE and not needed
        yield Finding(
            Check("installed", ok=False, found=fault.message, fix=fault.hint or ""), needed=not optional
        )
        return
    for check in kind.diagnose(folder):
        yield Finding(check)
    yield Finding(_check_answer(name, folder))


def _check_answer(name: str, folder: Path) -> Check:

    from faultless.cli import conversation  # noqa: PLC0415 - the SDK is slow to import, --help must not be

    started = time.monotonic()
    try:
        tools = conversation.list_tools(conversation.Server(server_command(name, ["--root", str(folder)])))
    except Fault as fault:
        return Check("answers", ok=False, found=fault.message, fix=fault.hint or "")
    return Check("answers", ok=True, found=f"{len(tools)} tools in {time.monotonic() - started:.1f} s")
