"""Gmail's messages: the text a person would read, what is attached, and both as answers of our tools."""

from __future__ import annotations

import html
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from faultless.contract import clean
from faultless.servers.gmail.decoding import (
    decode_data,
    decode_text,
    decode_words,
    read_html,
    read_parameter,
)
from faultless.servers.gmail.outputs import Attachment, DraftRow, Email, EmailRow

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

_DEEPEST = 50
_LARGEST_ATTACHED_TEXT = 1_000_000
_LONGEST_HEADER = 1000
_LONGEST_ADDRESSES = 10_000


@dataclass(frozen=True, slots=True)
class Part:
    """One node of the tree Gmail sends."""

    id: str
    mime_type: str
    file_name: str
    headers: dict[str, str]
    data: bytes
    size_bytes: int
    attachment_id: str
    children: tuple[Part, ...]

    @property
    def is_text(self) -> bool:
        return self.mime_type.startswith("text/") or self.mime_type in {
            "message/delivery-status",
            "message/disposition-notification",
            "message/rfc822-headers",
        }

    @property
    def is_attached(self) -> bool:
        disposition = self.headers.get("content-disposition", "").strip().lower()
        return disposition.startswith("attachment") or bool(self.file_name)

    def read(self) -> str:
        text = decode_text(self.data, read_parameter(self.headers.get("content-type", ""), "charset"))
        return read_html(text) if self.mime_type == "text/html" else text.replace("\r\n", "\n").strip("\n")


def read_tree(payload: dict[str, Any], depth: int = 0) -> Part:
    headers = read_headers(payload)
    body = payload.get("body") or {}
    children = payload.get("parts") or () if depth < _DEEPEST else ()
    return Part(
        id=str(payload.get("partId") or "0"),
        mime_type=str(payload.get("mimeType") or "text/plain").lower(),
        file_name=decode_words(str(payload.get("filename") or "")),
        headers=headers,
        data=decode_data(body.get("data") or ""),
        size_bytes=int(body.get("size") or 0),
        attachment_id=str(body.get("attachmentId") or ""),
        children=tuple(read_tree(child, depth + 1) for child in children),
    )


def read_headers(payload: dict[str, Any]) -> dict[str, str]:
    """By lower-case name; of several the first, as mail programs show it."""
    found: dict[str, str] = {}
    for header in payload.get("headers") or ():
        found.setdefault(str(header.get("name", "")).lower(), str(header.get("value", "")))
    return found


def _walk(part: Part) -> Iterator[Part]:
    yield part
    for child in part.children:
        yield from _walk(child)


async def fetch_texts(part: Part, fetch: Callable[[str], Awaitable[bytes]]) -> Part:
    """The tree with text that Gmail keeps apart: long bodies, and attached text where there is no other."""
    shown = await _fetch_where(part, fetch, lambda it: not it.is_attached)
    if _read_body(shown).strip():
        return shown
    return await _fetch_where(shown, fetch, lambda it: it.size_bytes <= _LARGEST_ATTACHED_TEXT)


async def _fetch_where(
    part: Part, fetch: Callable[[str], Awaitable[bytes]], wants: Callable[[Part], bool]
) -> Part:
    children = [await _fetch_where(child, fetch, wants) for child in part.children]
    is_missing = part.is_text and not part.data and part.attachment_id
    data = await fetch(part.attachment_id) if is_missing and wants(part) else part.data
    return replace(part, children=tuple(children), data=data)


def list_attachments(part: Part) -> list[Part]:
    """What a mail program would offer for saving: named parts, and leaves that are not text."""
    return [
        it
        for it in _walk(part)
        if (it.is_attached and it is not part)
        or (not it.children and not it.is_text and (it.attachment_id or it.size_bytes or it.data))
    ]


def _read_body(part: Part) -> str:
    """The text as a mail program shows it; where that is nothing, any text there is."""
    shown = _show(part)
    if shown.strip():
        return shown.strip("\n")
    texts = (it.read() for it in _walk(part) if it.is_text)
    return "\n\n".join(text for text in texts if text.strip())


def _show(part: Part, *, is_top: bool = True) -> str:
    if part.is_attached and not is_top:
        return ""
    shown = [(child, text) for child in part.children if (text := _show(child, is_top=False)).strip()]
    texts = [text for _, text in shown]
    if part.mime_type == "multipart/alternative":
        # Plain text if anybody wrote some, else the richest version that says something.
        plain = [text for child, text in shown if child.mime_type == "text/plain"]
        return plain[0] if plain else texts[-1] if texts else ""
    if part.mime_type == "multipart/related":
        return texts[0] if texts else ""
    if part.mime_type == "message/rfc822":
        return _show_forwarded(part, texts)
    if part.children:
        return "\n\n".join(texts)
    return part.read() if part.is_text else ""


def _show_forwarded(part: Part, texts: list[str]) -> str:
    if not texts:
        return part.read() if part.data else ""
    headers = part.children[0].headers
    lines = [
        f"{name}: {decode_words(headers[name.lower()])}"
        for name in ("From", "Date", "Subject")
        if name.lower() in headers
    ]
    return "\n".join(["--- Forwarded message ---", *lines, "", "\n\n".join(texts)])


def show_row(message: dict[str, Any]) -> EmailRow:
    headers = read_headers(message.get("payload") or {})
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
    headers = read_headers(message.get("payload") or {})
    return DraftRow(
        draft_id=str(draft["id"]),
        message_id=str(message.get("id", "")),
        thread_id=str(message.get("threadId", "")),
        subject=_line(headers, "subject"),
        to=_line(headers, "to", _LONGEST_ADDRESSES),
        snippet=_snippet(message),
    )


def show_email(message: dict[str, Any], tree: Part, labels: list[str], max_body_chars: int) -> Email:
    attached = list_attachments(tree)
    return Email(
        id=str(message["id"]),
        thread_id=str(message.get("threadId", "")),
        subject=_line(tree.headers, "subject"),
        sender=_line(tree.headers, "from"),
        to=_line(tree.headers, "to", _LONGEST_ADDRESSES),
        cc=_line(tree.headers, "cc", _LONGEST_ADDRESSES),
        date=read_date(tree.headers, message),
        body=clean(_read_body(tree), max_body_chars),
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


def _line(headers: dict[str, str], name: str, limit: int = _LONGEST_HEADER) -> str:
    return clean(decode_words(headers.get(name, "")), limit).replace("\n", " ")


def _snippet(message: dict[str, Any]) -> str:
    return clean(html.unescape(str(message.get("snippet") or "")), _LONGEST_HEADER)
