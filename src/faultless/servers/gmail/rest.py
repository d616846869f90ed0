"""Requests to the Gmail API: one delivery each, unless repeating is harmless.

what happens                                  once()              repeat()
no connection                                 unavailable         repeated, then unavailable
the answer is lost, late, cut or not JSON     AnswerLostError     repeated, then upstream_error or timeout
5xx                                           AnswerLostError     repeated, then upstream_error
too large, or a status that is no refusal     AnswerLostError     too_large, upstream_error
401                                           login renewed, one more try, then auth_required (both)
429, 403 for its rate                         rate_limited        repeated when told, then rate_limited
a refusal                                     see faults.KINDS    see faults.KINDS
"""

from __future__ import annotations

import json
import secrets
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio
import httpx2

from faultless.contract import Fault, FaultKind
from faultless.contract.backoff import choose_wait
from faultless.servers.gmail.faults import AnswerLostError, explain_refusal, is_refusal
from faultless.servers.gmail.settings import is_loopback

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from faultless.servers.gmail.access import Access

Query: TypeAlias = "dict[str, str | int | list[str]]"

_USER = "gmail/v1/users/me/"
_CONNECT_SECONDS = 10.0
_LARGEST_ANSWER_BYTES = 64 * 1024 * 1024
_MOST_CONNECTIONS = 10
_FIRST_WAIT_SECONDS = 0.25
_LONGEST_WAIT_SECONDS = 16.0
_OK = range(200, 300)
_UNAUTHORISED = 401
_SERVER_FAILURE = 500
# None of these has sent a byte of the request.
_UNSENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)
_REPEATABLE = frozenset({FaultKind.RATE_LIMITED, FaultKind.UNAVAILABLE})


@contextmanager
def within(seconds: float, what: str) -> Iterator[None]:
    """The deadline of whatever is asked inside; requests are repeated no longer than it allows."""
    try:
        with anyio.fail_after(seconds):
            yield
    except TimeoutError:
        raise Fault(
            FaultKind.TIMEOUT,
            f"{what} took longer than {seconds:g} s",
            hint="try again, or ask for less; the server's --timeout sets the limit",
            details={"timeout_seconds": seconds},
        ) from None


@dataclass(frozen=True, slots=True)
class Request:
    what: str
    """For messages: what the request is for."""
    method: str
    path: str
    """Below `users/me/`."""
    query: Query = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    media: bytes = field(default=b"", repr=False)
    """A message that goes beside the body, which then describes it."""


class Rest:
    """The account's REST interface."""

    def __init__(self, access: Access, api_url: str) -> None:
        self.access = access
        self._upload_url = f"{api_url.rstrip('/')}/upload/{_USER}"
        # Nothing below may repeat a request: no retries, no redirects, no second protocol version.
        self._client = httpx2.AsyncClient(
            base_url=f"{api_url.rstrip('/')}/{_USER}",
            timeout=httpx2.Timeout(None, connect=_CONNECT_SECONDS),
            transport=None,
            http2=False,
            follow_redirects=False,
            trust_env=not is_loopback(api_url),
            limits=httpx2.Limits(max_connections=_MOST_CONNECTIONS),
        )

    async def repeat(self, request: Request) -> dict[str, Any]:
        """For requests that may be made again: reads, and changes that are the same done twice."""
        failures = 0
        while True:
            try:
                return await self.once(request)
            except AnswerLostError as lost:
                fault = Fault(
                    lost.kind,
                    f"{request.what}: {lost.reason}",
                    hint="try again, or ask for less",
                    details={"status": lost.status} if lost.status else {},
                )
                if not lost.may_pass:
                    raise fault from lost
            except Fault as refused:
                if refused.kind not in _REPEATABLE:
                    raise
                fault = refused
            failures += 1
            pause = choose_wait(
                failures, _FIRST_WAIT_SECONDS, _LONGEST_WAIT_SECONDS, fault.retry_after_seconds
            )
            if anyio.current_time() + pause >= anyio.current_effective_deadline():
                raise fault
            await anyio.sleep(pause)

    async def once(self, request: Request) -> dict[str, Any]:
        """At most one delivery that Gmail took: a 401 was refused at the door, so it may be tried again."""
        token = await self.access.get()
        response = await self._deliver(request, token)
        if response.status == _UNAUTHORISED:
            response = await self._deliver(request, await self.access.get(refused=token))
        return response.read(request.what)

    def _address(self, request: Request) -> dict[str, Any]:
        if not request.media:
            return {"url": request.path, "params": request.query}
        query = request.query | {"uploadType": "multipart"}
        return {"url": f"{self._upload_url}{request.path}", "params": query}

    async def _deliver(self, request: Request, token: str) -> _Response:
        try:
            async with self._client.stream(
                request.method,
                **self._address(request),
                **_pack(request, {"Authorization": f"Bearer {token}"}),
            ) as answer:
                body = await _read_bounded(answer)
                return _Response(answer.status_code, answer.headers, body)
        except _UNSENT as problem:
            raise Fault(
                FaultKind.UNAVAILABLE,
                f"{request.what}: Gmail cannot be reached",
                hint="check the network connection; nothing was sent",
                details={"reason": type(problem).__name__},
            ) from problem
        except httpx2.HTTPError as problem:
            raise AnswerLostError(f"the connection broke ({type(problem).__name__})") from problem

    async def aclose(self) -> None:
        await self._client.aclose()


def _pack(request: Request, headers: dict[str, str]) -> dict[str, Any]:
    """The body as JSON, or as the two parts of an upload: its description, then the message."""
    if not request.media:
        return {"json": request.body, "headers": headers}
    boundary = secrets.token_hex(16)
    content = b"\r\n".join(
        (
            f"--{boundary}".encode(),
            b"Content-Type: application/json; charset=UTF-8\r\n",
            json.dumps(request.body).encode(),
            f"--{boundary}".encode(),
            b"Content-Type: message/rfc822\r\n",
            request.media,
            f"--{boundary}--\r\n".encode(),
        )
    )
    kind = f"multipart/related; boundary={boundary}"
    return {"content": content, "headers": headers | {"Content-Type": kind}}


async def _read_bounded(answer: httpx2.Response) -> bytes:
    body = bytearray()
    async for chunk in answer.aiter_bytes():
        body += chunk
        if len(body) > _LARGEST_ANSWER_BYTES:
            raise AnswerLostError(
                f"Gmail's answer is larger than {_LARGEST_ANSWER_BYTES} bytes",
                FaultKind.TOO_LARGE,
                may_pass=False,
            )
    return bytes(body)


@dataclass(frozen=True, slots=True)
class _Response:
    status: int
    headers: Mapping[str, str]
    body: bytes

    def read(self, what: str) -> dict[str, Any]:
        if self.status >= _SERVER_FAILURE:  # it broke, so nobody knows how far it came
            raise AnswerLostError(f"Gmail failed, HTTP {self.status}")
        if self.status not in _OK and not is_refusal(self.status):
            raise AnswerLostError(f"the answer was HTTP {self.status}", may_pass=False, status=self.status)
        if self.status not in _OK:
            fault = explain_refusal(self.status, self.headers, self.body, what)
            if fault.kind is FaultKind.RATE_LIMITED and fault.retry_after_seconds is None:
                # Gmail did not say how long, so as long as after some failures.
                fault.retry_after_seconds = choose_wait(3, _FIRST_WAIT_SECONDS, _LONGEST_WAIT_SECONDS)
            raise fault
        try:
            answer = json.loads(self.body) if self.body.strip() else {}
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise AnswerLostError("Gmail's answer is not a JSON object")
        return answer
