"""Reading and sorting an account's mail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio

from faultless.contract import Fault, FaultKind, clean
from faultless.contract.text import find_near
from faultless.servers.gmail import messages
from faultless.servers.gmail.compose import Original
from faultless.servers.gmail.decoding import decode_data, decode_words
from faultless.servers.gmail.outputs import DraftList, Email, EmailList, Labeled, Moved, Thread
from faultless.servers.gmail.rest import Query, Request

if TYPE_CHECKING:
    from collections.abc import Iterable

    from faultless.servers.gmail.inputs import (
        AddLabel,
        GetEmail,
        GetThread,
        ListDrafts,
        ListEmails,
        MoveEmail,
    )
    from faultless.servers.gmail.rest import Rest

_AT_ONCE = 8
"""Requests in flight for one call; Gmail counts them against the account's quota."""
_ARCHIVE = "ARCHIVE"
"""Not a label of Gmail's: what is archived has no INBOX label."""
_ROW_HEADERS = ["From", "Subject", "Date"]
_ANSWER_HEADERS = ["Message-ID", "References", "In-Reply-To", "Subject"]


class Mailbox:
    """One account's mail."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest
        self._labels = _Labels(rest)

    async def read_profile(self) -> str:
        profile = await self._rest.repeat(Request("read the profile", "GET", "profile"))
        return str(profile.get("emailAddress", ""))

    async def list_emails(self, arguments: ListEmails) -> EmailList:
        query = _page(arguments.max_results, arguments.page_token) | {"q": arguments.query}
        listed = await self._rest.repeat(Request("list emails", "GET", "messages", query))
        headers: Query = {"format": "metadata", "metadataHeaders": _ROW_HEADERS}
        found = await self._get_all(
            Request("list emails", "GET", f"messages/{it['id']}", headers)
            for it in listed.get("messages") or ()
        )
        rows = [messages.show_row(it) for it in found]
        return EmailList(emails=rows, total_count=len(rows), next_page_token=listed.get("nextPageToken"))

    async def list_drafts(self, arguments: ListDrafts) -> DraftList:
        query = _page(arguments.max_results, arguments.page_token)
        listed = await self._rest.repeat(Request("list drafts", "GET", "drafts", query))
        found = await self._get_all(
            Request("list drafts", "GET", f"drafts/{it['id']}", {"format": "metadata"})
            for it in listed.get("drafts") or ()
        )
        rows = [messages.show_draft(it) for it in found]
        return DraftList(drafts=rows, next_page_token=listed.get("nextPageToken"))

    async def get_email(self, arguments: GetEmail) -> Email:
        message = await self.get_message(arguments.message_id)
        return await self._show(message, arguments.max_body_chars)

    async def get_thread(self, arguments: GetThread) -> Thread:
        request = Request("read the thread", "GET", f"threads/{arguments.thread_id}", {"format": "full"})
        found = (await self._rest.repeat(request)).get("messages") or []
        shown = [
            await self._show(message, arguments.max_body_chars)
            for message in found[-arguments.max_messages :]
        ]
        return Thread(thread_id=arguments.thread_id, messages=shown, left_out=len(found) - len(shown))

    async def get_message(self, message_id: str) -> dict[str, Any]:
        return await self._rest.repeat(
            Request("read the email", "GET", f"messages/{message_id}", {"format": "full"})
        )

    async def get_original(self, message_id: str) -> Original:
        """What a reply needs to know about the message it answers."""
        query: Query = {"format": "metadata", "metadataHeaders": _ANSWER_HEADERS}
        message = await self._rest.repeat(
            Request("read the message to answer", "GET", f"messages/{message_id}", query)
        )
        headers = messages.read_headers(message.get("payload") or {})
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

    async def move_email(self, arguments: MoveEmail) -> Moved:
        name = arguments.destination_label
        if name.upper() == "TRASH":
            await self._rest.repeat(
                Request("move the email", "POST", f"messages/{arguments.message_id}/trash")
            )
        elif name.upper() == _ARCHIVE:
            await self._modify(arguments.message_id, remove=["INBOX"])
        else:
            label = await self._labels.require(name)
            await self._modify(
                arguments.message_id,
                add=[label],
                remove=[it for it in ("INBOX", "SPAM", "TRASH") if it != label],
            )
        return Moved(moved=True, message_id=arguments.message_id, label=name)

    async def add_label(self, arguments: AddLabel) -> Labeled:
        label, created = await self._labels.find_or_make(arguments.label_name)
        await self._modify(arguments.message_id, add=[label])
        return Labeled(
            labeled=True, message_id=arguments.message_id, label=arguments.label_name, created=created
        )

    async def _modify(self, message_id: str, *, add: Iterable[str] = (), remove: Iterable[str] = ()) -> None:
        body = {"addLabelIds": list(add), "removeLabelIds": list(remove)}
        await self._rest.repeat(
            Request("change the labels", "POST", f"messages/{message_id}/modify", body=body)
        )

    async def _show(self, message: dict[str, Any], max_body_chars: int) -> Email:
        message_id = str(message["id"])

        async def fetch(attachment_id: str) -> bytes:
            return await self.get_attachment(message_id, attachment_id)

        tree = await messages.fetch_texts(messages.read_tree(message.get("payload") or {}), fetch)
        labels = await self._labels.name_all(message.get("labelIds") or ())
        return messages.show_email(message, tree, labels, max_body_chars)

    async def _get_all(self, requests: Iterable[Request]) -> list[dict[str, Any]]:
        """A few at a time, in order, without those deleted since they were listed; other faults end it."""
        found: dict[int, dict[str, Any]] = {}
        faults: list[Fault] = []
        limiter = anyio.Semaphore(_AT_ONCE)

        async def run(index: int, request: Request) -> None:
            async with limiter:
                try:
                    found[index] = await self._rest.repeat(request)
                except Fault as fault:
                    if fault.kind is not FaultKind.NOT_FOUND:
                        faults.append(fault)
                        tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            for index, request in enumerate(requests):
                tasks.start_soon(run, index, request)
        if faults:
            raise faults[0]
        return [found[index] for index in sorted(found)]


class _Labels:
    """The account's labels; names of known ids are kept, since reading mail asks for them all the time."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest
        self._names: dict[str, str] = {}

    async def name_all(self, ids: Iterable[str]) -> list[str]:
        wanted = list(ids)
        if any(it not in self._names for it in wanted):
            await self._load()
        return [clean(self._names.get(it, it), 225) for it in wanted]

    async def find(self, name: str) -> str | None:
        """The id: of exactly that name, else of one that differs in case only."""
        await self._load()
        exact = [it for it, known in self._names.items() if name in {known, it}]
        folded = [it for it, known in self._names.items() if known.casefold() == name.casefold()]
        return next(iter([*exact, *folded]), None)

    async def require(self, name: str) -> str:
        found = await self.find(name)
        if found is None:
            near = find_near(name, self._names.values(), cutoff=0.6)
            candidates = " or ".join(repr(it) for it in near)
            raise Fault(
                FaultKind.NOT_FOUND,
                f"there is no label {clean(name, 225)!r}",
                hint=f"did you mean {candidates}?" if near else "add_label makes labels; move_email does not",
                details={"label": name, "candidates": list(near)},
            )
        return found

    async def find_or_make(self, name: str) -> tuple[str, bool]:
        """The id, and whether the label is new."""
        found = await self.find(name)
        if found is not None:
            return found, False
        body = {"name": name, "labelListVisibility": "labelShow", "messageListVisibility": "show"}
        try:
            made = await self._rest.repeat(Request("make a label", "POST", "labels", body=body))
        except Fault as fault:
            if fault.kind is not FaultKind.CONFLICT:
                raise
            return await self.require(name), False  # somebody else, or our own first try, made it
        return str(made["id"]), True

    async def _load(self) -> None:
        listed = await self._rest.repeat(Request("list labels", "GET", "labels"))
        self._names = {str(it["id"]): str(it.get("name", it["id"])) for it in listed.get("labels") or ()}


def _page(max_results: int, page_token: str | None) -> Query:
    page: Query = {"maxResults": max_results}
    return page | {"pageToken": page_token} if page_token else page
