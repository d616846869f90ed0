"""What the server was started with: where things lie, and what it may do."""

from __future__ import annotations

import fnmatch
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from faultless.approval import default_state_folder
from faultless.contract import Fault, FaultKind

if TYPE_CHECKING:
    from collections.abc import Sequence

DEADLINE_SECONDS = 30.0
API_URL = "https://gmail.googleapis.com"
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


def default_token_path() -> Path:
    return Path(os.environ.get("GMAIL_TOKEN_PATH") or _configuration_folder() / "gmail-token.json")


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


@dataclass(frozen=True, slots=True)
class Policy:
    """What this server may do, whoever asks."""

    read_only: bool = False
    drafts_only: bool = False
    allowed_recipients: tuple[str, ...] = ()
    """Patterns; with none, everybody may be written to."""
    max_sends_per_hour: int | None = None
    needs_approval: bool = True

    def require_changes(self, tool: str) -> None:
        if self.read_only:
            raise _forbidden(tool, "--read-only")

    def require_sending(self, tool: str) -> None:
        self.require_changes(tool)
        if self.drafts_only:
            raise _forbidden(tool, "--drafts-only")

    def require_recipients(self, addresses: Sequence[str]) -> None:
        if not self.allowed_recipients:
            return
        refused = [address for address in addresses if not self._allows(address)]
        if refused:
            raise Fault(
                FaultKind.PERMISSION_DENIED,
                f"this server may not write to {', '.join(refused)}",
                hint=f"allowed are: {', '.join(self.allowed_recipients)}",
                details={"refused_recipients": list(refused)},
            )

    def _allows(self, address: str) -> bool:
        return any(fnmatch.fnmatchcase(address.lower(), it.lower()) for it in self.allowed_recipients)


def _forbidden(tool: str, option: str) -> Fault:
    return Fault(
        FaultKind.PERMISSION_DENIED,
        f"{tool} is off: this server was started with {option}",
        hint=f"the person who runs the server can start it without {option}",
        details={"tool": tool, "option": option},
    )


@dataclass(frozen=True, slots=True)
class Settings:
    token_path: Path
    state_folder: Path
    attachments_folder: Path
    api_url: str = API_URL
    deadline_seconds: float = DEADLINE_SECONDS
    """For one tool call, its retries included; a send has it for each of its steps."""
    policy: Policy = field(default_factory=Policy)


def read_settings(root: Path, options: dict[str, Any]) -> Settings:
    """From the folder and the parsed options of `faultless serve gmail`."""
    return Settings(
        token_path=options.get("token") or default_token_path(),
        state_folder=options.get("state") or default_state_folder(),
        attachments_folder=options.get("attachments") or root / "attachments",
        api_url=check_url(options.get("api_url") or API_URL),
        deadline_seconds=options.get("timeout") or DEADLINE_SECONDS,
        policy=Policy(
            read_only=bool(options.get("read_only")),
            drafts_only=bool(options.get("drafts_only")),
            allowed_recipients=tuple(options.get("allow_recipient") or ()),
            max_sends_per_hour=options.get("max_sends_per_hour"),
            needs_approval=not options.get("send_without_approval"),
        ),
    )
