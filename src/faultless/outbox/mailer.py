"""The Gmail server, as far as the outbox needs it. It has no fallback: nobody else may send."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from faultless.outbox.letter import write_arguments

if TYPE_CHECKING:
    from faultless.approval import Content
    from faultless.client import Client

SEND_SECONDS = 180.0
"""Longer than the server may take to send and to find out what became of it."""
STATUS_SECONDS = 90.0


class Mailer:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def send(self, content: Content, approval_id: str) -> str:
        """The id of the message that left."""
        arguments = write_arguments(content, approval_id)
        reply = await self._client.call("send_email", arguments, timeout=SEND_SECONDS)
        return str(reply.value["message_id"])

    async def find_state(self, approval_id: str) -> tuple[str, str]:
        """`sent`, `not_sent`, `unknown` or `in_progress`, and the message's id."""
        answer: dict[str, Any] = (
            await self._client.call("get_send_status", {"send_id": approval_id}, timeout=STATUS_SECONDS)
        ).value
        return str(answer["state"]), str(answer.get("message_id") or "")
