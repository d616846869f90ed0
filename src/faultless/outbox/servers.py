"""The two servers as far as the outbox needs them: the one that keeps the notes, and the one that sends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from faultless.client import Fallback
from faultless.contract import Fault, FaultKind
from faultless.outbox.letter import Note

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path

    from faultless.approval import Content
    from faultless.client import Client, Reply

DRAFTS, APPROVED, DONE, REJECTED = "Drafts", "Approved", "Done", "Rejected"
_MOST_LISTED = 500
_VAULT_SECONDS = 30.0
_SEND_SECONDS = 180.0
"""Longer than the server may take to send and to find out what became of it."""
_STATUS_SECONDS = 90.0

# A tool of the vault server, run in this process with the same guard.
Direct: TypeAlias = "Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]"


class Vault:
    """Through its server; where that is gone, through the same code in this process."""

    def __init__(self, client: Client, direct: Direct, folder: Path) -> None:
        self.folder = folder
        """Where the files lie that go with a mail; notes are read through the server."""
        self._client = client
        self._direct = direct
        self.via = "server"
        """How the last call was answered."""

    async def list(self, folder: str, narrowed: str | None = None) -> list[str]:
        """Paths of the notes in a folder; `narrowed` to those with `field:value`."""
        paths: list[str] = []
        cursor: str | None = None
        while True:
            arguments: dict[str, Any] = {"directory": folder, "limit": _MOST_LISTED}
            if narrowed is not None:
                arguments["filter"] = narrowed
            try:
                page = await self._call("list_notes", arguments | ({"cursor": cursor} if cursor else {}))
            except Fault as fault:
                if fault.kind is FaultKind.NOT_FOUND:
                    return paths
                raise
            paths += [str(row["path"]) for row in page["notes"]]
            cursor = page.get("next_cursor")
            if not cursor:
                return sorted(paths)

    async def read(self, path: str) -> Note:
        found = await self._call("read_note", {"path": path})
        return Note(str(found["path"]), found["frontmatter"], str(found["body"]), str(found["version"]))

    async def write_fields(self, note: Note, fields: Mapping[str, Any]) -> None:
        """Set fields of the frontmatter; whoever changed the note meanwhile wins."""
        await self._call(
            "write_note", {"path": note.path, "frontmatter": dict(fields), "if_version": note.version}
        )

    async def create(self, path: str, fields: Mapping[str, Any], body: str) -> None:
        await self._call("write_note", {"path": path, "frontmatter": dict(fields), "body": body})

    async def move(self, source: str, destination: str) -> None:
        await self._call("move_note", {"source": source, "destination": destination})

    async def _call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        refused: list[Fault] = []

        async def run(_: Fault) -> dict[str, Any]:
            try:
                return await self._direct(tool, arguments)
            except Fault as fault:
                refused.append(fault)
                raise

        try:
            reply: Reply = await self._client.call(
                tool, arguments, timeout=_VAULT_SECONDS, fallback=Fallback(run)
            )
        except Fault:
            if not refused:
                raise
            self.via = "fallback"
            # The vault's own code was reached: a missing note is missing, whatever became of the server.
            raise refused[0] from None
        self.via = reply.via
        value: dict[str, Any] = reply.value
        return value


class Mailer:
    """Through the Gmail server only; there is no fallback, because nobody else may send."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def check(self, content: Content) -> None:
        """What sending would refuse is refused. Where the server is gone, sending will say."""
        try:
            await self._call("check_email", _list_arguments(content), _STATUS_SECONDS)
        except Fault as fault:
            if fault.layer != "transport":
                raise

    async def send(self, content: Content, approval_id: str) -> str:
        """The id of the message that left."""
        arguments = _list_arguments(content) | {"approval_id": approval_id}
        reply = await self._call("send_email", arguments, _SEND_SECONDS)
        return str(reply.value["message_id"])

    async def look_up_delivery(self, approval_id: str) -> tuple[str, str]:
        """`sent`, `not_sent`, `unknown` or `in_progress`, and the message's id."""
        reply = await self._client.call("get_send_status", {"send_id": approval_id}, timeout=_STATUS_SECONDS)
        return str(reply.value["state"]), str(reply.value.get("message_id") or "")

    async def _call(self, tool: str, arguments: dict[str, Any], deadline_seconds: float) -> Reply:
        try:
            return await self._client.call(tool, arguments, timeout=deadline_seconds)
        except Fault as fault:
            if fault.kind is FaultKind.INVALID_PARAMS and fault.origin == "local":
                raise _unquoted(fault) from None
            raise


def _list_arguments(content: Content) -> dict[str, Any]:
    fields = {
        "cc": content.cc,
        "bcc": content.bcc,
        "reply_to_message_id": content.thread,
        "attachments": [it.path for it in content.attachments],
    }
    needed = {"to": content.to, "subject": content.subject, "body": content.body}
    return needed | {name: value for name, value in fields.items() if value}


def _unquoted(fault: Fault) -> Fault:
    """The client's own check quotes what it refuses, and that may be text of the mail."""
    field = str(fault.details.get("field") or "the mail")
    return Fault(
        fault.kind,
        f"{field} is not what the mail server takes",
        hint="shorten or correct it",
        details={"field": field},
        layer=fault.layer,
        outcome=fault.outcome,
    )
