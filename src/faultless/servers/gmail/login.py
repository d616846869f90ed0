"""Logging in once: Google's flow for installed programs, with a loopback redirect and PKCE."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2

from faultless.contract import Fault, FaultKind, clean
from faultless.servers.gmail.access import TOKEN_URI, Token, write_token
from faultless.servers.gmail.faults import LOGIN_COMMAND
from faultless.servers.gmail.settings import check_url, is_loopback

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_AUTH_URI = "https://accounts.google.com/o/oauth2/v2/auth"
SCOPES = {
    "modify": "https://www.googleapis.com/auth/gmail.modify",
    "compose": "https://www.googleapis.com/auth/gmail.compose",
    "readonly": "https://www.googleapis.com/auth/gmail.readonly",
}
_EXCHANGE_SECONDS = 30.0
_PAGE = b"<!doctype html><title>faultless</title><p>%s You can close this window.</p>"


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """The file a person downloads from the Google Cloud console."""

    id: str
    secret: str = field(repr=False)
    auth_uri: str = _AUTH_URI
    token_uri: str = TOKEN_URI


def read_client(path: Path) -> OAuthClient:
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        kind = fields.get("installed") or fields["web"]
        return OAuthClient(
            id=str(kind["client_id"]),
            secret=str(kind.get("client_secret") or ""),
            auth_uri=check_url(str(kind.get("auth_uri") or _AUTH_URI)),
            token_uri=check_url(str(kind.get("token_uri") or TOKEN_URI)),
        )
    except FileNotFoundError:
        raise Fault(
            FaultKind.NOT_FOUND,
            f"there is no OAuth client file at {path}",
            hint="make a desktop client in the Google Cloud console, and name its JSON with --client",
        ) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise Fault(
            FaultKind.PARSE_ERROR,
            f"{path.name} is not the file of an OAuth client",
            hint="download the desktop client's JSON again",
        ) from None


def log_in(
    client: OAuthClient,
    token_path: Path,
    *,
    open_page: Callable[[str], object],
    scope: str = "modify",
    port: int = 0,
    deadline_seconds: float = 300.0,
) -> Token:
    """Ask for consent on `open_page`'s screen, wait for the answer, save the token."""
    verifier, state = secrets.token_urlsafe(64), secrets.token_urlsafe(24)
    with _Redirect(port, state) as redirect:
        open_page(_consent_url(client, SCOPES[scope], verifier, state, redirect.url))
        code = redirect.wait(deadline_seconds)
        token = _exchange(client, code, verifier, redirect.url, SCOPES[scope])
    write_token(token_path, token)
    return token


def _consent_url(client: OAuthClient, scope: str, verifier: str, state: str, redirect: str) -> str:
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    query = {
        "client_id": client.id,
        "redirect_uri": redirect,
        "response_type": "code",
        "scope": scope,
        "state": state,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
        "access_type": "offline",
        "prompt": "consent",  # without it a second login brings no refresh token
    }
    return f"{client.auth_uri}?{urlencode(query)}"


class _Redirect(HTTPServer):
    """A page on this machine that Google sends the browser to."""

    def __init__(self, port: int, state: str) -> None:
        self.state = state
        self.answer: dict[str, str] | None = None
        try:
            super().__init__(("127.0.0.1", port), _ConsentPage)
        except OSError as taken:
            raise Fault(
                FaultKind.UNAVAILABLE, f"port {port} on this machine is taken", hint="choose another --port"
            ) from taken
        self.url = f"http://127.0.0.1:{self.server_address[1]}/"

    def wait(self, deadline_seconds: float) -> str:
        end = time.monotonic() + deadline_seconds
        while self.answer is None:
            self.timeout = end - time.monotonic()
            if self.timeout <= 0:
                raise Fault(
                    FaultKind.TIMEOUT,
                    f"nobody finished the login within {deadline_seconds:g} s",
                    hint=f"run `{LOGIN_COMMAND}` again",
                )
            self.handle_request()
        if "code" not in self.answer:
            raise Fault(
                FaultKind.PERMISSION_DENIED,
                f"Google did not grant the login: {clean(self.answer.get('error', 'no reason given'), 100)}",
                hint=f"run `{LOGIN_COMMAND}` again and consent",
            )
        return self.answer["code"]


class _ConsentPage(BaseHTTPRequestHandler):
    server: _Redirect
    timeout = 10.0

    def do_GET(self) -> None:
        query = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        # Anything without our state was not sent by Google in answer to us.
        is_ours = secrets.compare_digest(query.get("state", ""), self.server.state)
        self.send_response(200 if is_ours else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        words = b"Thank you." if is_ours and "code" in query else b"That was not a login."
        self.wfile.write(_PAGE % words)
        if is_ours:
            self.server.answer = query

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002, ANN401 - the base class's names
        """Requests carry the code, so they are not logged."""


def _exchange(client: OAuthClient, code: str, verifier: str, redirect: str, scope: str) -> Token:
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "code_verifier": verifier,
        "redirect_uri": redirect,
        "client_id": client.id,
        "client_secret": client.secret,
    }
    try:
        with httpx2.Client(timeout=_EXCHANGE_SECONDS, trust_env=not is_loopback(client.token_uri)) as http:
            answer = http.post(client.token_uri, data=form)
        fields = answer.json() if answer.is_success else {}
    except (httpx2.HTTPError, ValueError) as problem:
        raise _no_token("it cannot be reached, or made no sense") from problem
    if not isinstance(fields, dict) or not fields.get("access_token"):
        raise _no_token(f"it answered HTTP {answer.status_code}")
    return Token(
        access=str(fields["access_token"]),
        refresh=str(fields.get("refresh_token") or ""),
        client_id=client.id,
        client_secret=client.secret,
        token_uri=client.token_uri,
        scopes=tuple(str(fields.get("scope") or scope).split()),
        expires_at=datetime.now(UTC) + timedelta(seconds=int(fields.get("expires_in") or 3600)),
    )


def _no_token(why: str) -> Fault:
    return Fault(
        FaultKind.UPSTREAM_ERROR,
        f"Google's token endpoint gave no token: {why}",
        hint=f"run `{LOGIN_COMMAND}` again; check that the OAuth client is still there",
    )
