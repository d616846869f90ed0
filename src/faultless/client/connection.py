"""One connected session, kept by a task of its own from the handshake to the last reaped process."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import anyio
import mcp
from mcp import MCPDeprecationWarning
from mcp_types import Implementation, ToolListChangedNotification
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from faultless.client.exchange import CALL_TOOL, LIST_TOOLS, TappedTransport, watch
from faultless.client.folding import fold_answer, fold_local
from faultless.client.listing import ListedTool, read_listing
from faultless.contract import Fault, FaultKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from faultless.client.exchange import Exchange
    from faultless.client.lines import Line

MAX_PAGES = 100
"""A listing that never ends must not hang a connection."""


class Connection:
    def __init__(self, line: Line, mode: Mapping[str, Any], options: Mapping[str, Any], version: str) -> None:
        self.line = line
        self.tools: dict[str, ListedTool] = {}
        self.is_ready = False
        self.is_stale = False
        """The server said that its tools changed."""
        self.failure: Fault | None = None
        """Why it is not, or no longer, usable."""
        self.settled = anyio.Event()
        self.closed = anyio.Event()
        self._ending = anyio.Event()
        self._scope = anyio.CancelScope()
        transport = TappedTransport(line.open(), self.end)
        info = Implementation(name="faultless", version=version)
        given = {"client_info": info, "message_handler": self._hear, "cache": None, **mode, **options}
        self.mcp = mcp.Client(transport, **given)

    @property
    def mode(self) -> dict[str, Any]:
        """What to say next time, so that the eras need not be found out again."""
        if self.mcp.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
            return {"mode": "legacy"}
        return {"mode": self.mcp.protocol_version, "prior_discover": self.mcp.session.discover_result}

    async def keep(self, start_seconds: float) -> None:
        """Connect, stay until ended, clean up; whatever happens is told in `failure`."""
        self._scope.deadline = anyio.current_time() + start_seconds
        try:
            with self._scope, watch("initialize") as exchange:
                await self._stay(exchange)
        except Exception as raised:  # noqa: BLE001 - whatever the SDK and its transports raise has a row in the table
            self.failure = self.failure or await self._explain(exchange, raised)
        finally:
            self.is_ready = False
            self.failure = self.failure or self._describe_silence(start_seconds)
            self.settled.set()
            self.closed.set()

    async def _stay(self, exchange: Exchange) -> None:
        async with self.mcp:
            with watch(LIST_TOOLS) as listing:
                self.tools = await self.list_tools(listing)
            self._scope.deadline = math.inf
            self.is_ready = True
            self.settled.set()
            del exchange
            await self._ending.wait()
            self.is_ready = False

    async def _explain(self, exchange: Exchange, raised: BaseException) -> Fault:
        if exchange.raw is not None:
            fault, _ = fold_answer(exchange, raised)
            if fault is not None:
                return fault
        folded = fold_local(raised)
        has_ended = self._ending.is_set() and folded.kind is FaultKind.UNAVAILABLE
        return await self.line.explain_end() if has_ended else folded

    def _describe_silence(self, seconds: float) -> Fault:
        if self._scope.cancelled_caught and not self.is_ready and not self._ending.is_set():
            tail = self.line.child.stderr_tail if self.line.child else None
            return Fault(
                FaultKind.UNAVAILABLE,
                f"the server did not complete its start within {seconds:g} s",
                details={"stderr": tail or None},
                layer="transport",
            )
        return Fault(FaultKind.UNAVAILABLE, f"the connection to {self.line.name} ended", layer="transport")

    def end(self) -> None:
        """Let the connection go; a server in good health gets time to leave."""
        self._ending.set()

    def abort(self, reason: Fault) -> None:
        """End a server that no longer answers."""
        self.is_ready = False
        self.failure = reason
        self._ending.set()
        self._scope.cancel()

    async def list_tools(self, exchange: Exchange) -> dict[str, ListedTool]:
        tools: list[object] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            try:
                await self.mcp.list_tools(cursor=cursor)
            except Exception:
                if exchange.raw is None:
                    raise
            result = (exchange.raw or {}).get("result")
            page = result if isinstance(result, dict) else {}  # a server without tools answers with an error
            tools += page["tools"] if isinstance(page.get("tools"), list) else []
            cursor = page.get("nextCursor") if isinstance(page.get("nextCursor"), str) else None
            if cursor is None:
                break
        self.is_stale = False
        return read_listing(tools)

    async def refresh(self) -> None:
        with watch(LIST_TOOLS) as listing:
            self.tools = await self.list_tools(listing)

    async def call(self, name: str, arguments: dict[str, Any]) -> tuple[Exchange, Exception | None]:
        """Call a tool; tells what passed on the wire, and what the SDK raised."""
        with watch(CALL_TOOL) as exchange:
            try:
                await self.mcp.call_tool(name, arguments)
            except Exception as raised:  # noqa: BLE001 - as in `keep`
                return exchange, raised
        return exchange, None

    async def ping(self) -> None:
        """Return once the peer has answered anything; raise what the SDK raises where it has not."""
        version = self.mcp.protocol_version
        method = "ping" if version in HANDSHAKE_PROTOCOL_VERSIONS else "server/discover"
        with watch(method) as exchange, warnings.catch_warnings():
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            try:
                if method == "ping":
                    await self.mcp.send_ping()  # type: ignore[deprecated]  # the older era has no other probe
                else:
                    await self.mcp.session.send_discover(version)
            except Exception:
                if exchange.raw is None:
                    raise

    async def _hear(self, message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            self.is_stale = True
