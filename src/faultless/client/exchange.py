"""One request on its way, and what is known of it: written or not, answered or not, and by whom.

The SDK raises the same for a peer's error, a lost connection and its own time-out, and drops answers that it
cannot validate. So both streams of every transport pass through here, and the raw answer is kept beside.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextvars import Context
    from types import TracebackType

    from mcp.client import Transport

    from faultless.contract import Fault

NOTICE_SECONDS = 0.5
"""Longest a notification may hold up its sender; a peer that does not read must not delay a deadline."""


CALL_TOOL = "tools/call"
LIST_TOOLS = "tools/list"


@dataclass
class Frame(SessionMessage):
    """A message with the text it was made from, for readers more patient than the SDK."""

    raw: dict[str, Any] | None = None
    fault: Fault | None = None
    """Why there is no raw text: it was too large to keep."""


@dataclass(slots=True)
class HttpAnswer:
    """What a server said below the protocol."""

    status: int
    retry_after: str | None
    body: bytearray = field(default_factory=bytearray)


@dataclass(slots=True)
class Exchange:
    method: str
    issued: bool = False
    """The request left, so the peer may have acted on it."""
    raw: dict[str, Any] | None = None
    """The peer's answer."""
    fault: Fault | None = None
    http: HttpAnswer | None = None


_CURRENT: ContextVar[Exchange | None] = ContextVar("exchange", default=None)


@contextmanager
def watch(method: str) -> Iterator[Exchange]:
    """Watch the requests of that method that this task sends; of several, the last one counts."""
    exchange = Exchange(method)
    token = _CURRENT.set(exchange)
    try:
        yield exchange
    finally:
        _CURRENT.reset(token)


def watched() -> Exchange | None:
    return _CURRENT.get()


class TappedTransport:
    """Any transport, with its exchanges observed and its listings made digestible."""

    def __init__(
        self, inner: Transport, on_end: Callable[[], None], on_notice: Callable[[str], None]
    ) -> None:
        self._inner = inner
        self._on_end = on_end
        self._on_notice = on_notice
        self._waiting: dict[str, Exchange] = {}

    async def __aenter__(self) -> tuple[_TappedReader, _TappedWriter]:
        reader, writer = await self._inner.__aenter__()
        return _TappedReader(reader, self._waiting, self._on_end, self._on_notice), _TappedWriter(
            writer, self._waiting
        )

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._inner.__aexit__(kind, error, trace)


class _Tapped:
    def __init__(self, inner: Any, waiting: dict[str, Exchange]) -> None:  # noqa: ANN401 - the SDK's protocol types are private
        self._inner = inner
        self._waiting = waiting

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        result: bool | None = await self._inner.__aexit__(kind, error, trace)
        return result


class _TappedWriter(_Tapped):
    async def send(self, item: SessionMessage, /) -> None:
        message = item.message
        if not isinstance(message, JSONRPCRequest):
            with anyio.move_on_after(NOTICE_SECONDS):
                await self._inner.send(item)
            return
        exchange = _CURRENT.get()
        if exchange is None or exchange.method != message.method:
            exchange = Exchange(message.method)
        self._waiting[str(message.id)] = exchange
        exchange.issued, exchange.raw, exchange.fault = True, None, None
        try:
            await self._inner.send(item)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            exchange.issued = False
            raise


class _TappedReader(_Tapped):
    def __init__(
        self,
        inner: Any,  # noqa: ANN401 - as above
        waiting: dict[str, Exchange],
        on_end: Callable[[], None],
        on_notice: Callable[[str], None],
    ) -> None:
        super().__init__(inner, waiting)
        self._on_end = on_end
        self._on_notice = on_notice

    @property
    def last_context(self) -> Context | None:
        return getattr(self._inner, "last_context", None)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            item: SessionMessage | Exception = await self._inner.__anext__()
        except (StopAsyncIteration, anyio.ClosedResourceError):
            self._on_end()
            raise
        if isinstance(item, SessionMessage):
            self._note(item)
        return item

    async def receive(self) -> SessionMessage | Exception:
        return await self.__anext__()

    def _note(self, item: SessionMessage) -> None:
        message = item.message
        if isinstance(message, JSONRPCNotification):
            self._on_notice(message.method)
        if not isinstance(message, JSONRPCResponse | JSONRPCError):
            return
        exchange = self._waiting.pop(str(message.id), None)
        if exchange is None:
            return
        if isinstance(item, Frame):
            exchange.raw, exchange.fault = item.raw, item.fault
        elif isinstance(message, JSONRPCResponse):
            exchange.raw = {"result": message.result}
        else:
            exchange.raw = {"error": message.error.model_dump(exclude_unset=True)}
        if exchange.method == LIST_TOOLS and isinstance(message, JSONRPCResponse):
            message.result = digest_listing(message.result)


def digest_listing(result: dict[str, Any]) -> dict[str, Any]:
    """A copy the SDK can stomach: one malformed tool must not cost all the others.

    Output schemas are left out: the SDK would run the server's patterns over the server's text, with an
    engine that can be made to hang. Answers are checked in `listing`, with one that cannot.
    """
    listed = result.get("tools")
    if not isinstance(listed, list):
        return result
    tools = [
        {"name": tool["name"], "inputSchema": _digest_schema(tool.get("inputSchema"))}
        for tool in listed
        if isinstance(tool, dict) and isinstance(tool.get("name"), str)
    ]
    return {**result, "tools": tools}


def _digest_schema(schema: object) -> object:
    return schema if isinstance(schema, dict) and schema.get("type") == "object" else {"type": "object"}
