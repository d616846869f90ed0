"""What the tools answer."""

from __future__ import annotations

from typing import Literal

from faultless.kit.toolset import Answer


class Health(Answer):
    status: Literal["ok"]
    authenticated_as: str
    token_expires_at: str | None
    """ISO 8601; renewed by itself before then."""


class Sent(Answer):
    message_id: str
    thread_id: str
    sent_at: str
    send_id: str
    """Names this send in the audit journal."""


class SendStatus(Answer):
    send_id: str
    state: Literal["not_sent", "void", "sent", "unknown", "in_progress"]
    """not_sent: no mail left, sending again is safe. unknown: look into the Sent folder first.
    void: no mail left, and none will under this id: its draft was changed in the account, or a person
    settled it. It needs a new approval."""
    message_id: str | None
    thread_id: str | None
    draft_id: str | None


class AttachedFile(Answer):
    path: str
    mime_type: str
    size_bytes: int
    sha256: str


class Sendable(Answer):
    recipients: list[str]
    """Everybody it would reach, as addresses on the wire."""
    size_bytes: int
    """Of the whole mail as it leaves."""
    attachments: list[AttachedFile]


class DraftCreated(Answer):
    draft_id: str
    message_id: str
    thread_id: str


class EmailRow(Answer):
    id: str
    thread_id: str
    subject: str
    sender: str
    date: str | None
    snippet: str


class EmailList(Answer):
    emails: list[EmailRow]
    total_count: int
    """How many are in this answer; Gmail's own total is only an estimate."""
    next_page_token: str | None


class Attachment(Answer):
    part_id: str
    """For get_attachment."""
    name: str
    mime_type: str
    size_bytes: int


class Email(Answer):
    id: str
    thread_id: str
    subject: str
    sender: str
    to: str
    cc: str
    date: str | None
    body: str
    has_attachments: bool
    attachment_names: list[str]
    attachments: list[Attachment]
    labels: list[str]


class Thread(Answer):
    thread_id: str
    messages: list[Email]
    left_out: int
    """Messages not shown because of max_messages, the oldest."""


class DraftRow(Answer):
    draft_id: str
    message_id: str
    thread_id: str
    subject: str
    to: str
    snippet: str


class DraftList(Answer):
    drafts: list[DraftRow]
    next_page_token: str | None


class Moved(Answer):
    moved: Literal[True]
    message_id: str
    label: str


class Labeled(Answer):
    labeled: Literal[True]
    message_id: str
    label: str
    created: bool
    """Whether the label is new."""


class SavedAttachment(Answer):
    path: str
    """Inside the attachments folder; named by us, not by the sender."""
    name: str
    """What the sender called it."""
    mime_type: str
    size_bytes: int
    sha256: str
