"""Secrets, taken out of what is written down or sent."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from faultless.contract.portable import make_portable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from faultless.contract import Fault, Json

HIDDEN = "[redacted]"
_SHORTEST_SECRET = 6
"""Shorter values would take innocent words with them."""
_SHORTEST_MARKED = 4
"""Somebody named these one by one, so fewer of them are innocent."""

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


def _is_secret_name(name: str) -> bool:
    return _NAMES.search(name) is not None


class Redactor:
    """Replaces the values it was told of, and, unless `guess` is off, what looks like a secret by itself.

    `secrets` are replaced by one mark for all; `marks` says for each value what stands in its place, and
    nothing may: `{"/home/ada/tools/": ""}`. A value is also found as it looks inside JSON.
    """

    def __init__(
        self, secrets: Iterable[str] = (), marks: Mapping[str, str] | None = None, *, guess: bool = True
    ) -> None:
        known = {secret: HIDDEN for secret in secrets if len(secret) >= _SHORTEST_SECRET}
        known |= {value: mark for value, mark in (marks or {}).items() if len(value) >= _SHORTEST_MARKED}
        known |= {json.dumps(value)[1:-1]: mark for value, mark in known.items()}
        # The longest first, for one secret may be part of another.
        self._known = dict(sorted(known.items(), key=lambda pair: -len(pair[0])))
        self._pattern = re.compile("|".join(map(re.escape, self._known))) if known else None
        self._guess = guess

    @classmethod
    def for_environment(cls, *variables: Mapping[str, str] | None) -> Redactor:
        """Hides the values that stand under telling names."""
        return cls(
            value for given in variables for name, value in (given or {}).items() if _is_secret_name(name)
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
                self._hide_known(name): HIDDEN
                if self._guess and item and _is_secret_name(name)
                else self._hide(item)
                for name, item in value.items()
            }
        return value

    def hide_text(self, text: str) -> str:
        text = self._hide_known(text)
        return _PAIRS.sub(rf"\g<1>{HIDDEN}", _VALUES.sub(HIDDEN, text)) if self._guess else text

    def hide_beginning(self, text: str) -> str:
        """Of a text that goes on elsewhere: what could be the beginning of a secret at its end goes too."""
        text = self.hide_text(text)
        return text[: len(text) - max((_overlap(text, value) for value in self._known), default=0)]

    def hide_end(self, text: str) -> str:
        """Of a text that began elsewhere: what could be the end of a secret at its beginning goes too."""
        text = self.hide_text(text)
        return text[max((_overlap(value, text) for value in self._known), default=0) :]

    def hide_fault(self, fault: Fault) -> Fault:
        return fault.copy(
            message=self.hide_text(fault.message),
            hint=fault.hint and self.hide_text(fault.hint),
            details=self._hide(fault.details),
        )

    def _hide_known(self, text: str) -> str:
        return self._pattern.sub(lambda found: self._known[found[0]], text) if self._pattern else text


def _overlap(first: str, second: str) -> int:
    """How many characters at the end of the first are the beginning of the second."""
    longest = min(len(first), len(second))
    return next((size for size in range(longest, 0, -1) if first.endswith(second[:size])), 0)
