"""Reading and sorting an account's mail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import anyio

from faultless.contract import Fault, FaultKind
from faultless.servers.gmail import messages, parts
from faultless.servers.gmail.answers import DraftList, Email, EmailList, Labeled, Moved, Thread
from faultless.servers.gmail.compose import Original
from faultless.servers.gmail.decoding import decode_data, decode_words
from faultless.servers.gmail.labels import ARCHIVE, Labels
from faultless.servers.gmail.rest import Request

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from faultless.servers.gmail.arguments import (
        AddLabel,
        GetEmail,
        GetThread,
        ListDrafts,
        ListEmails,
        MoveEmail,
    )
    from faultless.servers.gmail.rest import Rest

AT_ONCE = 8
"""Requests in flight for one call; Gmail counts them against the account's quota."""
_ROW_HEADERS = ["From", "Subject", "Date"]
_ANSWER_HEADERS = ["Message-ID", "References", "In-Reply-To", "Subject"]
T = TypeVar("T")
S = TypeVar("S")


class Mailbox:
    """One account's mail."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest
        self._labels = Labels(rest)

    async def read_profile(self) -> str:
        profile = await self._rest.repeat(Request("read the profile", "GET", "profile"))
        return str(profile.get("emailAddress", ""))

    async def list_emails(self, asked: ListEmails) -> EmailList:
        query = _page(asked.max_results, asked.page_token) | {"q": asked.query}
        listed = await self._rest.repeat(Request("list emails", "GET", "messages", query))
        ids = [str(it["id"]) for it in listed.get("messages") or ()]
        found = await _each(ids, self._get_row)
        rows = [messages.show_row(it) for it in found if it is not None]
        return EmailList(emails=rows, total_count=len(rows), next_page_token=listed.get("nextPageToken"))

    async def list_drafts(self, asked: ListDrafts) -> DraftList:
        query = _page(asked.max_results, asked.page_token)
        listed = await self._rest.repeat(Request("list drafts", "GET", "drafts", query))
        ids = [str(it["id"]) for it in listed.get("drafts") or ()]
        found = await _each(ids, self._get_draft)
        rows = [messages.show_draft(it) for it in found if it is not None]
        return DraftList(drafts=rows, next_page_token=listed.get("nextPageToken"))

    async def get_email(self, asked: GetEmail) -> Email:
        message = await self.get_message(asked.message_id)
        return await self._show(message, asked.max_body_chars)

    async def get_thread(self, asked: GetThread) -> Thread:
        request = Request("read the thread", "GET", f"threads/{asked.thread_id}", {"format": "full"})
        found = (await self._rest.repeat(request)).get("messages") or []
        shown = [await self._show(message, asked.max_body_chars) for message in found[-asked.max_messages :]]
        return Thread(thread_id=asked.thread_id, messages=shown, left_out=len(found) - len(shown))

    async def get_message(self, message_id: str) -> dict[str, Any]:
        return await self._rest.repeat(
            Request("read the email", "GET", f"messages/{message_id}", {"format": "full"})
        )

    async def get_original(self, message_id: str) -> Original:
        """What a reply needs to know about the message it answers."""
        query: dict[str, str | int | list[str]] = {"format": "metadata", "metadataHeaders": _ANSWER_HEADERS}
        message = await self._rest.repeat(
            Request("read the message to answer", "GET", f"messages/{message_id}", query)
        )
        headers = parts.read_headers(message.get("payload") or {})
        return Original(
            thread_id=str(message.get("threadId", "")),
            message_id=headers.get("message-id", "").strip(),
            references=headers.get("references") or headers.get("in-reply-to", ""),
            subject=decode_words(headers.get("subject", "")),
        )

    async def get_attachment(self, message_id: str, attachment_id: str) -> bytes:
        path = f"messages/{message_id}/attachments/{attachment_id}"
        body = await self._rest.repeat(Request("fetch the attachment", "GET", path))
        return decode_data(str(body.get("data") or ""))

    async def move_email(self, asked: MoveEmail) -> Moved:
        name = asked.destination_label
        if name.upper() == "TRASH":
            await self._rest.repeat(Request("move the email", "POST", f"messages/{asked.message_id}/trash"))
        elif name.upper() == ARCHIVE:
            await self._modify(asked.message_id, remove=["INBOX"])
        else:
            label = await self._labels.require(name)
            await self._modify(
                asked.message_id, add=[label], remove=[it for it in ("INBOX", "SPAM", "TRASH") if it != label]
            )
        return Moved(moved=True, message_id=asked.message_id, label=name)

    async def add_label(self, asked: AddLabel) -> Labeled:
        label, created = await self._labels.find_or_make(asked.label_name)
        await self._modify(asked.message_id, add=[label])
        return Labeled(labeled=True, message_id=asked.message_id, label=asked.label_name, created=created)

    async def _modify(self, message_id: str, *, add: Iterable[str] = (), remove: Iterable[str] = ()) -> None:
        body = {"addLabelIds": list(add), "removeLabelIds": list(remove)}
        await self._rest.repeat(
            Request("change the labels", "POST", f"messages/{message_id}/modify", body=body)
        )

    async def _show(self, message: dict[str, Any], max_body_chars: int) -> Email:
        message_id = str(message["id"])

        async def fetch(attachment_id: str) -> bytes:
            return await self.get_attachment(message_id, attachment_id)

        tree = await parts.complete(parts.read_tree(message.get("payload") or {}), fetch)
        labels = await self._labels.name_all(message.get("labelIds") or ())
        return messages.show_email(message, tree, labels, max_body_chars)

    async def _get_row(self, message_id: str) -> dict[str, Any] | None:
        query: dict[str, str | int | list[str]] = {"format": "metadata", "metadataHeaders": _ROW_HEADERS}
        return await self._get_listed(Request("list emails", "GET", f"messages/{message_id}", query))

    async def _get_draft(self, draft_id: str) -> dict[str, Any] | None:
        return await self._get_listed(
            Request("list drafts", "GET", f"drafts/{draft_id}", {"format": "metadata"})
        )

    async def _get_listed(self, request: Request) -> dict[str, Any] | None:
        """None for what was deleted since it was listed."""
        try:
            return await self._rest.repeat(request)
        except Fault as fault:
            if fault.kind is FaultKind.NOT_FOUND:
                return None
            raise


def _page(max_results: int, page_token: str | None) -> dict[str, str | int | list[str]]:
    page: dict[str, str | int | list[str]] = {"maxResults": max_results}
    return page | {"pageToken": page_token} if page_token else page


async def _each(items: list[S], fetch: Callable[[S], Awaitable[T]]) -> list[T]:
    """All of them, a few at a time, in order; the first fault ends the rest."""
    found: dict[int, T] = {}
    faults: list[Fault] = []
    limiter = anyio.Semaphore(AT_ONCE)

    async def run(index: int, item: S) -> None:
        async with limiter:
            try:
                found[index] = await fetch(item)
            except Fault as fault:
                faults.append(fault)
                tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        for index, item in enumerate(items):
            tasks.start_soon(run, index, item)
    if faults:
        raise faults[0]
    return [found[index] for index in range(len(items))]
