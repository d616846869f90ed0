"""Secrets, taken out of what is written down."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from faultless.contract.portable import make_portable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from faultless.contract import Json

HIDDEN = "[redacted]"
SHORTEST_SECRET = 6
"""Shorter values would take innocent words with them."""

_NAMES = re.compile(
    r"pass(word|wd|phrase)?$|secret|token|api[_-]?key|authori[sz]ation|credential|cookie|private[_-]?key|session[_-]?id",
    re.IGNORECASE,
)
_VALUES = re.compile(
    r"\b(?:bearer|basic)\s+[\w.+/=~-]{8,}"
    r"|\b(?:sk|pk|rk)[-_][\w-]{16,}"  # payment and model providers
    r"|\bgh[pousr]_\w{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"
    r"|\bxox[abposr]-[\w-]{10,}"
    r"|\bA(?:KIA|SIA)[A-Z0-9]{16}\b"
    r"|\bAIza[\w-]{30,}|\bya29\.[\w.-]{16,}"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"  # a signed token
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)"
    r"|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)",
    re.IGNORECASE,
)
_PAIRS = re.compile(
    r"(\b[\w-]*(?:password|secret|token|api[_-]?key)[\w-]*[\"']?\s*[=:]\s*[\"']?)([^\s\"',;&]+)",
    re.IGNORECASE,
)


def is_secret_name(name: str) -> bool:
    return _NAMES.search(name) is not None


class Redactor:
    """Hides values under telling names, values of known shapes, and the very values it was told of."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = sorted(
            {secret for secret in secrets if len(secret) >= SHORTEST_SECRET}, key=len, reverse=True
        )
        self._known = re.compile("|".join(map(re.escape, known))) if known else None

    @classmethod
    def for_environment(cls, *variables: Mapping[str, str] | None) -> Redactor:
        return cls(
            value for given in variables for name, value in (given or {}).items() if is_secret_name(name)
        )

    def hide(self, value: object) -> Json:
        return self._hide(make_portable(value))

    def _hide(self, value: Json) -> Json:
        if isinstance(value, str):
            return self.hide_text(value)
        if isinstance(value, list):
            return [self._hide(item) for item in value]
        if isinstance(value, dict):
            return {
                name: HIDDEN if is_secret_name(name) and item else self._hide(item)
                for name, item in value.items()
            }
        return value

    def hide_text(self, text: str) -> str:
        if self._known is not None:
            text = self._known.sub(HIDDEN, text)
        return _PAIRS.sub(rf"\g<1>{HIDDEN}", _VALUES.sub(HIDDEN, text))
