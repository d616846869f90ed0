"""One conversation with a server that runs as a real process; the stock client carries it for now."""

from __future__ import annotations

import logging
import os
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import click
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from pydantic import TypeAdapter, ValidationError

from faultless.contract import Fault, FaultKind
from faultless.contract.text import clean

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from mcp.shared.dispatcher import ProgressFnT

T = TypeVar("T")
START_SECONDS = 60.0
MOST_PAGES = 100
_RAW = TypeAdapter(dict[str, Any])
_FAILURES = (OSError, ValueError, RuntimeError, MCPError, BaseExceptionGroup)


@dataclass(frozen=True, slots=True)
class Peer:
    """The server, once it has answered; answers are raw, for the contract's reader to judge."""

    client: Client

    async def list_tools(self) -> list[dict[str, Any]]:
        tools: list[dict[str, Any]] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            request = types.ListToolsRequest(params=types.PaginatedRequestParams(cursor=cursor))
            page = await self._send(request)
            tools += page["tools"]
            cursor = page.get("nextCursor")
            if cursor is None:
                break
        return tools

    async def call(
        self, tool: dict[str, Any], arguments: dict[str, Any], on_progress: ProgressFnT | None = None
    ) -> dict[str, Any]:
        """The whole response, as it would stand in a JSON-RPC frame."""
        params = types.CallToolRequestParams(name=tool["name"], arguments=arguments)
        request = types.CallToolRequest(params=params)
        try:
            return {
                "result": await self.client.session.send_request(request, _RAW, progress_callback=on_progress)
            }
        except MCPError as error:
            if _is_local(error):
                raise _lost_answer(tool) from error
            return {"error": error.error.model_dump(mode="json", exclude_none=True)}

    async def _send(
        self, request: types.Request[Any, Any], on_progress: ProgressFnT | None = None
    ) -> dict[str, Any]:
        session = self.client.session
        return await session.send_request(request, _RAW, progress_callback=on_progress)  # type: ignore[type-var]  # bound to models; we want the raw object


def converse(
    command: Sequence[str], talk: Callable[[Peer], Awaitable[T]], *, timeout_seconds: float | None = None
) -> T:
    """Start the server, talk, stop it and whatever it started; every failure is a Fault."""
    _silence_library()
    answer: T = anyio.run(_Conversation(command, talk, timeout_seconds).run)
    return answer


@dataclass
class _Conversation:
    command: Sequence[str]
    talk: Callable[[Peer], Awaitable[Any]]
    timeout_seconds: float | None
    connected: bool = False
    answer: Any = None
    failure: Exception | None = None
    scope: anyio.CancelScope = field(init=False)

    async def run(self) -> Any:  # noqa: ANN401 - what `talk` returned
        self.scope = anyio.CancelScope()
        async with anyio.create_task_group() as watchers:
            watchers.start_soon(self._watch_signals)
            watchers.start_soon(self._watch_start)
            watchers.start_soon(self._watch_clock)
            with self.scope:
                await self._connect()
            watchers.cancel_scope.cancel()
        if self.failure:
            raise self.failure
        return self.answer

    async def _connect(self) -> None:
        try:
            async with Client(_process(self.command), cache=None, message_handler=self._hear) as client:
                self.connected = True
                await self._talk(client)
        except _FAILURES as error:
            self._fail(_explain(error))

    async def _talk(self, client: Client) -> None:
        """What fails in here is told as a value: the client's task groups would wrap it."""
        try:
            self.answer = await self.talk(Peer(client))
        except (Fault, *_FAILURES) as error:
            self._fail(_explain(error))

    async def _hear(self, message: object) -> None:
        if isinstance(message, Exception):
            self._stop(_garbage(message))

    async def _watch_signals(self) -> None:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async for number in signals:
                self._stop(click.exceptions.Exit(128 + number))

    async def _watch_start(self) -> None:
        await anyio.sleep(START_SECONDS)
        if not self.connected:
            self._stop(_no_start())

    async def _watch_clock(self) -> None:
        if self.timeout_seconds is not None:
            await anyio.sleep(self.timeout_seconds)
            self._stop(_too_late(self.timeout_seconds))

    def _stop(self, failure: Exception) -> None:
        self._fail(failure)
        self.scope.cancel()

    def _fail(self, failure: Exception) -> None:
        """What came first is the cause of what comes after."""
        self.failure = self.failure or failure


def _process(command: Sequence[str]) -> StdioServerParameters:
    """The whole environment; the server's log only when asked for, or when it holds a bug's traceback."""
    chosen = {"FAULTLESS_LOG_LEVEL", "OTEL_LOG_LEVEL"} & os.environ.keys()
    quiet = {} if chosen else {"FAULTLESS_LOG_LEVEL": "ERROR"}
    return StdioServerParameters(command=command[0], args=list(command[1:]), env=dict(os.environ) | quiet)


def _silence_library() -> None:
    """What the SDK complains about comes back as a fault; its tracebacks are for nobody."""
    library = logging.getLogger("mcp")
    library.addHandler(logging.NullHandler())
    library.propagate = False


def _explain(error: BaseException) -> Fault:
    if isinstance(error, BaseExceptionGroup):
        return _explain(error.exceptions[0])
    if isinstance(error, Fault):
        return error
    if isinstance(error, MCPError) and not _is_local(error):
        return Fault(
            FaultKind.UPSTREAM_ERROR, f"the server refused: {clean(error.message)}", hint="see its log above"
        )
    if isinstance(error, OSError):
        return Fault(
            FaultKind.UNAVAILABLE,
            f"the server did not start: {error.strerror or error}",
            hint="run `faultless doctor`",
        )
    if isinstance(error, MCPError):
        return Fault(
            FaultKind.UNAVAILABLE,
            "the server ended before it answered",
            hint="its last words are above; `faultless doctor` checks what it needs",
        )
    return Fault(
        FaultKind.UPSTREAM_ERROR, f"the server broke the protocol: {clean(str(error), 300)}", hint=_REPORT
    )


_REPORT = "`faultless serve NAME` shows what it writes; report it to its author"


def _garbage(error: Exception) -> Fault:
    line = str(error.errors()[0].get("input")) if isinstance(error, ValidationError) else str(error)
    return Fault(
        FaultKind.PARSE_ERROR,
        f"the server wrote a line that is no message: {clean(line, 200)!r}",
        hint=_REPORT,
    )


def _no_start() -> Fault:
    return Fault(
        FaultKind.UNAVAILABLE,
        f"the server did not answer within {START_SECONDS:g} s of its start",
        hint=_REPORT,
    )


def _too_late(seconds: float) -> Fault:
    return Fault(
        FaultKind.TIMEOUT,
        f"no answer within {seconds:g} s; the call was cancelled",
        hint="give it longer with --timeout, or ask for less",
    )


def _lost_answer(tool: dict[str, Any]) -> Fault:
    """A call that changes nothing may simply be made again; any other may have been carried out."""
    harmless = (tool.get("annotations") or {}).get("readOnlyHint") is True
    return Fault(
        FaultKind.UNAVAILABLE if harmless else FaultKind.OUTCOME_UNKNOWN,
        f"the server ended while it ran {clean(tool['name'], 100)}",
        hint="its last words are above"
        if harmless
        else "look at what the call should have changed before trying again",
    )


def _is_local(error: MCPError) -> bool:
    """The SDK reports a lost connection with a code that a peer may send too; a peer of ours adds data."""
    return (
        error.code == types.CONNECTION_CLOSED and error.message == "Connection closed" and error.data is None
    )
