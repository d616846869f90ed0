"""One connected session, kept by a task of its own from the handshake to the last reaped process."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import anyio
import mcp
from mcp import MCPDeprecationWarning
from mcp_types import Implementation
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from faultless.client.exchange import LIST_TOOLS, TappedTransport, watch
from faultless.client.folding import fold_answer, fold_local, restate
from faultless.client.listing import ListedTool, read_listing
from faultless.contract import Fault, FaultKind

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from mcp.shared.dispatcher import ProgressFnT

    from faultless.client.address import Endpoint
    from faultless.client.exchange import Exchange

MAX_PAGES = 100
"""A listing that never ends must not hang a connection."""
END_SECONDS = 0.3
"""How long a caller waits to learn why the connection ended; it has its fault anyway."""
INFO = Implementation(name="faultless", version="0.1.0")


class Connection:
    def __init__(self, line: Endpoint, options: Mapping[str, Any]) -> None:
        self.line = line
        self.tools: dict[str, ListedTool] = {}
        self.is_ready = False
        self.is_stale = False
        """The server said that its tools changed."""
        self.doubt: anyio.Event | None = None
        """Set once it is clear whether a server that missed a deadline still lives."""
        self.failure: Fault | None = None
        """Why it is not, or no longer, usable."""
        self.mode: Mapping[str, Any] = {}
        """What to say next time, so that the eras need not be found out again."""
        self.settled = anyio.Event()
        self.closed = anyio.Event()
        self._ending = anyio.Event()
        self._scope = anyio.CancelScope()
        transport = TappedTransport(line.connect(), self._ending.set, self._hear)
        given = {"client_info": INFO, "cache": None, **options}
        self.mcp = mcp.Client(transport, **given)

    def _learn_mode(self) -> dict[str, Any]:
        if self.mcp.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
            return {"mode": "legacy"}
        return {"mode": self.mcp.protocol_version, "prior_discover": self.mcp.session.discover_result}

    async def keep(self, start_seconds: float) -> None:
        """Connect, stay until ended, clean up; why it ended is told in `failure`."""
        self._scope.deadline = anyio.current_time() + start_seconds
        try:
            with watch("initialize") as exchange:
                raised = await _attempt(self._stay)
            if self._scope.cancelled_caught and not self.settled.is_set():
                self._fail(self._describe_silence(start_seconds))
            self._fail(await (self._explain(exchange, raised) if raised else self.line.explain_end()))
        finally:
            self.is_ready = False
            self.settled.set()
            self.closed.set()

    async def _stay(self) -> None:
        with self._scope:
            await self._be_connected()

    async def _be_connected(self) -> None:
        async with self.mcp, anyio.create_task_group() as tasks:
            await self.refresh()
            tasks.start_soon(self._listen)
            self._scope.deadline = math.inf
            self.mode = self._learn_mode()
            self.is_ready = True
            self.settled.set()
            await self._ending.wait()
            self.is_ready = False
            tasks.cancel_scope.cancel()

    def _fail(self, failure: Fault) -> None:
        self.failure = self.failure or failure

    async def _explain(self, exchange: Exchange, raised: BaseException) -> Fault:
        if exchange.raw is not None and not self.settled.is_set():  # the handshake's own answer is to blame
            fault, _ = fold_answer(exchange, raised)
            if fault is not None:
                return fault
        folded = fold_local(raised)
        has_ended = self._ending.is_set() and folded.kind is FaultKind.UNAVAILABLE
        return await self.line.explain_end() if has_ended else folded

    def _describe_silence(self, seconds: float) -> Fault:
        child = self.line.child
        return Fault(
            FaultKind.UNAVAILABLE,
            f"the server did not complete its start within {seconds:g} s",
            hint="raise start_timeout if it is only slow",
            details={"stderr": child.stderr_tail or None} if child else None,
            layer="transport",
        )

    def end(self) -> None:
        """Let the connection go; a server in good health gets time to leave."""
        self._ending.set()
        if not self.settled.is_set():
            self._scope.cancel()

    def abort(self, reason: Fault) -> None:
        """End a server that no longer answers."""
        self.is_ready = False
        self._fail(reason)
        self._ending.set()
        self._scope.cancel()

    async def explain_end(self) -> Fault:
        """Why a call got no answer."""
        if self.line.child is None:
            with anyio.move_on_after(END_SECONDS):
                await self.closed.wait()
        return restate(self.failure) if self.failure else await self.line.explain_end()

    async def refresh(self) -> None:
        """List the tools, page by page."""
        tools: list[object] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page, cursor = await self._list_page(cursor)
            tools += page
            if cursor is None:
                break
        self.is_stale = False
        self.tools = read_listing(tools)

    async def _list_page(self, cursor: str | None) -> tuple[list[object], str | None]:
        with watch(LIST_TOOLS) as exchange:
            raised = await _attempt(lambda: self.mcp.list_tools(cursor=cursor))
        if exchange.raw is None:
            raise raised or anyio.EndOfStream
        result = exchange.raw.get("result")
        if not isinstance(result, dict):  # an error: a server without tools
            return [], None
        tools, following = result.get("tools"), result.get("nextCursor")
        return (
            tools if isinstance(tools, list) else [],
            following if isinstance(following, str) and following != cursor else None,
        )

    async def call(
        self, name: str, arguments: dict[str, Any], on_progress: ProgressFnT | None = None
    ) -> Exception | None:
        """Call a tool; what the peer answered is seen by whoever watches."""
        return await _attempt(lambda: self.mcp.call_tool(name, arguments, progress_callback=on_progress))

    async def ping(self) -> bool:
        """Whether the peer answers anything at all."""
        version = self.mcp.protocol_version
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            if version in HANDSHAKE_PROTOCOL_VERSIONS:
                with watch("ping") as exchange:
                    await _attempt(self.mcp.send_ping)
            else:
                with watch("server/discover") as exchange:
                    await _attempt(lambda: self.mcp.session.send_discover(version))
        return exchange.raw is not None

    def _hear(self, method: str) -> None:
        if method == "notifications/tools/list_changed":
            self.is_stale = True

    async def _listen(self) -> None:
        """In the newer era changes are told to those who ask; a server that cannot is none the worse."""
        if self.mcp.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
            await _attempt(self._follow_changes)

    async def _follow_changes(self) -> None:
        async with self.mcp.listen(tools_list_changed=True) as changes:
            async for _ in changes:
                self.is_stale = True


async def _attempt(request: Callable[[], Awaitable[object]]) -> Exception | None:
    try:
        await request()
    except Exception as raised:  # noqa: BLE001 - whatever the SDK and its transports raise has a row in the table
        return raised
    return None
