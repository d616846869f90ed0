"""The two servers as far as the outbox needs them: the one that keeps the notes, and the one that sends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from faultless.client import Fallback
from faultless.contract import Fault, FaultKind
from faultless.outbox.letter import Note

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

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

    def __init__(self, client: Client, direct: Direct) -> None:
        self._client = client
        self._direct = direct
        self.via = "server"
        """How the last call was answered."""

    async def list(self, folder: str) -> list[str]:
        paths: list[str] = []
        cursor: str | None = None
        while True:
            arguments: dict[str, Any] = {"directory": folder, "limit": _MOST_LISTED}
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

    async def send(self, content: Content, approval_id: str) -> str:
        """The id of the message that left."""
        fields = {
            "to": content.to,
            "cc": content.cc,
            "bcc": content.bcc,
            "subject": content.subject,
            "body": content.body,
            "reply_to_message_id": content.thread,
        }
        arguments = {name: text for name, text in fields.items() if text} | {"approval_id": approval_id}
        reply = await self._client.call("send_email", arguments, timeout=_SEND_SECONDS)
        return str(reply.value["message_id"])

    async def look_up_delivery(self, approval_id: str) -> tuple[str, str]:
        """`sent`, `not_sent`, `unknown` or `in_progress`, and the message's id."""
        reply = await self._client.call("get_send_status", {"send_id": approval_id}, timeout=_STATUS_SECONDS)
        return str(reply.value["state"]), str(reply.value.get("message_id") or "")
