"""What Gmail's refusals mean."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from faultless.contract import Fault, FaultKind, clean
from faultless.servers.gmail.token_file import LOGIN_COMMAND, login_required

if TYPE_CHECKING:
    from collections.abc import Mapping

# By HTTP status and reason; a star: any reason that has no line of its own.
KINDS = {
    (400, "*"): FaultKind.USAGE_ERROR,
    (400, "failedPrecondition"): FaultKind.UPSTREAM_ERROR,
    (401, "*"): FaultKind.AUTH_REQUIRED,
    (403, "*"): FaultKind.PERMISSION_DENIED,
    (403, "rateLimitExceeded"): FaultKind.RATE_LIMITED,
    (403, "userRateLimitExceeded"): FaultKind.RATE_LIMITED,
    (403, "RATE_LIMIT_EXCEEDED"): FaultKind.RATE_LIMITED,
    (403, "dailyLimitExceeded"): FaultKind.RATE_LIMITED,
    (403, "quotaExceeded"): FaultKind.RATE_LIMITED,
    (403, "insufficientPermissions"): FaultKind.PERMISSION_DENIED,
    (403, "ACCESS_TOKEN_SCOPE_INSUFFICIENT"): FaultKind.PERMISSION_DENIED,
    (403, "domainPolicy"): FaultKind.PERMISSION_DENIED,
    (403, "forbidden"): FaultKind.PERMISSION_DENIED,
    (403, "accessNotConfigured"): FaultKind.PERMISSION_DENIED,
    (403, "SERVICE_DISABLED"): FaultKind.PERMISSION_DENIED,
    (404, "*"): FaultKind.NOT_FOUND,
    (409, "*"): FaultKind.CONFLICT,
    (410, "*"): FaultKind.NOT_FOUND,
    (412, "*"): FaultKind.CONFLICT,
    (413, "*"): FaultKind.TOO_LARGE,
    (429, "*"): FaultKind.RATE_LIMITED,
}
_SERVER_FAILURE = 500
_LONGEST_WAIT_SECONDS = 86_400.0
_LONGEST_REASON = 64

_HINTS = {
    FaultKind.USAGE_ERROR: "correct the arguments; Gmail refused them",
    FaultKind.NOT_FOUND: "ids come from list_emails, list_drafts and get_thread; it may have been deleted",
    FaultKind.CONFLICT: "read it again, then decide",
    FaultKind.TOO_LARGE: "make it smaller; Gmail takes about 25 MB",
    FaultKind.RATE_LIMITED: "wait as long as retry_after_seconds says",
    FaultKind.UPSTREAM_ERROR: "try again later; Gmail's own status page may say more",
}
_FORBIDDEN_HINTS = {
    "insufficientPermissions": f"the login lacks a scope: a person runs `{LOGIN_COMMAND}` again",
    "ACCESS_TOKEN_SCOPE_INSUFFICIENT": f"the login lacks a scope: a person runs `{LOGIN_COMMAND}` again",
    "accessNotConfigured": "a person enables the Gmail API for the OAuth client's project",
    "SERVICE_DISABLED": "a person enables the Gmail API for the OAuth client's project",
    "domainPolicy": "the domain's administrator decides this",
}


def explain(status: int, headers: Mapping[str, str], body: bytes, what: str) -> Fault:
    """A fault from a refusal. The upstream's sentence is not repeated: it may quote what was sent."""
    reason = find_reason(body)
    kind = name_kind(status, reason)
    if kind is FaultKind.AUTH_REQUIRED:
        return login_required("Gmail refuses the login, even after renewing it")
    why = f" ({reason})" if reason else ""
    hint = _FORBIDDEN_HINTS.get(reason) if kind is FaultKind.PERMISSION_DENIED else _HINTS.get(kind)
    return Fault(
        kind,
        f"{what}: {_SENTENCES.get(kind, 'Gmail refused')}, HTTP {status}{why}",
        hint=hint or "check what the login may do",
        details={"status": status, "reason": reason or None},
        retry_after_seconds=read_wait(headers) if kind is FaultKind.RATE_LIMITED else None,
    )


_SENTENCES = {
    FaultKind.USAGE_ERROR: "Gmail refused the arguments",
    FaultKind.PERMISSION_DENIED: "Gmail does not permit it",
    FaultKind.NOT_FOUND: "Gmail has no such thing",
    FaultKind.CONFLICT: "Gmail has it already, or it has changed",
    FaultKind.TOO_LARGE: "it is too large for Gmail",
    FaultKind.RATE_LIMITED: "Gmail told us to slow down",
    FaultKind.UPSTREAM_ERROR: "Gmail failed",
}


def name_kind(status: int, reason: str) -> FaultKind:
    exact = KINDS.get((status, reason))
    return exact or KINDS.get((status, "*")) or FaultKind.UPSTREAM_ERROR


def is_failure(status: int) -> bool:
    """Whether the service broke, so that nobody knows how far it came."""
    return status >= _SERVER_FAILURE


def find_reason(body: bytes) -> str:
    """`reason` of the first error we know, a word or nothing. Google sends two shapes, at times both at once;
    the newer (`details`) is the more exact.
    """
    try:
        error = json.loads(body)["error"]
        rows = [*_rows(error, "details"), *_rows(error, "errors")]
    except (ValueError, KeyError, TypeError, AttributeError):
        return ""
    known = [row["reason"] for row in rows if isinstance(row.get("reason"), str)]
    ranked = sorted(known, key=lambda reason: not any(reason == name for _, name in KINDS))
    words = (clean(reason, _LONGEST_REASON) for reason in ranked)
    return next((word for word in words if re.fullmatch(r"\w+", word)), "")


def _rows(error: dict[str, Any], name: str) -> list[dict[str, Any]]:
    found = error.get(name)
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def read_wait(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds from Retry-After, whether it holds seconds or a date."""
    text = headers.get("retry-after", "").strip()
    if not text:
        return None
    if re.fullmatch(r"\d{1,9}", text):
        return min(float(text), _LONGEST_WAIT_SECONDS)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    seconds = (aware - (now or datetime.now(UTC))).total_seconds()
    return min(max(seconds, 0.0), _LONGEST_WAIT_SECONDS)
