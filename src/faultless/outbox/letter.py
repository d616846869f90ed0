"""A note as a mail: its frontmatter is the envelope, its body the text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from faultless.approval import Content
from faultless.contract import Fault, FaultKind

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Note:
    path: str
    frontmatter: Mapping[str, Any]
    body: str
    version: str

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


def read_letter(note: Note) -> Content:
    """The mail, or a fault that says which field is missing or is not text."""
    content = Content(
        to=_join(note, "to"),
        cc=_join(note, "cc"),
        bcc=_join(note, "bcc"),
        subject=_text(note, "subject"),
        body=note.body.strip(),
        thread=_text(note, "reply_to_message_id"),
    )
    missing = [name for name in ("to", "subject", "body") if not getattr(content, name)]
    if missing:
        raise _malformed(note, missing[0], "is missing")
    return content


def require_unsent(note: Note) -> None:
    """A filed note that comes back (an undone move, a copy a sync made) must not leave a second time."""
    if note.frontmatter.get("status") == "sent" or note.frontmatter.get("message_id"):
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
        hint="the frontmatter needs to and subject; the text of the note is the mail",
        details={"field": field, "detail": problem},
    )
