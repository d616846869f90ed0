"""`faultless outbox`: approved drafts leave, exactly those, at most once."""

from __future__ import annotations

import getpass
import json
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from faultless.cli import FAULT, VERDICT
from faultless.cli.options import Number
from faultless.cli.outbox_display import render, visible

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from faultless.cli.outbox_session import Session
    from faultless.contract import Fault
    from faultless.outbox import Entry

HELP = """\
Send what a person approved: Drafts/ -> Approved/ -> Done/, in an Obsidian vault.

\b
  faultless outbox list --vault ~/vault
  faultless outbox approve --vault ~/vault invoice.md     shows the exact mail, and asks
  faultless outbox run --vault ~/vault

A note's frontmatter holds to, subject and optionally cc, bcc, reply_to_message_id, attachments (files of the
vault), account; its text, without its %%comments%%, is the mail. An approval holds for exactly that
content: a note changed afterwards goes back to Drafts/ and says so.
"""


def _shared(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options every outbox command takes."""
    for option in (
        click.option(
            "--account",
            default="",
            metavar="NAME",
            help="One of several accounts; it takes the drafts that say `account: NAME`.",
        ),
        click.option("--gmail-command", metavar="WORDS", help="Another command for the Gmail server."),
        click.option("--obsidian-command", metavar="WORDS", help="Another command for the vault's server."),
        click.option(
            "--state",
            type=click.Path(file_okay=False, path_type=Path),
            metavar="DIR",
            help="Approvals and journals (default: $FAULTLESS_STATE, or our own); never inside the vault.",
        ),
        click.option(
            "--vault",
            envvar="VAULT_PATH",
            required=True,
            type=click.Path(exists=True, file_okay=False, path_type=Path),
            metavar="DIR",
        ),
    ):
        function = option(function)
    return function


@click.group("outbox", help=HELP, short_help="Send approved drafts from an Obsidian vault.")
def command() -> None:
    """Replaced by HELP above."""


@command.command(
    short_help="Send what is approved, now and from now on.",
    help="Find out about what may have left, then send what is approved; end with Ctrl-C.",
)
@_shared
@click.option("--once", is_flag=True, help="One pass, then end; exit status 1 if something failed.")
@click.option("--approve-by-move", is_flag=True, help="Moving a note into Approved/ by hand approves it.")
@click.option(
    "--quiet",
    "quiet_seconds",
    type=Number(min=0),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="A note that was moved is taken up once it has read the same for so long.",
)
@click.option(
    "--interval",
    type=Number(min=0.1),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="Between two passes.",
)
def run(
    *,
    once: bool,
    approve_by_move: bool,
    quiet_seconds: float,
    interval: float,
    **options: Any,  # noqa: ANN401 - the shared ones
) -> int:
    import anyio  # noqa: PLC0415 - --help must be fast

    async def work(session: Session) -> int:
        outbox = session.make_outbox(
            approve_by_move=approve_by_move, quiet_seconds=quiet_seconds, on_change=_tell
        )
        bad = False
        with session.exclude_others():
            while True:
                done = await outbox.run_once()
                for fault in done.problems:
                    _tell_problem(fault)
                bad = bad or bool(done.problems) or any(entry.reason for entry in done.changed)
                if once and not done.waits:
                    return 1 if bad else VERDICT
                await anyio.sleep(min(interval, quiet_seconds) if once else interval)

    return _converse(work, options)


@command.command(
    short_help="Show a mail exactly, ask, and record the approval.",
    help="NOTE is a name or a path in the vault.",
)
@_shared
@click.argument("note")
@click.option("--as", "approved_by", metavar="NAME", help="Who approves (default: your user name).")
@click.option(
    "--expires-in", type=click.IntRange(min=1), default=7, show_default=True, metavar="DAYS", help="How long."
)
def approve(*, note: str, approved_by: str | None, expires_in: int, **options: Any) -> int:  # noqa: ANN401 - the shared ones
    async def work(session: Session) -> int:
        desk = session.make_desk()
        found, content = await desk.open(note)
        warnings = await desk.examine(found, content)
        click.echo(render(found.path, content))
        for warning in warnings:
            click.echo(f"WARNING: {visible(warning)}")
        if not click.confirm("Send it once more?" if warnings else "Send exactly this?", default=False):
            click.echo("Not approved.")
            return 1
        approval = await desk.approve(
            found, content, approved_by or getpass.getuser(), timedelta(days=expires_in)
        )
        click.echo(f"Approved until {approval.expires_at}: {approval.id}")
        click.echo(
            "It leaves at the next pass of `faultless outbox run`; `outbox list` shows what became of it."
        )
        return VERDICT

    return _converse(work, options)


@command.command(short_help="Put a note into Rejected/.", help="NOTE is a name or a path in the vault.")
@_shared
@click.argument("note")
@click.option("--reason", default="", help="For whoever wrote it.")
def reject(*, note: str, reason: str, **options: Any) -> int:  # noqa: ANN401 - the shared ones
    async def work(session: Session) -> int:
        desk = session.make_desk()
        found, _ = await desk.open(note)
        _tell(await desk.reject(found, reason))
        return VERDICT

    return _converse(work, options)


@command.command(
    short_help="Say whether a mail that may have left really did.",
    help="For a mail that is unknown, after a look into the account; "
    "one that did not leave is a draft again.",
)
@_shared
@click.argument("note")
@click.option("--left/--not-left", required=True, help="Whether you found it among the sent mails.")
def settle(*, note: str, left: bool, **options: Any) -> int:  # noqa: ANN401 - the shared ones
    async def work(session: Session) -> int:
        _tell(await session.make_desk().resolve_unknown(note, left=left))
        return VERDICT

    return _converse(work, options)


@command.command(
    "list",
    short_help="Show every mail and its state.",
    help="States: drafted, approved, sending, unknown, failed, sent, rejected; "
    "elsewhere is for another account.",
)
@_shared
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def list_(*, as_json: bool, **options: Any) -> int:  # noqa: ANN401 - the shared ones
    async def work(session: Session) -> int:
        rows = await session.list_entries()
        if as_json:
            fields = [{"path": path or None, **asdict(entry)} for path, entry in rows]
            click.echo(json.dumps(fields, indent=2, ensure_ascii=False))
            return VERDICT
        for path, entry in rows:
            click.echo(f"{entry.state.value:<9} {visible(path or entry.note)}{_because(entry)}")
        return VERDICT

    return _converse(work, options)


def _converse(work: Callable[[Session], Awaitable[int]], options: dict[str, Any]) -> int:
    from faultless.cli.outbox_session import converse  # noqa: PLC0415 - the SDK is slow to import

    status: int = converse(work, **options)
    return status if status in range(FAULT + 1) else FAULT


def _tell(entry: Entry) -> None:
    click.echo(f"{entry.state.value:<9} {visible(entry.note)}{_because(entry)}")


def _tell_problem(fault: Fault) -> None:
    hint = f"\n  next: {visible(fault.hint)}" if fault.hint else ""
    click.echo(f"{fault.kind.value}: {visible(fault.message)}{hint}", err=True)


def _because(entry: Entry) -> str:
    hint = f"\n          next: {visible(entry.hint)}" if entry.hint else ""
    return f"  ({visible(entry.reason)}){hint}" if entry.reason else ""
