"""Google's login endpoints: consent, exchange with PKCE, renewal, revocation."""

from __future__ import annotations

import base64
import hashlib
import itertools
import threading
from urllib.parse import urlencode


class OAuth:
    def __init__(self) -> None:
        self.client_id, self.client_secret = "client-1", "CANARY-client-secret"
        self.access_tokens: set[str] = set()
        self.refresh_tokens = {"CANARY-refresh-token"}
        self.refreshes = 0
        self.token_seconds = 3599
        self.failure: int | None = None
        """Status with which the token endpoint fails instead of answering."""
        self.denies_consent = False
        self._codes: dict[str, dict[str, str]] = {}
        self._count = itertools.count(1)
        self._lock = threading.Lock()

    def issue(self) -> str:
        token = f"CANARY-access-token-{next(self._count)}"
        self.access_tokens.add(token)
        return token

    def consent(self, query: dict[str, str]) -> str:
        """Where the browser is sent next."""
        assert query["response_type"] == "code"
        assert query["access_type"] == "offline"
        assert query["code_challenge_method"] == "S256"
        if self.denies_consent:
            return f"{query['redirect_uri']}?{urlencode({'error': 'access_denied', 'state': query['state']})}"
        code = f"CANARY-code-{next(self._count)}"
        self._codes[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def exchange(self, form: dict[str, str]) -> tuple[int, dict[str, object]]:
        with self._lock:
            if self.failure:
                return self.failure, {"error": "server_error"}
            if (form.get("client_id"), form.get("client_secret")) != (self.client_id, self.client_secret):
                return 401, {"error": "invalid_client"}
            if form.get("grant_type") == "authorization_code":
                return self._redeem(form)
            self.refreshes += 1
            if form.get("refresh_token") not in self.refresh_tokens:
                return 400, {
                    "error": "invalid_grant",
                    "error_description": "Token has been expired or revoked.",
                }
            return 200, self._grant()

    def _redeem(self, form: dict[str, str]) -> tuple[int, dict[str, object]]:
        asked = self._codes.pop(form.get("code", ""), {})
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        proved = base64.urlsafe_b64encode(digest).decode().rstrip("=") == asked.get("code_challenge")
        if not proved or form.get("redirect_uri") != asked.get("redirect_uri"):
            return 400, {"error": "invalid_grant"}
        return 200, {**self._grant(), "refresh_token": "CANARY-refresh-token", "scope": asked["scope"]}

    def _grant(self) -> dict[str, object]:
        return {"access_token": self.issue(), "expires_in": self.token_seconds, "token_type": "Bearer"}
