"""One connected session, kept by a task of its own from the handshake to the last reaped process."""

from __future__ import annotations

import math
import warnings
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import mcp
from mcp import MCPDeprecationWarning
from mcp_types import Implementation
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from faultless.client.folding import fold_breach, fold_local, fold_refusal
from faultless.client.frames import LIST_TOOLS, Exchange, TappedTransport
from faultless.client.listing import ListedTool, read_listing
from faultless.contract import Fault, FaultKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_types import CallToolResult

    from faultless.client.address import Endpoint

_MAX_PAGES = 100
"""A listing that never ends must not hang a connection."""
_END_SECONDS = 0.3
"""How long a caller waits to learn why the connection ended; it has its fault anyway."""
_LISTENERS = frozenset({"message_handler", "logging_callback", "extensions"})
"""Options of `mcp.Client` that hear every notification."""
_LISTINGS: dict[str, Callable[..., Awaitable[object]]] = {
    LIST_TOOLS: mcp.Client.list_tools,
    "resources/list": mcp.Client.list_resources,
    "resources/templates/list": mcp.Client.list_resource_templates,
    "prompts/list": mcp.Client.list_prompts,
}
_CLIENT_INFO = Implementation(name="faultless", version="0.1.0")


async def _leave_unchecked(name: str, result: CallToolResult) -> None:
    """In the place of a check."""


class Connection:
    def __init__(self, endpoint: Endpoint, options: Mapping[str, Any]) -> None:
        self.endpoint = endpoint
        self.tools: dict[str, ListedTool] = {}
        self.is_ready = False
        self.is_stale = False
        """The server said that its tools changed."""
        self.liveness_check: anyio.Event | None = None
        """Set once it is clear whether a server that missed a deadline still lives."""
        self.failure: Fault | None = None
        """Why it is not, or no longer, usable."""
        self.mode: Mapping[str, Any] = {}
        """What to say next time, so that the eras need not be found out again."""
        self.start_ended = anyio.Event()
        """It is ready, or has failed."""
        self.closed = anyio.Event()
        self._ending = anyio.Event()
        self._scope = anyio.CancelScope()
        listens = not _LISTENERS.isdisjoint(options)
        transport = TappedTransport(endpoint.connect(), self._ending.set, self._hear, passes_notices=listens)
        given = {"client_info": _CLIENT_INFO, "cache": None, **options}
        self.mcp = mcp.Client(transport, **given)

    async def keep(self, start_seconds: float) -> None:
        """Connect, stay until ended, clean up; why it ended is told in `failure`."""
        self._scope.deadline = anyio.current_time() + start_seconds
        try:
            with Exchange("initialize") as exchange, self._scope:
                await self._stay_connected()
            if self._scope.cancelled_caught and not self.start_ended.is_set():
                self._fail(self._describe_slow_start(start_seconds))
            self._fail(await self._find_failure(exchange))
        finally:
            self.is_ready = False
            self.start_ended.set()
            self.closed.set()

    async def _stay_connected(self) -> None:
        async with self.mcp, anyio.create_task_group() as tasks:
            # `ListedTool` checks. The SDK would list the tools again, and lose the answer where it cannot.
            self.mcp.session.validate_tool_result = _leave_unchecked  # type: ignore[method-assign]  # as above
            await self.refresh()
            if self._is_modern:
                tasks.start_soon(self._follow_changes)
                version, discovered = self.mcp.protocol_version, self.mcp.session.discover_result
                self.mode = {"mode": version, "prior_discover": discovered}
            else:
                self.mode = {"mode": "legacy"}
            self._scope.deadline = math.inf
            self.is_ready = True
            self.start_ended.set()
            await self._ending.wait()
            self.is_ready = False
            tasks.cancel_scope.cancel()

    @property
    def _is_modern(self) -> bool:
        return self.mcp.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS

    def _fail(self, failure: Fault) -> None:
        """The first failure is the reason; those after it are its effects."""
        self.failure = self.failure or failure

    def _describe_slow_start(self, seconds: float) -> Fault:
        child = self.endpoint.child
        return Fault(
            FaultKind.UNAVAILABLE,
            f"the server did not complete its start within {seconds:g} s",
            hint="raise start_timeout if it is only slow",
            details={"stderr": child.stderr_tail or None} if child else None,
            layer="transport",
        )

    async def _find_failure(self, exchange: Exchange) -> Fault:
        if exchange.raised is None:
            return await self.endpoint.explain_end()
        answer = exchange.raw
        if not self.start_ended.is_set():
            if exchange.fault is not None:
                return exchange.fault
            if answer is not None and not isinstance(answer.get("result"), dict):
                return fold_refusal(exchange)
        folded = fold_local(exchange.raised)
        has_ended = self._ending.is_set() and folded.kind is FaultKind.UNAVAILABLE
        return await self.endpoint.explain_end() if has_ended else folded

    def end(self) -> None:
        """Let the connection go; a server in good health gets time to leave."""
        self._ending.set()
        if not self.start_ended.is_set():
            self._scope.cancel()

    def abort(self, reason: Fault) -> None:
        """End a server that no longer answers."""
        self.is_ready = False
        self._fail(reason)
        self._ending.set()
        self._scope.cancel()

    async def explain_end(self) -> Fault:
        """Why a call got no answer."""
        if self.endpoint.child is None:
            with anyio.move_on_after(_END_SECONDS):
                await self.closed.wait()
        if self.failure is None:
            return await self.endpoint.explain_end()
        return self.failure.copy(outcome=None)  # what it says of the effect is said of another call

    async def refresh(self, *, strictly: bool = False) -> None:
        """List the tools; a server that cannot has none. Strictly: one that says there is no such method."""
        try:
            tools = await self.list_pages(LIST_TOOLS, "tools")
        except Fault as fault:
            if fault.origin != "peer" or (strictly and fault.kind is not FaultKind.UNSUPPORTED):
                raise
            tools = []
        self.is_stale = False
        self.tools = read_listing(tools)

    async def list_pages(self, method: str, key: str) -> list[object]:
        """A listing, page by page; one malformed item does not cost all the others."""
        listing = _LISTINGS[method]
        items: list[object] = []
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            page = await self.ask(method, partial(listing, self.mcp, cursor=cursor), strictly=False)
            listed, following = page.get(key), page.get("nextCursor")
            if not isinstance(listed, list):
                raise fold_breach(f"{key} is not a list", page)
            items += listed
            if not isinstance(following, str) or following == cursor:
                break
            cursor = following
        return items

    async def ask(
        self, method: str, send: Callable[[], Awaitable[object]], *, strictly: bool = True
    ) -> dict[str, Any]:
        """The result of one request as it came, or the fault; strictly: the SDK must have understood it."""
        with Exchange(method) as exchange:
            await send()
        if exchange.raw is None:
            raise exchange.fault or fold_local(exchange.raised or anyio.EndOfStream())
        result = exchange.raw.get("result")
        is_usable = isinstance(result, dict) and not (strictly and exchange.raised)
        if exchange.own_fault or "error" in exchange.raw or not is_usable:
            raise fold_refusal(exchange)
        return dict(result or {})

    async def ping(self) -> bool:
        """Whether the peer answers anything at all."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            if self._is_modern:
                with Exchange("server/discover") as exchange:
                    await self.mcp.session.send_discover(self.mcp.protocol_version)
            else:
                with Exchange("ping") as exchange:
                    await self.mcp.send_ping()
        return exchange.raw is not None

    def _hear(self, method: str) -> None:
        if method == "notifications/tools/list_changed":
            self.is_stale = True

    async def _follow_changes(self) -> None:
        """In the newer era changes are told to those who ask; a server that cannot is none the worse."""
        with Exchange("subscriptions/listen"):
            async with self.mcp.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self.is_stale = True
