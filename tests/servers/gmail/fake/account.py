"""The account behind the fake: messages, drafts, labels, and what was delivered."""

from __future__ import annotations

import base64
import html
import itertools
import re
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.servers.gmail.fake import mime

if TYPE_CHECKING:
    from collections.abc import Iterator

ADDRESS = "me@example.org"
EPOCH_MS = 1_790_000_000_000
SYSTEM_LABELS = ("INBOX", "SENT", "DRAFT", "TRASH", "SPAM", "UNREAD", "STARRED", "IMPORTANT")


class RefusedError(Exception):
    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


@dataclass
class Stored:
    id: str
    thread_id: str
    raw: bytes
    labels: list[str]
    internal_date: int

    def header(self, name: str) -> str:
        return str(mime.parse(self.raw).get(name, ""))


@dataclass
class Account:
    messages: dict[str, Stored] = field(default_factory=dict)
    drafts: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=lambda: {name: name for name in SYSTEM_LABELS})
    delivered: list[Stored] = field(default_factory=list)
    blobs: dict[str, bytes] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)
    hides_sent: bool = False
    """The Sent folder lags behind for ever."""
    _count: Iterator[int] = field(default_factory=lambda: itertools.count(0x18C0_0000_0000_0001))

    def new_id(self) -> str:
        return f"{next(self._count):016x}"

    def receive(self, raw: bytes, *labels: str, thread_id: str | None = None) -> Stored:
        with self.lock:
            own = self.new_id()
            stored = Stored(
                own,
                thread_id or own,
                raw,
                list(labels or ("INBOX", "UNREAD")),
                EPOCH_MS + len(self.messages) * 1000,
            )
            self.messages[own] = stored
            return stored

    def get(self, message_id: str) -> Stored:
        if message_id not in self.messages:
            raise RefusedError(404, "notFound")
        return self.messages[message_id]

    def create_draft(self, body: dict[str, Any]) -> dict[str, Any]:
        message = body.get("message") or {}
        raw = base64.urlsafe_b64decode(message.get("raw", ""))
        if not mime.parse(raw).get("To"):
            raise RefusedError(400, "invalidArgument")
        stored = self.receive(_stamp(raw, self.new_id()), "DRAFT", thread_id=message.get("threadId"))
        draft_id = f"r-{int(stored.id, 16)}"
        self.drafts[draft_id] = stored.id
        return {
            "id": draft_id,
            "message": {"id": stored.id, "threadId": stored.thread_id, "labelIds": ["DRAFT"]},
        }

    def edit_draft(self, draft_id: str, old: bytes, new: bytes) -> None:
        """As a person does in the browser: the draft keeps its id, its message gets another."""
        with self.lock:
            draft = self.messages.pop(self.drafts[draft_id])
            assert old in draft.raw
            self.drafts[draft_id] = self.receive(
                draft.raw.replace(old, new), "DRAFT", thread_id=draft.thread_id
            ).id

    def send_draft(self, body: dict[str, Any]) -> dict[str, Any]:
        """The draft goes, and a message with a new id and a new Message-ID comes.

        A message in the request takes the place of the draft's.
        """
        with self.lock:
            message_id = self.drafts.pop(body.get("id", ""), None)
            if message_id is None:
                raise RefusedError(404, "notFound")
            draft = self.messages.pop(message_id)
            given = (body.get("message") or {}).get("raw")
            raw = base64.urlsafe_b64decode(given) if given else draft.raw
            sent = self.receive(_stamp(raw, self.new_id()), "SENT", thread_id=draft.thread_id)
            self.delivered.append(sent)
            return {"id": sent.id, "threadId": sent.thread_id, "labelIds": ["SENT"]}

    def show(self, stored: Stored, form: str = "full", headers: list[str] | None = None) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "id": stored.id,
            "threadId": stored.thread_id,
            "labelIds": list(stored.labels),
            "snippet": html.escape(_snippet(stored.raw)),
            "internalDate": str(stored.internal_date),
            "historyId": "77",
            "sizeEstimate": len(stored.raw),
        }
        message = mime.parse(stored.raw)
        if form == "full":
            shown["payload"] = mime.build(message, self.blobs)
        if form == "metadata":
            wanted = {name.lower() for name in headers or ()}
            listed = [it for it in mime.list_headers(message) if not wanted or it["name"].lower() in wanted]
            shown["payload"] = {"partId": "", "mimeType": message.get_content_type(), "headers": listed}
        if form == "raw":
            shown["raw"] = mime.encode(stored.raw)
        return shown

    def search(self, query: str, label_ids: list[str]) -> list[Stored]:
        found = [it for it in self.messages.values() if all(label in it.labels for label in label_ids)]
        if self.hides_sent:
            found = [it for it in found if "SENT" not in it.labels]
        for word in query.split():
            found = [it for it in found if _matches(it, word)]
        return sorted(found, key=lambda it: it.internal_date, reverse=True)


def _matches(stored: Stored, word: str) -> bool:
    if word == "is:unread":
        return "UNREAD" in stored.labels
    if word == "in:sent":
        return "SENT" in stored.labels
    if word.startswith("after:"):
        return True  # everything here is of today
    return word.lower() in stored.raw.decode("latin-1").lower()


def _stamp(raw: bytes, number: str) -> bytes:
    """Gmail writes its own Message-ID and From, whatever it was given."""
    message = mime.parse(raw)
    for name, value in (("Message-ID", f"<CA{number}@mail.gmail.com>"), ("From", ADDRESS)):
        del message[name]
        message[name] = value
    return message.as_bytes()


def _snippet(raw: bytes) -> str:
    body = raw.partition(b"\n\n")[2].decode("utf-8", "replace")
    return re.sub(r"\s+", " ", body)[:100]
