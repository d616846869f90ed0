"""What an approval binds, and approvals as files, one each, in a folder no server writes to."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import formataddr, getaddresses
from pathlib import Path
from typing import TYPE_CHECKING

from faultless.approval.ledger import SendLedger
from faultless.contract import Fault, FaultKind
from faultless.durable import explained, write_atomically

if TYPE_CHECKING:
    from faultless.approval.attachment import Attachment

DEFAULT_LIFETIME = timedelta(days=7)
_CONTENT_VERSION = 1
_ACCOUNT = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
_ID = re.compile(r"[0-9a-f]{32}")


def default_state_folder() -> Path:
    """FAULTLESS_STATE, or a folder of ours where the system keeps such things."""
    named = os.environ.get("FAULTLESS_STATE")
    if named:
        return Path(named)
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "faultless"


def locate_account(state_folder: Path, account: str) -> Path:
    """Where an account's approvals, records, journals and limits lie; at the top for the unnamed one."""
    return state_folder / "accounts" / check_account(account) if account else state_folder


def check_account(name: str) -> str:
    """A name that every file system keeps apart from the others."""
    if not _ACCOUNT.fullmatch(name):
        raise Fault(
            FaultKind.INVALID_PARAMS,
            "an account's name is lower-case letters, digits, - and _, at most 32",
            hint="choose a plain name, for instance work",
            details={"field": "account"},
        )
    return name


@dataclass(frozen=True, slots=True)
class Content:
    """A mail as a person reads it. `thread` is the Gmail id of the message it answers."""

    to: str
    subject: str
    body: str
    cc: str = ""
    bcc: str = ""
    html: str = ""
    thread: str = ""
    attachments: tuple[Attachment, ...] = ()

    def digest(self) -> str:
        """The same for two spellings of one mail; different as soon as anybody would read something else."""
        bound: dict[str, object] = {
            "version": _CONTENT_VERSION,
            "to": _list_addresses(self.to),
            "cc": _list_addresses(self.cc),
            "bcc": _list_addresses(self.bcc),
            "subject": self.subject.strip(),
            "body": _strip(self.body),
            "html": _strip(self.html),
            "thread": self.thread.strip(),
        }
        if self.attachments:
            bound["attachments"] = [[it.name, it.sha256] for it in self.attachments]
        canonical = json.dumps(bound, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()


def _list_addresses(addresses: str) -> list[str]:
    """One entry per address, its display name kept: a name is what the reader goes by."""
    return [_spell(*pair) for pair in getaddresses([addresses])] if addresses else []


def _spell(name: str, address: str) -> str:
    return formataddr((name, address), charset="utf-8") if address.isascii() else json.dumps([name, address])


def _strip(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


@dataclass(frozen=True, slots=True)
class Approval:
    id: str
    digest: str
    approved_by: str
    approved_at: str
    expires_at: str
    source: str = ""
    """What was approved, by its name: a note, say."""
    attached: dict[str, str] = field(default_factory=dict)
    """The hash of each file that goes with it, by its path."""

    def has_expired(self, now: datetime) -> bool:
        return now >= datetime.fromisoformat(self.expires_at)


class ApprovalStore:
    """A folder of approvals, readable by its owner only, and the record of what became of each."""

    def __init__(self, state_folder: Path) -> None:
        self._folder = state_folder / "approvals"
        self.ledger = SendLedger(state_folder / "gmail" / "sends")

    def record(
        self,
        content: Content,
        *,
        approved_by: str,
        source: str = "",
        lifetime: timedelta = DEFAULT_LIFETIME,
        renews: str | None = None,
        now: datetime | None = None,
    ) -> Approval:
        """`renews`: the id of an approval of the same content; its mail goes on where it stopped."""
        moment = now or datetime.now(UTC)
        approval = Approval(
            id=renews or secrets.token_hex(16),
            digest=content.digest(),
            approved_by=approved_by,
            approved_at=moment.isoformat(timespec="seconds"),
            expires_at=(moment + lifetime).isoformat(timespec="seconds"),
            source=source,
            attached={it.path: it.sha256 for it in content.attachments},
        )
        if renews is None:
            self.ledger.claim(approval.id, approval.digest)
        with explained("the approval"):
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_atomically(self._path(approval.id), json.dumps(asdict(approval), indent=2) + "\n")
        return approval

    def list_same(self, content: Content) -> list[Approval]:
        """Every approval of this content, the oldest first."""
        digest, found = content.digest(), []
        for path in sorted(self._folder.glob("*.json")):
            try:
                approval = self.find(path.stem)
            except Fault:
                continue  # it approves nothing
            if approval.digest == digest:
                found.append(approval)
        return sorted(found, key=lambda it: it.approved_at)

    def has(self, approval_id: str) -> bool:
        return self._path(approval_id).exists()

    def find(self, approval_id: str) -> Approval:
        """The approval, or approval_required with the reason there is none."""
        if not _ID.fullmatch(approval_id):
            raise approval_required(
                "the approval id is not one that `faultless outbox approve` gives out", "malformed"
            )
        try:
            text = self._path(approval_id).read_text(encoding="utf-8")
        except FileNotFoundError:
            raise approval_required("no approval has that id", "unknown") from None
        try:
            approval = Approval(**json.loads(text))
            datetime.fromisoformat(approval.expires_at)
        except (ValueError, TypeError):
            raise approval_required("the approval's file cannot be read", "unreadable") from None
        return approval

    def check(self, approval_id: str, content: Content, now: datetime | None = None) -> Approval:
        """The approval, if it is for exactly this content and still holds."""
        approval = self.find(approval_id)
        if approval.id != approval_id or approval.digest != content.digest():
            raise approval_required(_tell_change(approval, content), "content")
        if approval.has_expired(now or datetime.now(UTC)):
            raise approval_required(f"the approval expired at {approval.expires_at}", "expired")
        return approval

    def _path(self, approval_id: str) -> Path:
        return self._folder / f"{approval_id}.json"


def _tell_change(approval: Approval, content: Content) -> str:
    for it in content.attachments:
        if approval.attached.get(it.path, it.sha256) != it.sha256:
            return f"the attachment {it.path!r} is not the file that was approved; it was changed since"
    return "the mail is not the one that was approved; it was changed since"


def approval_required(message: str, reason: str) -> Fault:
    return Fault(
        FaultKind.APPROVAL_REQUIRED,
        message,
        hint="a person approves with `faultless outbox approve NOTE`; pass the approval id it prints",
        details={"reason": reason},
    )
