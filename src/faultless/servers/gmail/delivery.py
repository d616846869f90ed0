"""Finding out whether a mail left, when the answer that would have told was lost.

the draft         a sent message with its mark    so it was
still there       -                               not sent
still, changed    -                               changed: not sent, and not ours to send any more
gone              found                           sent
gone              not found                       unknown: deleted by hand, or sent and not yet visible
cannot be read    -                               unknown
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import anyio

from faultless.contract import Fault, FaultKind
from faultless.servers.gmail.compose import MARK
from faultless.servers.gmail.messages import read_headers
from faultless.servers.gmail.rest import Query, Request

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from faultless.approval import SendRecord
    from faultless.servers.gmail.rest import Rest

_LOOKS = 3
PAUSE_SECONDS = 0.5
"""Between two looks: a send may still be under way, and the Sent folder may lag."""
_NEWEST = 50
_SLACK_SECONDS = 600
"""The account's clock and ours need not agree."""


@dataclass(frozen=True, slots=True)
class Delivery:
    state: Literal["not_sent", "changed", "sent", "unknown"]
    message_id: str = ""
    thread_id: str = ""


async def look_up_delivery(rest: Rest, record: SendRecord, deadline_seconds: float) -> Delivery:
    """Never guesses; what keeps us from looking is as unknown as what we cannot find."""
    with anyio.move_on_after(deadline_seconds, shield=True):
        try:
            return await _look(rest, record)
        except Fault:
            pass
    return Delivery("unknown")


async def _look(rest: Rest, record: SendRecord) -> Delivery:
    saw_draft = False
    for _ in range(_LOOKS):
        draft = await get_draft(rest, record)
        if draft is not None:
            if saw_draft:
                return Delivery("not_sent" if draft == record.draft_message_id else "changed")
            saw_draft = True
        else:
            message = await _find_sent(rest, record)
            if message is not None:
                return Delivery("sent", str(message["id"]), str(message.get("threadId", "")))
        await anyio.sleep(PAUSE_SECONDS)
    return Delivery("unknown")


async def get_draft(rest: Rest, record: SendRecord) -> str | None:
    """The id of the message in the draft, which is another after any change; None if there is no draft."""
    draft = await _get(rest, f"drafts/{record.draft_id}", {"format": "minimal"})
    return None if draft is None else str((draft.get("message") or {}).get("id", ""))


async def _find_sent(rest: Rest, record: SendRecord) -> dict[str, Any] | None:
    """Among what was sent: the message that carries the mark, or the very one that was the draft."""
    async for message in _list_candidates(rest, record):
        headers = read_headers(message.get("payload") or {})
        is_marked = headers.get(MARK.lower(), "").strip() == record.mark
        was_draft = message.get("id") == record.draft_message_id
        if (is_marked or was_draft) and "SENT" in (message.get("labelIds") or ()):
            return message
    return None


async def _list_candidates(rest: Rest, record: SendRecord) -> AsyncIterator[dict[str, Any]]:
    """Under the draft's own id, in its thread, then among the newest in Sent."""
    query: Query = {"format": "metadata", "metadataHeaders": [MARK]}
    own = await _get(rest, f"messages/{record.draft_message_id}", query)
    if own is not None:
        yield own
    thread = await _get(rest, f"threads/{record.thread_id}", query) if record.thread_id else None
    for message in (thread or {}).get("messages") or ():
        yield message
    since: Query = {
        "labelIds": ["SENT"],
        "q": f"after:{int(record.started_at) - _SLACK_SECONDS}",
        "maxResults": _NEWEST,
    }
    listed = await _get(rest, "messages", since) or {}
    for row in listed.get("messages") or ():
        message = await _get(rest, f"messages/{row['id']}", query)
        if message is not None:
            yield message


async def _get(rest: Rest, path: str, query: Query) -> dict[str, Any] | None:
    try:
        return await rest.repeat(Request("look up a delivery", "GET", path, query))
    except Fault as fault:
        if fault.kind is FaultKind.NOT_FOUND:
            return None
        raise
