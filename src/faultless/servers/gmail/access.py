"""A valid access token, renewed once however many calls need it."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread

from faultless.contract import Fault, FaultKind
from faultless.durable import lock
from faultless.kit import log
from faultless.servers.gmail import token_file
from faultless.servers.gmail.token_file import LOGIN_COMMAND, Token, login_required

if TYPE_CHECKING:
    from pathlib import Path

REFRESH_SECONDS = 15.0


class Access:
    """The login of one account. The file is read again whenever the token in hand is not good enough."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._token: Token | None = None
        self._renewing = anyio.Lock()

    @property
    def expires_at(self) -> datetime | None:
        return self._token.expires_at if self._token else None

    async def get(self, refused: str | None = None) -> str:
        """A token; not the one that was refused, if one was."""
        if self._token is None or not _is_good(self._token, refused):
            async with self._renewing:
                if self._token is None or not _is_good(self._token, refused):
                    self._token = await to_thread.run_sync(self._renew, refused)
        return self._token.access

    def _renew(self, refused: str | None) -> Token:
        """In a thread, and one process at a time: another server may have renewed it meanwhile."""
        token = token_file.read(self._path)
        if _is_good(token, refused):
            return token
        with lock(self._path.with_name(f".{self._path.name}.lock")):
            token = token_file.read(self._path)
            if _is_good(token, refused):
                return token
            renewed = refresh(token)
            try:
                token_file.write(self._path, renewed)
            except OSError as problem:
                log.warn("the renewed Gmail login could not be saved", reason=problem.strerror)
            return renewed


def _is_good(token: Token, refused: str | None) -> bool:
    return token.access != refused and token.is_fresh(datetime.now(UTC))


def refresh(token: Token) -> Token:
    """Ask the token's own endpoint for a new one, through google-auth."""
    if not token.refresh:
        raise login_required("the Gmail login has expired and cannot be renewed")
    from google.auth import exceptions  # noqa: PLC0415 - slow to import, and most calls need no renewal
    from google.oauth2.credentials import Credentials  # noqa: PLC0415 - as above

    from faultless.servers.gmail.token_transport import HttpxRequest  # noqa: PLC0415 - as above

    credentials = Credentials(  # type: ignore[no-untyped-call]  # google-auth is typed in part
        token=None,
        refresh_token=token.refresh,
        client_id=token.client_id,
        client_secret=token.client_secret,
        token_uri=token.token_uri,
    )
    try:
        credentials.refresh(HttpxRequest(token.token_uri, REFRESH_SECONDS))  # type: ignore[no-untyped-call]  # as above
    except exceptions.TransportError as problem:
        raise _endpoint_unreachable() from problem
    except exceptions.RefreshError as problem:
        if problem.retryable:
            raise _endpoint_unreachable() from problem
        raise login_required("the Gmail login was revoked or has expired") from None
    return dataclasses.replace(
        token,
        access=credentials.token or "",
        refresh=credentials.refresh_token or token.refresh,
        expires_at=credentials.expiry.replace(tzinfo=UTC) if credentials.expiry else None,
    )


def _endpoint_unreachable() -> Fault:
    return Fault(
        FaultKind.UNAVAILABLE,
        "the Gmail login could not be renewed: Google's token endpoint cannot be reached or is failing",
        hint=f"try again in a minute; the login itself is kept, `{LOGIN_COMMAND}` is not needed",
        retry_after_seconds=30,
    )
