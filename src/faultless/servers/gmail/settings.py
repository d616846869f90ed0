"""What the Gmail server was started with: where things lie, and what it may do."""

from __future__ import annotations

import fnmatch
import glob
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from faultless.approval import check_account, default_state_folder, locate_account, read_attachments
from faultless.contract import Fault, FaultKind
from faultless.kit.command import option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from faultless.approval import Attachment

_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    root: Path
    read_only: bool = option(False, "Change nothing in the account.")
    drafts_only: bool = option(False, "Make drafts, send nothing.")
    allow_recipient: tuple[str, ...] = option(
        (),
        "Write only to addresses like this, for example *@example.org; may be repeated.",
        metavar="GLOB",
    )
    max_sends_per_hour: int | None = option(None, "Refuse to send more.", metavar="N", at_least=1)
    send_without_approval: bool = option(False, "Send what no person approved. Think twice.")
    attachments: Path | None = option(
        None, "Where attachments are saved (default: attachments/ in the root).", metavar="DIR"
    )
    attach_from: Path | None = option(
        None, "Mails may carry files of this folder (default: none may).", metavar="DIR"
    )
    account: str = option(
        "", "One of several accounts, each with its own login, limits and journal.", metavar="NAME"
    )
    token: Path | None = option(None, "The login (default: $GMAIL_TOKEN_PATH, or our own).", metavar="FILE")
    state: Path | None = option(
        None,
        "Approvals, send records and the audit journal (default: $FAULTLESS_STATE, or our own).",
        metavar="DIR",
    )
    timeout_seconds: float = option(
        30.0, "How long a call may take.", flag="--timeout", metavar="SECONDS", more_than=0
    )
    """For one tool call, its retries included; a send has it for each of its steps."""
    api_url: str = option(
        "https://gmail.googleapis.com", "Another address of the Gmail API, for tests.", hidden=True
    )

    def __post_init__(self) -> None:
        check_url(self.api_url)
        if self.account:
            check_account(self.account)

    @property
    def token_path(self) -> Path:
        return self.token or default_token_path(self.account)

    @property
    def state_folder(self) -> Path:
        return locate_account(self.state or default_state_folder(), self.account)

    @property
    def attachments_folder(self) -> Path:
        return self.attachments or self.root / "attachments"

    def require_changes(self, tool: str) -> None:
        if self.read_only:
            raise _forbidden(tool, "--read-only")

    def require_sending(self, tool: str) -> None:
        self.require_changes(tool)
        if self.drafts_only:
            raise _forbidden(tool, "--drafts-only")

    def require_recipients(self, addresses: Sequence[str]) -> None:
        """With no pattern given, everybody may be written to."""
        patterns = [pattern.lower() for pattern in self.allow_recipient]
        refused = [
            address
            for address in addresses
            if patterns and not any(fnmatch.fnmatchcase(address.lower(), pattern) for pattern in patterns)
        ]
        if refused:
            raise Fault(
                FaultKind.PERMISSION_DENIED,
                f"this server may not write to {', '.join(refused)}",
                hint=f"allowed are: {', '.join(self.allow_recipient)}",
                details={"refused_recipients": list(refused)},
            )

    def read_attachments(self, paths: Sequence[str]) -> tuple[Attachment, ...]:
        if paths and self.attach_from is None:
            raise Fault(
                FaultKind.PERMISSION_DENIED,
                "this server attaches no files",
                hint="the person who runs the server names a folder with --attach-from",
                details={"option": "--attach-from"},
            )
        return read_attachments(self.attach_from, paths) if self.attach_from else ()


def _forbidden(tool: str, flag: str) -> Fault:
    return Fault(
        FaultKind.PERMISSION_DENIED,
        f"{tool} is off: this server was started with {flag}",
        hint=f"the person who runs the server can start it without {flag}",
        details={"tool": tool, "option": flag},
    )


def default_token_path(account: str = "") -> Path:
    """A named account's login lies beside the unnamed one's."""
    path = Path(os.environ.get("GMAIL_TOKEN_PATH") or _configuration_folder() / "gmail-token.json")
    return path.with_name(f"{path.stem}-{check_account(account)}{path.suffix}") if account else path


def list_accounts() -> list[str]:
    """The named ones that have a login where we put it."""
    path = default_token_path()
    found = path.parent.glob(f"{glob.escape(path.stem)}-*{glob.escape(path.suffix)}")
    return sorted(it.name.removeprefix(f"{path.stem}-").removesuffix(path.suffix) for it in found)


def default_credentials_path() -> Path:
    return Path(os.environ.get("GMAIL_CREDENTIALS_PATH") or _configuration_folder() / "gmail-client.json")


def _configuration_folder() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "faultless"


def is_loopback(url: str) -> bool:
    return urlsplit(url).hostname in _LOOPBACK


def check_url(url: str) -> str:
    """Tokens travel to this address, so it is encrypted or does not leave the machine."""
    if urlsplit(url).scheme == "https" or is_loopback(url):
        return url.rstrip("/")
    raise Fault(
        FaultKind.INVALID_PARAMS,
        "the API address must be https, or on this machine",
        hint="leave --api-url out",
        details={"field": "api_url"},
    )
