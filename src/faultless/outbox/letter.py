"""A note as a mail: its frontmatter is the envelope, its body the text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from faultless.approval import Content, read_attachments
from faultless.contract import Fault, FaultKind, clean

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from faultless.approval import Attachment

_ENVELOPE = frozenset({"to", "cc", "bcc", "subject", "reply_to_message_id", "attachments", "account"})
_OURS = frozenset({"status", "message_id", "outbox_reason", "outbox_hint"})
_OF_THE_VAULT = frozenset({"tags", "aliases", "cssclasses", "created", "modified"})
"""What Obsidian and its users put into any note; it never leaves."""
_COMMENT = re.compile(r"^[ \t]*%%.*?%%[ \t]*(?:\n|\Z)|%%.*?%%", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\[\[([^\[\]|#]+)\]\]\Z")
"""As Obsidian writes a file into a property."""
_MOST_CHARACTERS = {"subject": 990, "body": 2_000_000}
"""What the mail server takes; known here so that nobody else quotes what is too long."""


@dataclass(frozen=True, slots=True)
class Note:
    path: str
    frontmatter: Mapping[str, Any]
    body: str
    version: str

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


def read_letter(note: Note, vault: Path) -> Content:
    """The mail with its files as they are now, or a fault that says which field is wrong, and quotes none."""
    unknown = sorted(set(note.frontmatter) - _ENVELOPE - _OURS - _OF_THE_VAULT)
    if unknown:
        raise _malformed(note, clean(unknown[0], 40), "is a field no mail has")
    content = Content(
        to=_join(note, "to"),
        cc=_join(note, "cc"),
        bcc=_join(note, "bcc"),
        subject=_text(note, "subject"),
        body=_strip_comments(note),
        thread=_text(note, "reply_to_message_id"),
        attachments=_attach(note, vault),
    )
    optional = {"subject"} if content.thread else set()
    optional |= {"body"} if content.attachments else set()
    for name in ("to", "subject", "body"):
        if name not in optional and not getattr(content, name):
            raise _malformed(note, name, "is missing")
    for name, most in _MOST_CHARACTERS.items():
        if len(getattr(content, name)) > most:
            raise _malformed(note, name, f"has more than {most} characters")
    return content


def _attach(note: Note, vault: Path) -> tuple[Attachment, ...]:
    value = note.frontmatter.get("attachments")
    paths = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(path, str) for path in paths):
        raise _malformed(note, "attachments", "is not a list of paths")
    try:
        return read_attachments(vault, [_LINK.sub(r"\1", path.strip()) for path in paths])
    except Fault as fault:
        # A missing file is a fault of the note, which is there itself.
        kind = FaultKind.INVALID_PARAMS if fault.kind is FaultKind.NOT_FOUND else fault.kind
        raise Fault(kind, f"{note.path}: {fault.message}", hint=fault.hint, details=fault.details) from fault


def _strip_comments(note: Note) -> str:
    """What Obsidian does not show is not part of the mail."""
    text = _COMMENT.sub("", note.body.replace("\r\n", "\n"))
    if "%%" in text:
        raise _malformed(note, "body", "has a %%comment that is not closed")
    return text.strip()


def read_account(note: Note) -> str:
    """Through which account it leaves; empty for the one without a name."""
    return _text(note, "account").lower()


def has_left(note: Note) -> bool:
    return note.frontmatter.get("status") == "sent" or bool(note.frontmatter.get("message_id"))


def require_unsent(note: Note) -> None:
    """A filed note that comes back (an undone move, a copy a sync made) must not leave a second time."""
    if has_left(note):
        raise Fault(
            FaultKind.APPROVAL_REQUIRED,
            f"{note.path} says in its frontmatter that it left already",
            hint="to send it once more, take status and message_id out of the frontmatter and approve it",
        )


def _join(note: Note, name: str) -> str:
    """Addresses: a text, or a list of them as Obsidian writes properties."""
    value = note.frontmatter.get(name)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(item.strip() for item in value)
    return _text(note, name)


def _text(note: Note, name: str) -> str:
    value = note.frontmatter.get(name)
    if value is None:
        return ""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return str(value).strip()
    raise _malformed(note, name, "is not text")


def _malformed(note: Note, field: str, problem: str) -> Fault:
    return Fault(
        FaultKind.INVALID_PARAMS,
        f"{note.path}: {field} {problem}",
        hint=f"the frontmatter needs to and subject (a reply only to), and may have"
        f" {', '.join(sorted(_ENVELOPE - {'to', 'subject'}))}; the text of the note is the mail",
        details={"field": field, "detail": problem},
    )
