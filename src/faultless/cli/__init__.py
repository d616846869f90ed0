"""The `faultless` command.

Only `click` is imported here: a client waits while `serve` starts, so each command brings its own imports.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from faultless.cli.lookup import load
from faultless.contract import Fault, FaultKind
from faultless.servers import SERVERS

if TYPE_CHECKING:
    from collections.abc import Sequence

VERDICT, BAD_NEWS, FAULT = 0, 1, 2
INTERRUPTED = 130
COMMANDS = {
    "serve": "Serve on stdin and stdout, for an MCP client.",
    "call": "Call one tool and show the verdict or the fault.",
    "tools": "The tools of a server and their parameters.",
    "new": "Write a server to begin with.",
    "config": "What to paste into a client's settings.",
    "doctor": "What works here, what is missing, how to get it.",
    "login": "Log in to a service with a browser, once.",
    "outbox": "Send approved drafts from an Obsidian vault.",
}
"""Each is a module of this package, imported when it is asked for."""

HELP = """\
MCP servers that agree on what an error is.

\b
  faultless serve pytest --root .              serve on stdin and stdout, for an MCP client
  faultless call pytest execute_tests markers=slow
  faultless tools pytest                       the tools and their parameters
  faultless config claude-code pytest          what to paste into a client's settings
  faultless doctor                             what works here, what is missing, how to get it
  faultless new server shop                    a server of your own, with tests
  faultless toolbox new hello                  a script as a tool; `toolbox check` shows what is exposed

NAME is one of our servers, or module:attribute or file.py:attribute for a Toolset of your own.

Exit status: 0 a verdict, 1 a verdict with bad news (red tests, a counterexample), 2 a fault.
"""


class Commands(click.Group):
    """Commands imported when they are asked for; the list of them imports none."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        if cmd_name not in COMMANDS:
            return _own_commands(cmd_name)
        command: click.Command = importlib.import_module(f"faultless.cli.{cmd_name}").command
        return command


def _own_commands(name: str) -> click.Command | None:
    """What a server brings besides being served."""
    if name not in SERVERS or not SERVERS[name].has_commands:
        return None
    kind = load(name)
    return click.Group(name, commands=dict(kind.commands()), help=kind.summary)


def print_version(ctx: click.Context, _option: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from importlib.metadata import version  # noqa: PLC0415 - slow, and rarely wanted

        click.echo(
            f"faultless {version('faultless')} (mcp {version('mcp')}, Python {sys.version.split()[0]})"
        )
        ctx.exit()


@click.group(cls=Commands, help=HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=print_version,
    help="Say which version.",
)
def faultless() -> None:
    """Replaced by HELP above."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and end the process; no traceback reaches the user."""
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: PTH123, SIM115 - None when closed by who started us
    sys.stderr = sys.stderr or sys.stdout
    status = run(sys.argv[1:] if arguments is None else arguments)
    try:
        sys.stdout.flush()
    except OSError:
        os._exit(status)  # the reader of our output left; Python would complain about it on the way out
    sys.exit(status)


def run(arguments: Sequence[str]) -> int:
    try:
        return _status(faultless.main(list(arguments), prog_name="faultless", standalone_mode=False))
    except click.ClickException as refused:
        refused.show()
        return FAULT
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        return VERDICT
    except Fault as fault:
        return _tell(fault)
    except Exception as unforeseen:  # noqa: BLE001 - the command's own boundary: a bug in us or in a stranger's server
        return _tell(_explain(unforeseen))


def _status(value: Any) -> int:  # noqa: ANN401 - whatever click made of the command's answer
    return value if isinstance(value, int) else VERDICT


def _tell(fault: Fault) -> int:
    from faultless.cli import show  # noqa: PLC0415 - only on failure

    show.print_fault(fault)
    return FAULT


def _explain(unforeseen: Exception) -> Fault:
    import traceback  # noqa: PLC0415 - only on failure

    from faultless.kit import log  # noqa: PLC0415 - as above

    where = traceback.extract_tb(unforeseen.__traceback__)[-1]
    log.debug("the command failed", traceback="".join(traceback.format_exception(unforeseen)))
    return Fault(
        FaultKind.INTERNAL,
        f"{type(unforeseen).__name__} at {Path(where.filename).name}:{where.lineno}: {unforeseen}",
        hint="FAULTLESS_LOG_LEVEL=debug shows where it came from; please report it",
    )
