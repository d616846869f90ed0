"""The login on disk, in the format Google's own tools call an authorised user."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from faultless.contract import Fault, FaultKind
from faultless.durable import write_atomically

if TYPE_CHECKING:
    from pathlib import Path

LOGIN_COMMAND = "faultless login gmail"
TOKEN_URI = "https://oauth2.googleapis.com/token"  # noqa: S105 - an address
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

    def is_fresh(self, now: datetime) -> bool:
        return bool(self.access) and (self.expires_at is None or now + _EARLY < self.expires_at)


def login_required(message: str) -> Fault:
    return Fault(
        FaultKind.AUTH_REQUIRED,
        message,
        hint=f"a person runs `{LOGIN_COMMAND}` once; this server never opens a browser",
        details={"command": LOGIN_COMMAND},
    )


def read(path: Path) -> Token:
    """The login; a file that cannot be read is left as it is, for a person to look at."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise login_required("there is no Gmail login yet") from None
    except (OSError, UnicodeDecodeError) as problem:
        raise _unreadable(path) from problem
    try:
        return _parse(json.loads(text))
    except (ValueError, TypeError, KeyError, AttributeError):
        raise _unreadable(path) from None  # the cause would quote the secret


def _unreadable(path: Path) -> Fault:
    return Fault(
        FaultKind.PARSE_ERROR,
        f"the login file {path.name} cannot be read as a Gmail login; it was left as it is",
        hint=f"restore the file, or run `{LOGIN_COMMAND}` to write a new one",
        details={"file": path.name, "command": LOGIN_COMMAND},
    )


def _parse(fields: dict[str, Any]) -> Token:
    texts = {
        name: fields.get(name) or "" for name in ("token", "refresh_token", "client_id", "client_secret")
    }
    if not all(isinstance(text, str) for text in texts.values()) or not (
        texts["token"] or texts["refresh_token"]
    ):
        raise ValueError("not a login")
    scopes = fields.get("scopes") or ()
    return Token(
        access=texts["token"],
        refresh=texts["refresh_token"],
        client_id=texts["client_id"],
        client_secret=texts["client_secret"],
        token_uri=fields.get("token_uri") or TOKEN_URI,
        scopes=tuple(scopes.split() if isinstance(scopes, str) else scopes),
        expires_at=_parse_time(fields.get("expiry")),
    )


def _parse_time(text: str | None) -> datetime | None:
    if not text:
        return None
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)  # Google's own tools leave the zone out


def write(path: Path, token: Token) -> None:
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
