"""Telling a client that the list of tools changed, the way its era of the protocol wants it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mcp_types as types
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

if TYPE_CHECKING:
    from mcp.server.session import ServerSession

SUBSCRIPTIONS_AT_MOST = 16


class Changes:
    """In the handshake era a notification; in the modern one an event for clients that listen.

    Each way reaches nobody in the other era, so both are always taken.
    """

    def __init__(self) -> None:
        self._bus = InMemorySubscriptionBus()
        self._listen = ListenHandler(self._bus, max_subscriptions=SUBSCRIPTIONS_AT_MOST)
        self._session: ServerSession | None = None
        self.subscription = "subscriptions/listen", types.SubscriptionsListenRequestParams, self._listen

    def remember(self, session: ServerSession) -> None:
        """A client that has never asked for the tools need not hear that they changed."""
        self._session = session

    async def tell(self) -> None:
        await self._bus.publish(ToolsListChanged())
        if self._session is not None:
            await self._session.send_tool_list_changed()

    def end(self) -> None:
        self._listen.close()
