"""The methods of the API that the fake answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.servers.gmail.fake import mime
from tests.servers.gmail.fake.account import ADDRESS, Account, RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

Query = dict[str, list[str]]


def answer(
    account: Account, method: str, path: dict[str, str], query: Query, body: dict[str, Any]
) -> dict[str, Any]:
    known = METHODS.get(method)
    if known is None:
        raise RefusedError(501, "notImplemented")
    with account.lock:
        return known(account, path, query, body)


def _one(query: Query, name: str, default: str) -> str:
    return query.get(name, [default])[0]


def _profile(account: Account, path: dict[str, str], query: Query, body: dict[str, Any]) -> dict[str, Any]:
    return {
        "emailAddress": ADDRESS,
        "messagesTotal": len(account.messages),
        "threadsTotal": 1,
        "historyId": "77",
    }


def _page(rows: list[Any], query: Query) -> tuple[list[Any], dict[str, Any]]:
    start, size = int(_one(query, "pageToken", "0")), int(_one(query, "maxResults", "100"))
    more = {"nextPageToken": str(start + size)} if start + size < len(rows) else {}
    return rows[start : start + size], {**more, "resultSizeEstimate": 201}


def _list_messages(
    account: Account, path: dict[str, str], query: Query, body: dict[str, Any]
) -> dict[str, Any]:
    found = account.search(_one(query, "q", ""), query.get("labelIds", []))
    rows, rest = _page([{"id": it.id, "threadId": it.thread_id} for it in found], query)
    return {"messages": rows, **rest} if rows else rest


def _get_message(
    account: Account, path: dict[str, str], query: Query, body: dict[str, Any]
) -> dict[str, Any]:
    return account.show(account.get(path["id"]), _one(query, "format", "full"), query.get("metadataHeaders"))


def _get_attachment(
    account: Account, path: dict[str, str], query: Query, body: dict[str, Any]
) -> dict[str, Any]:
    account.get(path["messageId"])
    if path["id"] not in account.blobs:
        raise RefusedError(404, "notFound")
    data = account.blobs[path["id"]]
    return {"size": len(data), "data": mime.encode(data)}


def _get_thread(account: Account, path: dict[str, str], query: Query, body: dict[str, Any]) -> dict[str, Any]:
    found = [it for it in account.messages.values() if it.thread_id == path["id"]]
    if account.hides_sent:
        found = [it for it in found if "SENT" not in it.labels]
    if not found:
        raise RefusedError(404, "notFound")
    form, headers = _one(query, "format", "full"), query.get("metadataHeaders")
    return {
        "id": path["id"],
        "historyId": "77",
        "messages": [account.show(it, form, headers) for it in found],
    }


def _modify(account: Account, path: dict[str, str], query: Query, body: dict[str, Any]) -> dict[str, Any]:
    stored = account.get(path["id"])
    if not {*body.get("addLabelIds", []), *body.get("removeLabelIds", [])} <= set(account.labels):
        raise RefusedError(400, "invalidArgument")
    kept = [it for it in stored.labels if it not in body.get("removeLabelIds", [])]
    stored.labels = [*kept, *(it for it in body.get("addLabelIds", []) if it not in kept)]
    return account.show(stored, "minimal")


def _trash(account: Account, path: dict[str, str], query: Query, body: dict[str, Any]) -> dict[str, Any]:
    stored = account.get(path["id"])
    stored.labels = ["TRASH"]
    return account.show(stored, "minimal")


def _list_labels(
    account: Account, path: dict[str, str], query: Query, body: dict[str, Any]
) -> dict[str, Any]:
    kinds = {True: "system", False: "user"}
    return {
        "labels": [{"id": it, "name": name, "type": kinds[it == name]} for it, name in account.labels.items()]
    }


def _create_label(
    account: Account, path: dict[str, str], query: Query, body: dict[str, Any]
) -> dict[str, Any]:
    if body["name"].lower() in {name.lower() for name in account.labels.values()}:
        raise RefusedError(409, "aborted")
    own = f"Label_{len(account.labels)}"
    account.labels[own] = body["name"]
    return {**body, "id": own, "type": "user"}


def _list_drafts(
    account: Account, path: dict[str, str], query: Query, body: dict[str, Any]
) -> dict[str, Any]:
    rows = [
        {"id": it, "message": {"id": message, "threadId": account.messages[message].thread_id}}
        for it, message in account.drafts.items()
    ]
    shown, rest = _page(rows, query)
    return {"drafts": shown, **rest} if shown else rest


def _get_draft(account: Account, path: dict[str, str], query: Query, body: dict[str, Any]) -> dict[str, Any]:
    if path["id"] not in account.drafts:
        raise RefusedError(404, "notFound")
    stored = account.get(account.drafts[path["id"]])
    return {"id": path["id"], "message": account.show(stored, _one(query, "format", "full"))}


METHODS: dict[str, Callable[[Account, dict[str, str], Query, dict[str, Any]], dict[str, Any]]] = {
    "getProfile": _profile,
    "messages.list": _list_messages,
    "messages.get": _get_message,
    "messages.modify": _modify,
    "messages.trash": _trash,
    "messages.attachments.get": _get_attachment,
    "threads.get": _get_thread,
    "labels.list": _list_labels,
    "labels.create": _create_label,
    "drafts.list": _list_drafts,
    "drafts.get": _get_draft,
    "drafts.create": lambda account, _path, _query, body: account.create_draft(body),
    "drafts.send": lambda account, _path, _query, body: account.send_draft(body),
}
