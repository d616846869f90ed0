"""A message's parts: the text a person would read, and what is attached."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from faultless.servers.gmail.decoding import decode_data, decode_text, decode_words, read_parameter
from faultless.servers.gmail.html_text import read_html

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

DEEPEST = 50
LARGEST_ATTACHED_TEXT = 1_000_000


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
    children = payload.get("parts") or () if depth < DEEPEST else ()
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


def walk(part: Part) -> Iterator[Part]:
    yield part
    for child in part.children:
        yield from walk(child)


async def complete(part: Part, fetch: Callable[[str], Awaitable[bytes]]) -> Part:
    """The tree with text that Gmail keeps apart: long bodies, and attached text where there is no other."""
    shown = await _fetch_texts(part, fetch, lambda it: not it.is_attached)
    if read_body(shown).strip():
        return shown
    return await _fetch_texts(shown, fetch, lambda it: it.size_bytes <= LARGEST_ATTACHED_TEXT)


async def _fetch_texts(
    part: Part, fetch: Callable[[str], Awaitable[bytes]], wants: Callable[[Part], bool]
) -> Part:
    children = [await _fetch_texts(child, fetch, wants) for child in part.children]
    is_missing = part.is_text and not part.data and part.attachment_id
    data = await fetch(part.attachment_id) if is_missing and wants(part) else part.data
    return replace(part, children=tuple(children), data=data)


def list_attachments(part: Part) -> list[Part]:
    """What a mail program would offer for saving: named parts, and leaves that are not text."""
    return [
        it
        for it in walk(part)
        if (it.is_attached and it is not part) or (not it.children and not it.is_text and _has_content(it))
    ]


def _has_content(part: Part) -> bool:
    return bool(part.attachment_id or part.size_bytes or part.data)


def read_body(part: Part) -> str:
    """The text as a mail program shows it; where that is nothing, any text there is."""
    shown = _show(part)
    if shown.strip():
        return shown.strip("\n")
    texts = (it.read() for it in walk(part) if it.is_text)
    return "\n\n".join(text for text in texts if text.strip())


def _show(part: Part, *, is_top: bool = True) -> str:
    if part.is_attached and not is_top:
        return ""
    if part.mime_type == "multipart/alternative":
        return _choose(part)
    if part.mime_type == "multipart/related":
        return next((text for child in part.children if (text := _show(child, is_top=False)).strip()), "")
    if part.mime_type == "message/rfc822":
        return _show_forwarded(part)
    if part.children:
        shown = [_show(child, is_top=False) for child in part.children]
        return "\n\n".join(text for text in shown if text.strip())
    return part.read() if part.is_text else ""


def _choose(part: Part) -> str:
    """Plain text if anybody wrote some, else the richest version that says something."""
    shown = [(child, text) for child in part.children if (text := _show(child, is_top=False)).strip()]
    plain = [text for child, text in shown if child.mime_type == "text/plain"]
    return plain[0] if plain else shown[-1][1] if shown else ""


def _show_forwarded(part: Part) -> str:
    inner = "\n\n".join(text for child in part.children if (text := _show(child, is_top=False)).strip())
    if not inner:
        return part.read() if part.data else ""
    first = part.children[0].headers
    lines = [
        f"{name}: {decode_words(first[name.lower()])}"
        for name in ("From", "Date", "Subject")
        if name.lower() in first
    ]
    return "\n".join(["--- Forwarded message ---", *lines, "", inner])
