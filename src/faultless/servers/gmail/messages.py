"""Gmail's messages as the answers of our tools."""

from __future__ import annotations

import html
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from faultless.contract import clean
from faultless.servers.gmail import parts
from faultless.servers.gmail.answers import Attachment, DraftRow, Email, EmailRow
from faultless.servers.gmail.decoding import decode_words

if TYPE_CHECKING:
    from faultless.servers.gmail.parts import Part

LINE = 1000
"""Longest header value that is passed on."""
ADDRESSES = 10_000
NO_HEADERS: dict[str, str] = {}


def show_row(message: dict[str, Any]) -> EmailRow:
    headers = parts.read_headers(message.get("payload") or {})
    return EmailRow(
        id=str(message["id"]),
        thread_id=str(message.get("threadId", "")),
        subject=_line(headers, "subject"),
        sender=_line(headers, "from"),
        date=read_date(headers, message),
        snippet=_snippet(message),
    )


def show_draft(draft: dict[str, Any]) -> DraftRow:
    message = draft.get("message") or {}
    headers = parts.read_headers(message.get("payload") or {})
    return DraftRow(
        draft_id=str(draft["id"]),
        message_id=str(message.get("id", "")),
        thread_id=str(message.get("threadId", "")),
        subject=_line(headers, "subject"),
        to=_line(headers, "to", ADDRESSES),
        snippet=_snippet(message),
    )


def show_email(message: dict[str, Any], tree: Part, labels: list[str], max_body_chars: int) -> Email:
    attached = parts.list_attachments(tree)
    return Email(
        id=str(message["id"]),
        thread_id=str(message.get("threadId", "")),
        subject=_line(tree.headers, "subject"),
        sender=_line(tree.headers, "from"),
        to=_line(tree.headers, "to", ADDRESSES),
        cc=_line(tree.headers, "cc", ADDRESSES),
        date=read_date(tree.headers, message),
        body=clean(parts.read_body(tree), max_body_chars),
        has_attachments=bool(attached),
        attachment_names=[name_attachment(part) for part in attached],
        attachments=[
            Attachment(
                part_id=part.id,
                name=name_attachment(part),
                mime_type=clean(part.mime_type, 200),
                size_bytes=part.size_bytes,
            )
            for part in attached
        ],
        labels=labels,
    )


def name_attachment(part: Part) -> str:
    """What the sender called it; that is text to show, never a path."""
    return clean(part.file_name, 255).replace("\n", " ") or f"part {part.id}"


def read_date(headers: dict[str, str], message: dict[str, Any]) -> str | None:
    """ISO 8601 from the Date header, else from when Gmail took it in."""
    try:
        moment = parsedate_to_datetime(headers["date"])
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat()
    except (KeyError, ValueError, TypeError, IndexError, OverflowError):
        pass
    try:
        return datetime.fromtimestamp(int(message["internalDate"]) / 1000, UTC).isoformat()
    except (KeyError, ValueError, TypeError, OverflowError, OSError):
        return None


def _line(headers: dict[str, str], name: str, limit: int = LINE) -> str:
    return clean(decode_words(headers.get(name, "")), limit).replace("\n", " ")


def _snippet(message: dict[str, Any]) -> str:
    return clean(html.unescape(str(message.get("snippet") or "")), LINE)
