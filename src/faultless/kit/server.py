"""The one boundary where an exception becomes a response."""

from __future__ import annotations

import math
import secrets
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import anyio
import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, ValidationError

from faultless.contract import Dialect, ErrorReply, Fault, FaultKind, clean, write
from faultless.contract.text import did_you_mean
from faultless.kit import log
from faultless.kit.blame import blame_author
from faultless.kit.offers import make_call, offers, refuse_cursor
from faultless.kit.toolset import Call, Output, TellChanged, Tool, Toolset
from faultless.kit.validation import explain_refusal

if TYPE_CHECKING:
    from mcp.server.models import InitializationOptions
    from mcp.server.session import ServerSession

Faults: TypeAlias = Literal["native", "result"]
Context: TypeAlias = ServerRequestContext[Any, Any]
T = TypeVar("T")

_SUBSCRIPTIONS_AT_MOST = 16
_NAMES_AT_MOST = 400
"""Characters of the names of tools in a hint."""


class Boundary:
    """Serves a toolset: finds the tool, runs it, and writes whatever happens in the toolset's dialect."""

    def __init__(self, toolset: Toolset, *, faults: Faults = "native", debug: bool = False) -> None:
        self.toolset = toolset
        self._faults_as_results = faults == "result"
        self._debug = debug
        self._running: set[anyio.CancelScope] = set()
        self._changes = _Changes()
        self.server: Server[Any] = Server(
            toolset.name,
            version=toolset.version,
            instructions=toolset.instructions or None,
            on_list_tools=self._list_tools,
            lifespan=self._live,
        )
        self.server.add_request_handler("tools/call", types.CallToolRequestParams, self._call_tool)
        for method, (params, answer) in offers(toolset).items():
            self.server.add_request_handler(method, params, self._contained(answer))
        if toolset.accompany:
            self.server.add_request_handler(*self._changes.subscription)
        # Replaces the stock telemetry middleware, which without an exporter only costs time.
        self.server.middleware[:] = [self._guard]

    @property
    def options(self) -> InitializationOptions:
        changing = self.toolset.accompany is not None
        return self.server.create_initialization_options(NotificationOptions(tools_changed=changing))

    def interrupt(self) -> None:
        """End every running call with an `interrupted` fault."""
        for scope in self._running:
            scope.cancel("the server is stopping")

    def end_subscriptions(self) -> None:
        """Answer requests that would otherwise stay open for good."""
        self._changes.end()

    @asynccontextmanager
    async def _live(self, _: Server[Any]) -> AsyncIterator[Mapping[Any, object]]:
        """What exists as long as the session: the states that lifespans make, and the companion."""
        opened: list[AbstractAsyncContextManager[object]] = []
        try:
            states = {kind: await self._open(make(), opened) for kind, make in self.toolset.lifespans.items()}
            if self.toolset.accompany is None:
                yield states
                return
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._run_beside, self.toolset.accompany)
                yield states
                tasks.cancel_scope.cancel()
        finally:
            for state in reversed(opened):
                with suppress(Fault):  # it is logged, and the others must be closed as well
                    await self._contain(state.__aexit__(None, None, None))

    async def _open(
        self, state: AbstractAsyncContextManager[object], opened: list[AbstractAsyncContextManager[object]]
    ) -> object:
        """What cannot be made is told to whoever calls a tool that needs it; the others go on."""
        try:
            made = await self._contain(state.__aenter__())
        except Fault as fault:
            return fault
        opened.append(state)
        return made

    async def _run_beside(self, companion: Callable[[TellChanged], Awaitable[None]]) -> None:
        with suppress(Fault):  # it is logged, and the session can do without
            await self._contain(companion(self._changes.tell))

    async def _list_tools(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        refuse_cursor(params)
        await self._refresh(context)
        return types.ListToolsResult(tools=[_listed(tool) for tool in self.toolset.tools.values()])

    async def _call_tool(self, context: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
        call = make_call(context)
        started = time.perf_counter()
        tool: Tool | None = None
        outcome = "cancelled"
        try:
            await self._refresh(context)
            tool = self.toolset.tools.get(params.name)
            if tool is None:
                raise self.toolset.left_out.get(params.name) or _unknown_tool(params.name, self.toolset.tools)
            output = await self._contain(self._run(tool, params.arguments or {}, call), tool=tool.name)
            outcome = "answered"
            return _answered(output, call)
        except Fault as fault:
            outcome = fault.kind.value
            return self._written(fault, tool, call)
        finally:
            _log_outcome(params.name, call, time.perf_counter() - started, outcome)

    async def _refresh(self, context: Context) -> None:
        self._changes.remember(context.session)
        if self.toolset.refresh:
            await self._contain(self.toolset.refresh())

    async def _guard(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """What the SDK does around our tools gets the same treatment: a reason, and no leaks."""
        try:
            return await self._contain(call_next(ctx), MCPError, ValidationError)
        except ValidationError as refused:
            fault = explain_refusal(refused)
        except Fault as raised:
            fault = raised
        raise _as_error(fault)

    async def _contain(self, work: Awaitable[T], *meaningful: type[Exception], tool: str | None = None) -> T:
        """Everything work can raise, as a fault; cancellation and what the caller calls meaningful pass."""
        passing: tuple[type[BaseException], ...] = (Fault, *meaningful)
        try:
            return await work
        except passing:
            raise
        except anyio.get_cancelled_exc_class() as cancelled:
            if anyio.current_effective_deadline() == -math.inf:
                raise
            fault = self._internal(
                cancelled, tool
            )  # nobody cancelled the call: the tool let out what it cancelled
        except BaseException as unforeseen:  # noqa: BLE001 - a tool may raise SystemExit; the session must live
            fault = self._internal(unforeseen, tool)
        raise fault

    def _contained(self, answer: Callable[..., Awaitable[T]]) -> Callable[..., Awaitable[T]]:
        async def contained(context: Context, params: BaseModel) -> T:
            return await self._contain(answer(context, params), MCPError)

        return contained

    async def _run(self, tool: Tool, arguments: dict[str, Any], call: Call) -> Output:
        with anyio.CancelScope() as scope:
            self._running.add(scope)
            try:
                return await tool.run(arguments, call)
            finally:
                self._running.discard(scope)
        raise Fault(
            FaultKind.INTERRUPTED,
            f"{tool.name} was stopped because the server is shutting down",
            hint="start the server again and repeat the call",
        )

    def _written(self, fault: Fault, tool: Tool | None, call: Call) -> dict[str, Any]:
        reply = write(
            fault, self.toolset.dialect, empty=tool.empty if tool else {}, as_result=self._faults_as_results
        )
        if isinstance(reply, ErrorReply):
            raise MCPError(reply.code, reply.message, reply.data)
        return _framed(reply.to_result(), call)

    def _internal(self, unforeseen: BaseException, tool: str | None) -> Fault:
        error_id = secrets.token_hex(6)
        lines = traceback.format_exception(unforeseen)
        log.error("internal error", error_id=error_id, traceback="".join(lines))
        blamed = blame_author(unforeseen, tool)
        what = f"{blamed}, a bug of this server" if blamed else "an unexpected condition"
        whom = f" to the author of {self.toolset.name}" if blamed else ""
        return Fault(
            FaultKind.INTERNAL,
            f"Internal server error: {what}, logged under error id {error_id}",
            hint=f"report it{whom} with the server's log lines for error id {error_id}",
            details={
                "error_id": error_id,
                "traceback": clean("".join(lines), 20_000) if self._debug else None,
            },
        )


class _Changes:
    """Tells a client that the list of tools changed, the way its era of the protocol wants it.

    In the handshake era that is a notification, in the modern one an event for clients that listen.
    Each way reaches nobody in the other era, so both are always taken.
    """

    def __init__(self) -> None:
        self._bus = InMemorySubscriptionBus()
        self._listen = ListenHandler(self._bus, max_subscriptions=_SUBSCRIPTIONS_AT_MOST)
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


def _unknown_tool(name: str, tools: Mapping[str, Tool]) -> Fault:
    shown = clean(name, 100)
    return Fault(
        FaultKind.UNKNOWN_TOOL,
        f"Unknown tool: {shown!r}{did_you_mean(name, tools)}",
        hint=f"the tools are: {_list_names(tools)}" if tools else "this server offers no tools at present",
        details={"field": "name", "detail": "no tool has that name", "received_value": shown},
    )


def _list_names(tools: Mapping[str, Tool]) -> str:
    """As many as leave room for the rest of a message."""
    names = ", ".join(tools)
    if len(names) <= _NAMES_AT_MOST:
        return names
    shown = names[:_NAMES_AT_MOST].rpartition(", ")[0]
    return f"{shown} and {len(tools) - len(shown.split(', '))} more"


def _listed(tool: Tool) -> types.Tool:
    annotations = types.ToolAnnotations(
        read_only_hint=tool.annotations.read_only,
        idempotent_hint=tool.annotations.idempotent,
        destructive_hint=tool.annotations.destructive,
        open_world_hint=tool.annotations.open_world,
    )
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=annotations,
    )


def _answered(output: Output, call: Call) -> dict[str, Any]:
    text = {"type": "text", "text": output.text}
    result: dict[str, Any] = {"isError": False, "content": list(output.content) or [text]}
    if output.payload is not None:
        result["structuredContent"] = output.payload
    return _framed(result, call)


def _framed(result: dict[str, Any], call: Call) -> dict[str, Any]:
    meta = {**call.meta, **result.get("_meta", {})}
    # A resultType is obligatory in the newer protocol; the SDK takes it off in the older one.
    framed = {"resultType": "complete", **result}
    return {**framed, "_meta": meta} if meta else framed


def _as_error(fault: Fault) -> MCPError:
    reply = write(fault, Dialect.JSONRPC)
    if not isinstance(reply, ErrorReply):
        raise TypeError("the jsonrpc dialect writes errors")
    return MCPError(reply.code, reply.message, reply.data)


def _log_outcome(tool: str, call: Call, seconds: float, outcome: str) -> None:
    record = log.info if outcome in {"answered", "cancelled"} else log.warn
    record(
        "tool call",
        tool=clean(tool, 100),
        request_id=call.request_id,
        duration_seconds=round(seconds, 6),
        outcome=outcome,
    )
