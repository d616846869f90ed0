"""Read, sort, draft and send the mail of one Gmail account; send at most once, and only what was approved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from faultless.kit.toolset import ServerKind

if TYPE_CHECKING:
    from faultless.kit.toolset import Check, Toolset

__all__ = ["server"]

_FILE = click.Path(dir_okay=False, path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)


def _build(root: Path, options: dict[str, Any]) -> Toolset:
    from faultless.servers.gmail.settings import read_settings  # noqa: PLC0415 - the command line loads every server's kind
    from faultless.servers.gmail.toolset import build_toolset  # noqa: PLC0415 - as above

    return build_toolset(read_settings(root, options))


def _diagnose(root: Path) -> list[Check]:
    from faultless.servers.gmail.diagnosis import diagnose  # noqa: PLC0415 - as above

    return diagnose(root)


server = ServerKind(
    name="gmail",
    summary="Read, sort, draft and send the mail of one Gmail account. First: faultless login gmail.",
    build=_build,
    options=(
        click.Option(["--read-only"], is_flag=True, help="Change nothing in the account."),
        click.Option(["--drafts-only"], is_flag=True, help="Make drafts, send nothing."),
        click.Option(
            ["--allow-recipient"],
            multiple=True,
            metavar="GLOB",
            help="Write only to addresses like this, for example *@example.org; may be repeated.",
        ),
        click.Option(
            ["--max-sends-per-hour"],
            type=click.IntRange(min=1),
            metavar="N",
            help="Refuse to send more.",
        ),
        click.Option(
            ["--send-without-approval"], is_flag=True, help="Send what no person approved. Think twice."
        ),
        click.Option(
            ["--attachments"],
            type=_FOLDER,
            metavar="DIR",
            help="Where attachments are saved (default: attachments/ in the root).",
        ),
        click.Option(
            ["--token"],
            type=_FILE,
            metavar="FILE",
            help="The login (default: $GMAIL_TOKEN_PATH, or our own).",
        ),
        click.Option(
            ["--state"],
            type=_FOLDER,
            metavar="DIR",
            help="Approvals, send records and the audit journal (default: $FAULTLESS_STATE, or our own).",
        ),
        click.Option(
            ["--timeout"],
            type=click.FloatRange(min=0, min_open=True),
            default=30.0,
            show_default=True,
            metavar="SECONDS",
            help="How long a call may take.",
        ),
        click.Option(["--api-url"], hidden=True, help="Another address of the Gmail API, for tests."),
    ),
    diagnose=_diagnose,
)
