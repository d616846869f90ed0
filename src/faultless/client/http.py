"""The transport to a server behind a URL, with a witness to what the server itself said.

The SDK's transport answers in the peer's place when HTTP fails, in the peer's own frames. The witness keeps
status and body of every exchange, so that a stand-in is never taken for the peer's word.
"""

from __future__ import annotations

import json
import re
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
from mcp.client.streamable_http import MCP_SESSION_ID, streamable_http_client
from mcp_types import METHOD_NOT_FOUND

from faultless.client.budget import MAX_FRAME_BYTES, Turn, ValueCounter, explain_size
from faultless.client.frames import Exchange
from faultless.contract import Fault, FaultKind, KindBasis

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from mcp.client._transport import TransportStreams

_KEPT_BYTES = 1024 * 1024
_FIRST_REFUSAL = 400
_CONNECT_SECONDS = 30.0
_LAST_EVENT = "last-event-id"
"""Sent by whoever resumes a stream: the answer to a request that was taken."""
LOST_SESSION = "session_lost"
"""In the details of a fault after which only a new session helps."""
_NO_SESSION = re.compile(r"\bsession\b|\bnot initiali[sz]ed\b", re.IGNORECASE)
_SECONDS = re.compile(r"\s*[0-9]{1,9}\s*")

# As the reader has them, apart from those that mean that there is no such server.
_KINDS = {
    400: FaultKind.INVALID_PARAMS,
    401: FaultKind.AUTH_REQUIRED,
    402: FaultKind.PERMISSION_DENIED,
    403: FaultKind.PERMISSION_DENIED,
    404: FaultKind.UNAVAILABLE,
    405: FaultKind.UNAVAILABLE,
    408: FaultKind.TIMEOUT,
    409: FaultKind.CONFLICT,
    410: FaultKind.NOT_FOUND,
    412: FaultKind.CONFLICT,
    413: FaultKind.TOO_LARGE,
    414: FaultKind.TOO_LARGE,
    421: FaultKind.UNAVAILABLE,
    422: FaultKind.INVALID_PARAMS,
    428: FaultKind.CONFLICT,
    429: FaultKind.RATE_LIMITED,
    431: FaultKind.TOO_LARGE,
    451: FaultKind.PERMISSION_DENIED,
    499: FaultKind.INTERRUPTED,
    504: FaultKind.TIMEOUT,
}
_NOT_CONNECTED = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
"""Nothing can have been sent."""
_TAKEN_OR_NOT = frozenset({408, 499})
"""Said of a request that took too long, so that some of it may have been done; so it may from 500 on."""


@dataclass(slots=True)
class HttpAnswer:
    """What a server said below the protocol."""

    status: int
    retry_after: str | None
    body: bytearray = field(default_factory=bytearray)
    frame_bytes: int = 0
    """Of the frame that came last, as far as it was read."""
    is_over: bool = False
    """That is more than the client accepts."""
    values: int = 0
    """In that frame, where they are more than the client accepts."""
    is_encoded: bool = False
    has_session: bool = False
    """It is about a request of a session."""
    was_accepted: bool = False
    """The request had been taken before this was said: its answer broke off and was asked for again."""


@asynccontextmanager
async def connect_http(
    url: str,
    headers: Mapping[str, str] | None = None,
    max_frame_bytes: int = MAX_FRAME_BYTES,
    leave_seconds: float = 2.0,
) -> AsyncIterator[TransportStreams]:
    # The client's own deadline bounds every read; two clocks would disagree.
    timeout = httpx2.Timeout(_CONNECT_SECONDS, read=None)
    # Compressed, a small body could be a frame of any size.
    given = {"accept-encoding": "identity", **(headers or {})}
    witness = _Witness(max_frame_bytes, leave_seconds)
    async with (
        httpx2.AsyncClient(transport=witness, headers=given, timeout=timeout) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=max_frame_bytes) as streams,
    ):
        yield streams


class _Witness(httpx2.AsyncHTTPTransport):
    def __init__(self, max_frame_bytes: int, leave_seconds: float) -> None:
        super().__init__()
        self._max_frame_bytes = max_frame_bytes
        self._leave_seconds = leave_seconds

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "DELETE":  # says goodbye, and nobody needs to hear that it was heard
            with anyio.move_on_after(self._leave_seconds):
                return await super().handle_async_request(request)
            raise httpx2.ReadTimeout("the server takes its time to end the session", request=request)
        exchange = Exchange.current()  # the SDK posts a message in the context of whoever sent it
        try:
            response = await super().handle_async_request(request)
        except _NOT_CONNECTED:
            if exchange is not None and request.method == "POST":
                exchange.issued = False
            raise
        answer = HttpAnswer(response.status_code, response.headers.get("retry-after"))
        answer.has_session = MCP_SESSION_ID in request.headers
        if exchange is not None and (request.method == "POST" or _LAST_EVENT in request.headers):
            answer.was_accepted = request.method != "POST"  # only what was taken is resumed
            exchange.http = answer
        if isinstance(response.stream, httpx2.AsyncByteStream):
            if response.headers.pop("content-encoding", "identity") != "identity":
                answer.is_encoded = True
            is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
            response.stream = _Overheard(response.stream, answer, self._max_frame_bytes, is_stream=is_stream)
        return response


class _Overheard(httpx2.AsyncByteStream):
    """A body that is measured as it is read: a frame is all of it, or one event of a stream."""

    def __init__(
        self, inner: httpx2.AsyncByteStream, answer: HttpAnswer, max_frame_bytes: int, *, is_stream: bool
    ) -> None:
        self._inner = inner
        self._answer = answer
        self._max_frame_bytes = max_frame_bytes
        self._is_stream = is_stream
        self._counter = ValueCounter()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        turn = Turn()
        async for chunk in self._inner:
            await turn.share()
            self._measure(chunk)
            self._answer.body += chunk
            del self._answer.body[:-_KEPT_BYTES]
            yield chunk

    def _measure(self, chunk: bytes) -> None:
        answer = self._answer
        ended = max(chunk.rfind(b"\n\n"), chunk.rfind(b"\n\r\n")) if self._is_stream else -1
        if ended >= 0:
            answer.frame_bytes, self._counter = 0, ValueCounter()
        piece = chunk[ended + 1 :]
        answer.frame_bytes += len(piece)
        self._counter.feed(piece)
        answer.values = self._counter.values if self._counter.is_over else 0
        answer.is_over = answer.frame_bytes > self._max_frame_bytes
        is_refused = answer.is_over and not self._is_stream  # the SDK ends a stream itself
        if answer.is_encoded or answer.values or is_refused:
            raise httpx2.StreamError("refused")

    async def aclose(self) -> None:
        await self._inner.aclose()


def find_stand_in(exchange: Exchange) -> Fault | None:
    """The fault of a frame that the transport made up; None where the peer said it, or there is no HTTP."""
    error, answer = (exchange.raw or {}).get("error"), exchange.http
    if answer is None or not isinstance(error, dict):
        return None
    if _is_session_lost(answer, error):
        return _explain_lost_session(answer)
    if _was_said(answer, error):
        return None
    if answer.status >= _FIRST_REFUSAL:
        return _explain_refusal(answer)
    if answer.values:
        return explain_size(answer.values, "values")
    if answer.is_over:
        return explain_size(answer.frame_bytes)
    why = "it is compressed, unasked" if answer.is_encoded else error.get("message")
    return Fault(
        FaultKind.UNAVAILABLE,
        f"the server's HTTP answer holds no message: {why}",
        details={"http_status": answer.status},
        layer="transport",
        outcome="unknown",
    )


def _explain_refusal(answer: HttpAnswer) -> Fault:
    status = f"HTTP {answer.status} {httpx2.codes.get_reason_phrase(answer.status)}".rstrip()
    if answer.was_accepted:
        return Fault(
            FaultKind.UNAVAILABLE,
            f"the server took the request, broke off its answer and refused to go on with {status}",
            details={"resumption_status": answer.status},
            origin="peer",
            layer="transport",
            kind_basis=KindBasis.CODE,
            outcome="unknown",
        )
    is_broken = answer.status >= httpx2.codes.INTERNAL_SERVER_ERROR
    return Fault(
        _KINDS.get(answer.status, FaultKind.UNAVAILABLE if is_broken else FaultKind.UPSTREAM_ERROR),
        f"the server refused the request with {status}",
        details={"http_status": answer.status},
        retry_after_seconds=float(asked) if _SECONDS.fullmatch(asked := answer.retry_after or "") else None,
        origin="peer",
        layer="transport",
        kind_basis=KindBasis.CODE,
        outcome="unknown" if is_broken or answer.status in _TAKEN_OR_NOT else "not_done",
    )


def _is_session_lost(answer: HttpAnswer, error: dict[str, Any]) -> bool:
    """404 is the protocol's word for it, whatever stands beside; others say it with 400 and in prose."""
    if not answer.has_session or answer.was_accepted:
        return False
    if answer.status == httpx2.codes.NOT_FOUND:
        return error.get("code") != METHOD_NOT_FOUND
    return answer.status == httpx2.codes.BAD_REQUEST and bool(_NO_SESSION.search(str(error.get("message"))))


def _explain_lost_session(answer: HttpAnswer) -> Fault:
    return Fault(
        FaultKind.UNAVAILABLE,
        f"the server no longer knows this session, it may have been restarted: HTTP {answer.status}",
        hint="call again: the next call begins a new session",
        details={"http_status": answer.status, LOST_SESSION: True},
        origin="peer",
        layer="transport",
        kind_basis=KindBasis.CODE,
        outcome="not_done",
    )


def _was_said(answer: HttpAnswer, error: dict[str, Any]) -> bool:
    """Whether the body holds that very error: as JSON, or as one event of a stream."""
    text = answer.body.decode(errors="replace")
    for body in (text, *(line[5:] for line in text.splitlines() if line.startswith("data:"))):
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            continue
        said = value.get("error") if isinstance(value, dict) else None
        if isinstance(said, dict) and all(said.get(key) == error.get(key) for key in ("code", "message")):
            return True
    return False
