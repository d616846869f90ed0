"""The vault, through its server; where that is gone, through the same code in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from faultless.client import Fallback
from faultless.contract import Fault, FaultKind
from faultless.outbox.letter import Note

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from faultless.client import Client, Reply

DRAFTS, APPROVED, DONE, REJECTED = "Drafts", "Approved", "Done", "Rejected"
TIMEOUT_SECONDS = 30.0
MOST_LISTED = 500

# A tool of the vault server, run in this process with the same guard.
Direct: TypeAlias = "Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]"


class Vault:
    def __init__(self, client: Client, direct: Direct) -> None:
        self._client = client
        self._direct = direct
        self.via = "server"
        """How the last call was answered."""

    async def list(self, folder: str) -> list[str]:
        paths: list[str] = []
        cursor: str | None = None
        while True:
            asked: dict[str, Any] = {"directory": folder, "limit": MOST_LISTED}
            try:
                page = await self._call("list_notes", asked | ({"cursor": cursor} if cursor else {}))
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
                tool, arguments, timeout=TIMEOUT_SECONDS, fallback=Fallback(run)
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
