"""What google-auth needs to make a request, on the HTTP client we have anyway."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx2
from google.auth import exceptions, transport

from faultless.servers.gmail.settings import is_loopback

if TYPE_CHECKING:
    from collections.abc import Mapping


class _Response(transport.Response):
    def __init__(self, response: httpx2.Response) -> None:
        self._response = response

    @property
    def status(self) -> int:
        return self._response.status_code

    @property
    def headers(self) -> Mapping[str, str]:
        return self._response.headers

    @property
    def data(self) -> bytes:
        return self._response.content


class HttpxRequest(transport.Request):
    def __init__(self, url: str, timeout_seconds: float) -> None:
        self._timeout_seconds = timeout_seconds
        self._trust_env = not is_loopback(url)

    def __call__(
        self,
        url: str,
        method: str = "GET",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        **_: Any,  # noqa: ANN401 - google-auth's own signature
    ) -> _Response:
        try:
            with httpx2.Client(timeout=timeout or self._timeout_seconds, trust_env=self._trust_env) as client:
                return _Response(client.request(method, url, content=body, headers=headers))
        except httpx2.HTTPError as problem:
            raise exceptions.TransportError(type(problem).__name__) from problem  # type: ignore[no-untyped-call]  # google-auth is typed in part
