"""Requests to the Gmail API: one delivery each, unless repeating is harmless.

what happens                                  once()              repeat()
no connection                                 unavailable         repeated, then unavailable
the answer is lost, late, cut or no JSON      AnswerLostError     repeated, then upstream_error or timeout
5xx                                           AnswerLostError     repeated, then upstream_error
401                                           login renewed, one more try, then auth_required (both)
429, 403 for its rate                         rate_limited        repeated when told, then rate_limited
any other refusal                             see refusal.py      see refusal.py
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import anyio
import httpx2

from faultless.contract import Fault, FaultKind
from faultless.servers.gmail import refusal
from faultless.servers.gmail.settings import is_loopback

if TYPE_CHECKING:
    from collections.abc import Mapping

    from faultless.servers.gmail.access import Access

CONNECT_SECONDS = 10.0
LARGEST_ANSWER_BYTES = 64 * 1024 * 1024
MOST_CONNECTIONS = 10
_FIRST_WAIT_SECONDS = 0.25
_LONGEST_WAIT_SECONDS = 16.0
_UNAUTHORISED = 401
_OK = range(200, 300)
# None of these has sent a byte of the request.
_UNSENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)
_REPEATABLE = frozenset({FaultKind.RATE_LIMITED, FaultKind.UNAVAILABLE})


class AnswerLostError(Exception):
    """The request may have been carried out, and there is no answer that tells."""

    def __init__(self, reason: str, *, late: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.late = late

    def as_fault(self, what: str) -> Fault:
        kind = FaultKind.TIMEOUT if self.late else FaultKind.UPSTREAM_ERROR
        return Fault(kind, f"{what}: {self.reason}", hint="try again; nothing was changed")


@dataclass(frozen=True, slots=True)
class Request:
    what: str
    """For messages: what the request is for."""
    method: str
    path: str
    """Below `users/me/`."""
    query: Mapping[str, str | int | list[str]] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None


class Rest:
    """The account's REST interface."""

    def __init__(self, access: Access, api_url: str) -> None:
        self.access = access
        # Nothing below may repeat a request: no retries, no redirects, no second protocol version.
        self._client = httpx2.AsyncClient(
            base_url=f"{api_url}/gmail/v1/users/me/",
            timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
            transport=None,
            http2=False,
            follow_redirects=False,
            trust_env=not is_loopback(api_url),
            limits=httpx2.Limits(max_connections=MOST_CONNECTIONS),
        )

    async def repeat(self, request: Request) -> dict[str, Any]:
        """For requests that may be made again: reads, and changes that are the same done twice."""
        attempt = 0
        while True:
            fault = await self._try(request)
            if not isinstance(fault, Fault):
                return fault
            wait = fault.retry_after_seconds
            pause = _back_off(attempt) if wait is None else wait
            if anyio.current_time() + pause >= anyio.current_effective_deadline():
                raise fault
            await anyio.sleep(pause)
            attempt += 1

    async def _try(self, request: Request) -> dict[str, Any] | Fault:
        """The answer, or what was wrong if another try may help."""
        try:
            return await self.once(request)
        except AnswerLostError as lost:
            return lost.as_fault(request.what)
        except Fault as fault:
            if fault.kind not in _REPEATABLE:
                raise
            return fault

    async def once(self, request: Request) -> dict[str, Any]:
        """At most one delivery that Gmail took: a 401 was refused at the door, so it may be tried again."""
        token = await self.access.get()
        response = await self._deliver(request, token)
        if response.status == _UNAUTHORISED:
            response = await self._deliver(request, await self.access.get(refused=token))
        return response.read(request.what)

    async def _deliver(self, request: Request, token: str) -> Response:
        try:
            async with self._client.stream(
                request.method,
                request.path,
                params=dict(request.query),
                json=request.body,
                headers={"Authorization": f"Bearer {token}"},
            ) as answer:
                body = await _read_bounded(answer)
                return Response(answer.status_code, answer.headers, body)
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


async def _read_bounded(answer: httpx2.Response) -> bytes:
    body = bytearray()
    async for chunk in answer.aiter_bytes():
        body += chunk
        if len(body) > LARGEST_ANSWER_BYTES:
            raise Fault(
                FaultKind.TOO_LARGE,
                f"Gmail's answer is larger than {LARGEST_ANSWER_BYTES} bytes",
                hint="ask for less",
            )
    return bytes(body)


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    headers: Mapping[str, str]
    body: bytes

    def read(self, what: str) -> dict[str, Any]:
        if self.status not in _OK:
            self._raise(what)
        try:
            answer = json.loads(self.body) if self.body.strip() else {}
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise AnswerLostError("Gmail's answer is not a JSON object")
        return answer

    def _raise(self, what: str) -> NoReturn:
        if refusal.is_failure(self.status):
            raise AnswerLostError(f"Gmail failed, HTTP {self.status}")
        fault = refusal.explain(self.status, self.headers, self.body, what)
        if fault.kind is FaultKind.RATE_LIMITED and fault.retry_after_seconds is None:
            fault.retry_after_seconds = _back_off(2)
        raise fault


def _back_off(attempt: int) -> float:
    """Doubling, with jitter so that callers refused together do not come back together."""
    longest: float = min(_FIRST_WAIT_SECONDS * 2**attempt, _LONGEST_WAIT_SECONDS)
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, guards nothing
