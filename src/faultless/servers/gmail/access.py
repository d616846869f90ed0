"""The login: its file on disk, and from it a valid access token, renewed once however many calls need it."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import anyio
from anyio import to_thread

from faultless.contract import Fault, FaultKind
from faultless.durable import lock, write_atomically
from faultless.kit import log
from faultless.servers.gmail.faults import LOGIN_COMMAND, login_required
from faultless.servers.gmail.settings import is_loopback

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import httpx2

TOKEN_URI = "https://oauth2.googleapis.com/token"  # noqa: S105 - an address
_REFRESH_SECONDS = 15.0
_EARLY = timedelta(seconds=60)
"""A token this near its end is renewed before use, not refused on the way."""


@dataclass(frozen=True, slots=True)
class Token:
    """Secrets stay out of its representation."""

    access: str = field(repr=False)
    refresh: str = field(repr=False)
    client_id: str
    client_secret: str = field(repr=False)
    token_uri: str = TOKEN_URI
    scopes: tuple[str, ...] = ()
    expires_at: datetime | None = None

    def is_good(self, refused: str | None = None) -> bool:
        """Whether Gmail would take it now; it does not take the one it refused."""
        is_fresh = self.expires_at is None or datetime.now(UTC) + _EARLY < self.expires_at
        return bool(self.access) and self.access != refused and is_fresh


def read_token(path: Path) -> Token:
    """In the format Google's own tools call an authorised user. A file that cannot be read is left as it is,
    for a person to look at.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise login_required("there is no Gmail login yet") from None
    except (OSError, UnicodeDecodeError) as problem:
        raise _unreadable(path) from problem
    try:
        return _parse_token(json.loads(text))
    except (ValueError, TypeError, KeyError, AttributeError):
        raise _unreadable(path) from None  # the cause would quote the secret


def _unreadable(path: Path) -> Fault:
    return Fault(
        FaultKind.PARSE_ERROR,
        f"the login file {path.name} cannot be read as a Gmail login; it was left as it is",
        hint=f"restore the file, or run `{LOGIN_COMMAND}` to write a new one",
        details={"file": path.name, "command": LOGIN_COMMAND},
    )


def _parse_token(fields: dict[str, Any]) -> Token:
    texts = {
        name: fields.get(name) or "" for name in ("token", "refresh_token", "client_id", "client_secret")
    }
    if not all(isinstance(text, str) for text in texts.values()) or not (
        texts["token"] or texts["refresh_token"]
    ):
        raise ValueError("not a login")
    scopes = fields.get("scopes") or ()
    expires_at = datetime.fromisoformat(fields["expiry"]) if fields.get("expiry") else None
    if expires_at is not None and expires_at.tzinfo is None:
        expires_at = expires_at.replace(tzinfo=UTC)  # Google's own tools leave the zone out
    return Token(
        access=texts["token"],
        refresh=texts["refresh_token"],
        client_id=texts["client_id"],
        client_secret=texts["client_secret"],
        token_uri=fields.get("token_uri") or TOKEN_URI,
        scopes=tuple(scopes.split() if isinstance(scopes, str) else scopes),
        expires_at=expires_at,
    )


def write_token(path: Path, token: Token) -> None:
    fields = {
        "type": "authorized_user",
        "token": token.access,
        "refresh_token": token.refresh,
        "client_id": token.client_id,
        "client_secret": token.client_secret,
        "token_uri": token.token_uri,
        "scopes": list(token.scopes),
        "expiry": token.expires_at.astimezone(UTC).isoformat() if token.expires_at else None,
    }
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_atomically(path, json.dumps(fields, indent=2) + "\n")


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
        if self._token is None or not self._token.is_good(refused):
            async with self._renewing:
                if self._token is None or not self._token.is_good(refused):
                    self._token = await to_thread.run_sync(self._renew, refused)
        return self._token.access

    def _renew(self, refused: str | None) -> Token:
        """In a thread, and one process at a time: another server may have renewed it meanwhile."""
        token = read_token(self._path)
        if token.is_good(refused):
            return token
        with lock(self._path.with_name(f".{self._path.name}.lock")):
            token = read_token(self._path)
            if token.is_good(refused):
                return token
            renewed = _refresh(token)
            try:
                write_token(self._path, renewed)
            except OSError as problem:
                log.warn("the renewed Gmail login could not be saved", reason=problem.strerror)
            return renewed


def _refresh(token: Token) -> Token:
    """Ask the token's own endpoint for a new one, through google-auth."""
    if not token.refresh:
        raise login_required("the Gmail login has expired and cannot be renewed")
    from google.auth import exceptions  # noqa: PLC0415 - half a second to import, and most calls need no renewal
    from google.oauth2.credentials import Credentials  # noqa: PLC0415 - as above

    credentials = Credentials(  # type: ignore[no-untyped-call]  # google-auth is typed in part
        token=None,
        refresh_token=token.refresh,
        client_id=token.client_id,
        client_secret=token.client_secret,
        token_uri=token.token_uri,
    )
    try:
        credentials.refresh(_make_transport(token.token_uri))  # type: ignore[no-untyped-call]  # as above
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


@dataclass(frozen=True, slots=True)
class _Answer:
    """What google-auth reads of a response."""

    status: int
    headers: httpx2.Headers
    data: bytes


def _make_transport(token_uri: str) -> Callable[..., _Answer]:
    """What google-auth makes its requests with, on the HTTP client we have anyway."""
    import httpx2  # noqa: PLC0415 - the doctor reads the login without the extra
    from google.auth import exceptions  # noqa: PLC0415 - see _refresh

    def send(
        url: str,
        method: str = "GET",
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
        timeout: float | None = None,
        **_: Any,  # noqa: ANN401 - google-auth's own signature
    ) -> _Answer:
        wait = timeout or _REFRESH_SECONDS
        try:
            with httpx2.Client(timeout=wait, trust_env=not is_loopback(token_uri)) as client:
                answer = client.request(method, url, content=body, headers=headers)
        except httpx2.HTTPError as problem:
            raise exceptions.TransportError(type(problem).__name__) from problem  # type: ignore[no-untyped-call]  # google-auth is typed in part
        return _Answer(answer.status_code, answer.headers, answer.content)

    return send
