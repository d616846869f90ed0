"""How failures are put into words: Gmail's refusals, lost answers, sends that did not come through."""

from __future__ import annotations

import dataclasses
import json
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from faultless.contract import Fault, FaultKind, clean
from faultless.kit.validation import invalid_params

if TYPE_CHECKING:
    from collections.abc import Mapping

    from faultless.approval import SendRecord
    from faultless.contract import Json
    from faultless.kit.toolset import Call, Output, Tool

LOGIN_COMMAND = "faultless login gmail"


def login_command(account: str) -> str:
    return f"{LOGIN_COMMAND} --account {account}" if account else LOGIN_COMMAND


KINDS: dict[tuple[int, str], FaultKind] = {
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
"""What HTTP status and reason mean. A star: any reason that has no line of its own."""

_REASONS = frozenset(reason for _, reason in KINDS)
_LONGEST_WAIT_SECONDS = 86_400.0
_LONGEST_REASON = 64

_SENTENCES = {
    FaultKind.USAGE_ERROR: "Gmail refused the arguments",
    FaultKind.PERMISSION_DENIED: "Gmail does not permit it",
    FaultKind.NOT_FOUND: "Gmail has no such thing",
    FaultKind.CONFLICT: "Gmail has it already, or it has changed",
    FaultKind.TOO_LARGE: "it is too large for Gmail",
    FaultKind.RATE_LIMITED: "Gmail told us to slow down",
    FaultKind.UPSTREAM_ERROR: "Gmail failed",
}
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


def is_refusal(status: int) -> bool:
    """Whether it says for certain that nothing was done; anything else may come from a box on the way."""
    return (status, "*") in KINDS


def explain_refusal(status: int, headers: Mapping[str, str], body: bytes, what: str) -> Fault:
    """A fault from a refusal. The upstream's sentence is not repeated: it may quote what was sent."""
    reason = find_reason(body)
    kind = KINDS.get((status, reason)) or KINDS[status, "*"]
    if kind is FaultKind.AUTH_REQUIRED:
        return login_required("Gmail refuses the login, even after renewing it")
    why = f" ({reason})" if reason else ""
    hint = _FORBIDDEN_HINTS.get(reason) if kind is FaultKind.PERMISSION_DENIED else _HINTS.get(kind)
    return Fault(
        kind,
        f"{what}: {_SENTENCES[kind]}, HTTP {status}{why}",
        hint=hint or "check what the login may do",
        details={"status": status, "reason": reason or None},
        retry_after_seconds=_read_wait(headers) if kind is FaultKind.RATE_LIMITED else None,
    )


def find_reason(body: bytes) -> str:
    """`reason` of the first error we know, a word or nothing. Google sends two shapes, at times both at once;
    the newer (`details`) is the more exact.
    """
    try:
        error = json.loads(body)["error"]
        rows = [row for shape in ("details", "errors") for row in _list_rows(error.get(shape))]
    except (ValueError, KeyError, TypeError, AttributeError):
        return ""
    reasons = [row["reason"] for row in rows if isinstance(row.get("reason"), str)]
    known_first = sorted(reasons, key=lambda reason: reason not in _REASONS)
    words = (clean(reason, _LONGEST_REASON) for reason in known_first)
    return next((word for word in words if re.fullmatch(r"\w+", word)), "")


def _list_rows(value: object) -> list[dict[str, Any]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _read_wait(headers: Mapping[str, str]) -> float | None:
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
    seconds = (aware - datetime.now(UTC)).total_seconds()
    return min(max(seconds, 0.0), _LONGEST_WAIT_SECONDS)


class AnswerLostError(Exception):
    """The request may have been carried out, and there is no answer that tells."""

    def __init__(
        self,
        reason: str,
        kind: FaultKind = FaultKind.UPSTREAM_ERROR,
        *,
        may_pass: bool = True,
        status: int | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.kind = kind
        """Of the fault it is where the lost answer does no harm."""
        self.may_pass = may_pass
        """Whether the same request may well be answered another time."""
        self.status = status


def login_required(message: str) -> Fault:
    return Fault(
        FaultKind.AUTH_REQUIRED,
        f"{message}: run `{LOGIN_COMMAND}`",
        hint=f"a person runs `{LOGIN_COMMAND}` once; this server never opens a browser",
        details={"command": LOGIN_COMMAND},
    )


def draft_lost(lost: AnswerLostError) -> Fault:
    return Fault(
        lost.kind,
        f"Gmail did not confirm the draft: {lost.reason}",
        hint="no mail left; a draft may lie in the account twice after another try",
    )


def add_send_ids(fault: Fault, record: SendRecord) -> Fault:
    """The same fault, which also says where the mail is now."""
    kept = "the draft is kept" if record.draft_id else "no mail left"
    return Fault(
        fault.kind,
        f"not sent: {fault.message}",
        hint=f"{fault.hint}; {kept}, and send_email with the same approval goes on from here",
        details=fault.details | {"send_id": record.send_id, "draft_id": record.draft_id or None},
        retry_after_seconds=fault.retry_after_seconds,
    )


def not_sent(record: SendRecord, reason: str) -> Fault:
    return Fault(
        FaultKind.UPSTREAM_ERROR,
        f"not sent: {reason}; its draft is still in the account",
        hint="send_email with the same approval sends that very draft",
        details={"send_id": record.send_id, "draft_id": record.draft_id},
    )


def draft_changed(record: SendRecord) -> Fault:
    return Fault(
        FaultKind.APPROVAL_REQUIRED,
        "not sent: its draft in the account was changed after we made it, and nobody approved the change",
        hint="a person deletes that draft in Gmail, then approves the mail anew, which makes a new draft",
        details={"reason": "draft_changed", "send_id": record.send_id, "draft_id": record.draft_id},
    )


def outcome_unknown(record: SendRecord, reason: str) -> Fault:
    why = f"{reason}, and " if reason else ""
    return Fault(
        FaultKind.OUTCOME_UNKNOWN,
        f"the mail may have left: {why}neither its draft nor a sent copy could be found",
        hint=f"ask get_send_status for send id {record.send_id}; do not send it again before that",
        details={"send_id": record.send_id, "draft_id": record.draft_id},
    )


def name_account(tool: Tool, account: str) -> Tool:
    """The same tool; where a fault names the login's command, it is the one for this account."""

    async def run(raw: dict[str, Any], call: Call) -> Output:
        try:
            return await tool.run(raw, call)
        except Fault as fault:
            command = login_command(account)
            fault.message = fault.message.replace(LOGIN_COMMAND, command)
            fault.hint = fault.hint.replace(LOGIN_COMMAND, command) if fault.hint else fault.hint
            if fault.details.get("command") == LOGIN_COMMAND:
                fault.details = fault.details | {"command": command}
            raise

    return dataclasses.replace(tool, run=run)


_QUOTABLE = frozenset({"to", "cc", "bcc", "reply_to_message_id", "approval_id"})


def hide_text(tool: Tool) -> Tool:
    """The same tool; a refused argument that holds text of the mail is not quoted in the fault."""

    async def run(raw: dict[str, Any], call: Call) -> Output:
        try:
            return await tool.run(raw, call)
        except Fault as fault:
            if fault.kind is not FaultKind.INVALID_PARAMS or "violations" not in fault.details:
                raise
            violations: list[dict[str, Json]] = [
                row if row.get("field") in _QUOTABLE else row | {"received_value": None}
                for row in _list_rows(fault.details["violations"])
            ]
            raise invalid_params(violations, hint=fault.hint) from None

    return dataclasses.replace(tool, run=run)
