"""What passes between client and server: lines read as frames, and every request's answer kept as it came.

The SDK raises the same for a peer's error, a lost connection and its own time-out, and drops answers that it
cannot validate. So both streams of every transport pass through a tap that keeps the raw answer beside.
"""

from __future__ import annotations

import json
import re
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import anyio
from mcp.shared.message import SessionMessage
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp_types import ErrorData, JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse
from pydantic import ValidationError
from pydantic_core import from_json

from faultless.client.budget import explain_size
from faultless.client.listing import simplify_listing
from faultless.contract import Fault, FaultKind
from faultless.contract.portable import make_portable

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Context, Token
    from types import TracebackType

    from mcp.client import Transport

    from faultless.client.http import HttpAnswer
    from faultless.process.lines import Line

CALL_TOOL = "tools/call"
LIST_TOOLS = "tools/list"
_MAY_ASK = frozenset({CALL_TOOL, "prompts/get", "resources/read"})
"""Requests in the middle of which a peer has something to ask."""
_CANCELLED = "notifications/cancelled"
_NOTICE_SECONDS = 0.2
"""Longest a notification may hold up its sender; a peer that does not read must not delay a deadline."""
_GLANCE_SECONDS = 0.02
"""The same for a peer that did not take the last one."""
_MAX_QUESTIONS = 64
"""Requests of the peer's that may wait for our answer; one that does not read them must not fill memory."""
_MAX_BATCH = 1000
_EDGE_BYTES = 256
_MALFORMED = ErrorData(code=-32603, message="malformed response")
"""Only wakes the waiter; the fault is made from the raw text."""

# A frame begins so; everything else is noise, and need not be parsed to know it.
_OPENINGS = frozenset({b"{", b"[", b" ", b"\t", b"\r"})
# Writers put the id first or last; anything between may be part of the answer.
_ID_FIRST = re.compile(rb'^\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)\s*,')
_ID_LAST = re.compile(rb',\s*"id"\s*:\s*(\d+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')


@dataclass
class Frame(SessionMessage):
    """A message with the JSON it was made from, for readers more patient than the SDK."""

    raw: dict[str, Any] | None = None
    fault: Fault | None = None
    """Why there is no raw answer: it was too large to keep, or cannot be read."""


def read_line(line: Line) -> list[Frame]:
    """The messages of one line: usually one, none where it is noise, several in a batch."""
    if line.tail is not None:
        fault = explain_size(line.size)
        request_id = _find_id(line.data, line.tail)
        if request_id is None:  # nobody can be told, so the connection cannot go on
            fault.layer = "transport"
            raise fault
        return [_wake(request_id, fault)]
    if line.data[:1] not in _OPENINGS:
        return []
    try:
        value = _parse(line.data)
    except ValueError:
        request_id = _find_id(line.data[:_EDGE_BYTES], line.data[-_EDGE_BYTES:])
        return [] if request_id is None else [_wake(request_id, _explain_text())]
    values = value[:_MAX_BATCH] if isinstance(value, list) else [value]
    return [frame for item in values if isinstance(item, dict) and (frame := _read_message(item))]


def refuse_line(line: Line, values: int) -> list[Frame]:
    """In the place of a line that nobody could parse in time."""
    request_id = _find_id(line.data[:_EDGE_BYTES], line.data[-_EDGE_BYTES:])
    return [] if request_id is None else [_wake(request_id, explain_size(values, "values"))]


def _parse(line: bytes) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return from_json(line, allow_inf_nan=False)
    except ValueError:
        pass
    try:  # lone surrogates, NaN and broken UTF-8 all occur
        return make_portable(json.loads(line.decode(errors="replace")))
    except RecursionError as nested:
        raise ValueError from nested


def _read_message(value: dict[str, Any]) -> Frame | None:
    if "method" not in value:
        return _read_answer(value)
    model = JSONRPCNotification if value.get("id") is None else JSONRPCRequest
    try:
        return Frame(model.model_validate(value))
    except ValidationError:
        return None


def _read_answer(value: dict[str, Any]) -> Frame | None:
    request_id, result, error = value.get("id"), value.get("result"), value.get("error")
    if isinstance(request_id, bool) or not isinstance(request_id, int | str):
        return None
    if "error" not in value and "result" not in value:
        return None
    if isinstance(result, dict) and error is None:
        answer = JSONRPCResponse.model_construct(jsonrpc="2.0", id=request_id, result=result)
        return Frame(answer, raw={"result": result})
    try:
        data = ErrorData.model_validate(error)
    except ValidationError:
        data = _MALFORMED
    # An error that is not an object is still an error; a result that is not an object is still an answer.
    raw = {"result": result} if error is None else {"jsonrpc": "2.0", "error": error}
    return Frame(JSONRPCError(jsonrpc="2.0", id=request_id, error=data), raw=raw)


def _find_id(head: bytes, tail: bytes) -> int | None:
    """The id of a frame that cannot be read as a whole."""
    found = _ID_FIRST.match(head) or _ID_LAST.search(tail)
    return int(found[1]) if found else None


def _wake(request_id: int, fault: Fault) -> Frame:
    """Tells the one call that a frame nobody can read was meant for."""
    return Frame(JSONRPCError(jsonrpc="2.0", id=request_id, error=_MALFORMED), fault=fault)


def _explain_text() -> Fault:
    return Fault(
        FaultKind.UPSTREAM_ERROR,
        "the answer breaks the protocol: the frame is not JSON, or nested beyond reading",
        hint="report it to the server's maintainers",
        origin="peer",
        layer="protocol",
    )


_CURRENT: ContextVar[Exchange | None] = ContextVar("exchange", default=None)


@dataclass(slots=True)
class Exchange:
    """One request, and what is known of it: sent or not, answered or not, and by whom.

    Entered, it stands for the requests of its method that this task sends; of several, the last one counts.
    What the SDK raises meanwhile is kept, not raised: it means something only beside what the peer said.
    """

    method: str
    issued: bool = False
    """The request left, so the peer may have acted on it."""
    raw: dict[str, Any] | None = None
    """The peer's answer."""
    raised: Exception | None = None
    fault: Fault | None = None
    """Why an answer that came is not there as `raw`."""
    reports_progress: bool = False
    """The peer was asked to."""
    http: HttpAnswer | None = None
    own_fault: Fault | None = None
    """The peer asked back and our side could not answer, so that its answer cannot count."""
    _token: Token[Exchange | None] | None = field(default=None, repr=False)

    @staticmethod
    def current() -> Exchange | None:
        return _CURRENT.get()

    def __enter__(self) -> Self:
        self._token = _CURRENT.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if self._token is not None:
            _CURRENT.reset(self._token)
        if not isinstance(error, Exception):
            return False
        self.raised = error  # whatever the SDK and its transports raise has a row in `folding`
        return True


class TappedTransport:
    """Any transport, with its exchanges observed and its listings made readable for the SDK."""

    def __init__(
        self,
        inner: Transport,
        on_end: Callable[[], None],
        on_notice: Callable[[str], None],
        *,
        passes_notices: bool = False,
    ) -> None:
        self._inner = inner
        self._on_end = on_end
        self._on_notice = on_notice
        self._passes_notices = passes_notices

    async def __aenter__(self) -> tuple[_TappedReader, _TappedWriter]:
        reader, writer = await self._inner.__aenter__()
        ledger = _Ledger(self._passes_notices)
        return _TappedReader(reader, ledger, self._on_end, self._on_notice), _TappedWriter(writer, ledger)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._inner.__aexit__(kind, error, trace)


@dataclass(slots=True)
class _Ledger:
    """What is open on one connection: our requests, and the peer's."""

    passes_notices: bool
    """Somebody listens to every notification; otherwise only those are passed on that a request waits for."""
    waiting: dict[str, Exchange] = field(default_factory=dict)
    questions: set[str] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)
    """Questions whose answer could not be sent."""
    reads: bool = True
    """The peer took what was sent last."""

    def admits(self, message: object) -> bool:
        """Whether the SDK needs to see it: it starts a task for each, so a flood would fill memory."""
        if isinstance(message, JSONRPCNotification):
            return self.passes_notices or self._concerns(message)
        if isinstance(message, JSONRPCRequest):
            if len(self.questions) >= _MAX_QUESTIONS or str(message.id) in self.questions:
                return False
            self.questions.add(str(message.id))
        return True

    def find_context(self, sender: Context | None) -> Context | None:
        """Whose question it is: the transport may know; else it is clear only if one request is open."""
        known = sender.get(_CURRENT) if sender is not None else None
        if known is not None and known.method in _MAY_ASK:
            return sender
        asking = [exchange for exchange in self.waiting.values() if exchange.method in _MAY_ASK]
        context = (sender or copy_context()).copy()
        context.run(_CURRENT.set, asking[0] if len(asking) == 1 else None)
        return context

    def close(self, message: object) -> None:
        """Our answer to a question was sent, or not: who does not read them is asked by no more."""
        if not isinstance(message, JSONRPCResponse | JSONRPCError):
            return
        if not self.reads:
            self.lost.add(str(message.id))
            return
        self.questions -= {str(message.id), *self.lost}
        self.lost.clear()

    def give_up(self, message: object) -> None:
        """The request that it takes back is no longer waited for."""
        if isinstance(message, JSONRPCNotification) and message.method == _CANCELLED:
            self.waiting.pop(str((message.params or {}).get("requestId")), None)

    def _concerns(self, message: JSONRPCNotification) -> bool:
        params = message.params or {}
        if message.method == "notifications/progress":
            exchange = self.waiting.get(str(params.get("progressToken")))
            return exchange is not None and exchange.reports_progress
        if message.method == _CANCELLED:
            return True
        return isinstance(meta := params.get("_meta"), dict) and SUBSCRIPTION_ID_META_KEY in meta


class _Tapped:
    def __init__(self, inner: Any, ledger: _Ledger) -> None:  # noqa: ANN401 - the SDK's protocol types are private
        self._inner = inner
        self._ledger = ledger

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
            await self._send_notice(item)
            return
        exchange = _CURRENT.get()
        if exchange is None or exchange.method != message.method:
            exchange = Exchange(message.method)
        self._ledger.waiting[str(message.id)] = exchange
        exchange.issued, exchange.raw, exchange.fault = True, None, None
        exchange.reports_progress = "progressToken" in ((message.params or {}).get("_meta") or {})
        try:
            await self._inner.send(item)
            self._ledger.reads = True
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            exchange.issued = False
            raise

    async def _send_notice(self, item: SessionMessage) -> None:
        """What no request waits for, so that it may be lost."""
        self._ledger.give_up(item.message)
        with anyio.move_on_after(_NOTICE_SECONDS if self._ledger.reads else _GLANCE_SECONDS) as waiting:
            await self._inner.send(item)
        self._ledger.reads = not waiting.cancelled_caught
        self._ledger.close(item.message)


class _TappedReader(_Tapped):
    def __init__(
        self,
        inner: Any,  # noqa: ANN401 - as above
        ledger: _Ledger,
        on_end: Callable[[], None],
        on_notice: Callable[[str], None],
    ) -> None:
        super().__init__(inner, ledger)
        self._on_end = on_end
        self._on_notice = on_notice
        self._context: Context | None = None

    @property
    def last_context(self) -> Context | None:
        """Where the SDK handles what came last: a question of the peer's within the request it is about."""
        return self._context

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        while True:
            try:
                item: SessionMessage | Exception = await self._inner.__anext__()
            except (StopAsyncIteration, anyio.ClosedResourceError):
                self._on_end()
                raise
            if not isinstance(item, SessionMessage):
                return item
            self._observe(item)
            self._context = getattr(self._inner, "last_context", None)
            if isinstance(item.message, JSONRPCRequest):
                self._context = self._ledger.find_context(self._context)
            if self._ledger.admits(item.message):
                return item

    async def receive(self) -> SessionMessage | Exception:
        return await self.__anext__()

    def _observe(self, item: SessionMessage) -> None:
        message = item.message
        if isinstance(message, JSONRPCNotification):
            self._on_notice(message.method)
        if not isinstance(message, JSONRPCResponse | JSONRPCError):
            return
        exchange = self._ledger.waiting.pop(str(message.id), None)
        if exchange is None:
            return
        if isinstance(item, Frame):
            exchange.raw, exchange.fault = item.raw, item.fault
        elif isinstance(message, JSONRPCResponse):
            exchange.raw = {"result": message.result}
        else:
            exchange.raw = {"error": message.error.model_dump(exclude_unset=True)}
        if exchange.method == LIST_TOOLS and isinstance(message, JSONRPCResponse):
            message.result = simplify_listing(message.result)
