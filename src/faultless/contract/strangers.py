"""How strangers report failures: the shapes they use instead of the protocol, and the fault each becomes."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, TypeAlias

from faultless.contract.fault import Fault, FaultKind, KindBasis
from faultless.contract.portable import is_amount, is_object, make_portable_object
from faultless.contract.text import clean
from faultless.contract.vocabulary import LONGEST_PROSE, name_kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from faultless.contract.fault import Json

Test: TypeAlias = "Callable[[dict[str, Json]], bool]"

_FIRST_HTTP_ERROR = 400
_LAST_HTTP_ERROR = 599
_NO = frozenset({"false", "no", "off", "n", "f", "0", "none", "null"})


def is_set(flag: object) -> bool:
    """A flag of the wrong type is one all the same: many write "true", 1 or "yes", and clients take it."""
    return bool(flag) and str(flag).strip().lower() not in _NO


def imitates_result(payload: dict[str, Json]) -> bool:
    """A whole MCP result, packed into the text of another."""
    return "content" in payload and (is_set(payload.get("isError")) or is_set(payload.get("is_error")))


def _claims_success(payload: dict[str, Json]) -> bool:
    return any(payload.get(name) is True for name in ("success", "ok"))


def _has_error(payload: dict[str, Json]) -> bool:
    error = payload.get("error")
    said = (isinstance(error, str) and bool(error.strip())) or (isinstance(error, dict) and bool(error))
    return (said or error is True) and not _claims_success(payload)


def _is_http_error(payload: dict[str, Json]) -> bool:
    explains = payload.keys() & {"message", "detail", "title", "error", "body"}
    statuses = (payload.get(name) for name in ("status", "status_code", "statusCode"))
    return bool(explains) and any(
        isinstance(status, int) and _FIRST_HTTP_ERROR <= status <= _LAST_HTTP_ERROR for status in statuses
    )


def _lists_failures(value: object) -> bool:
    said = ("error", "message", "reason", "code")
    return isinstance(value, list) and any(
        (isinstance(item, str) and bool(item)) or (is_object(item) and any(item.get(name) for name in said))
        for item in value
    )


def _has_errors_alone(payload: dict[str, Json]) -> bool:
    present = {name for name, value in payload.items() if value is not None}
    return _lists_failures(payload.get("errors")) and present <= {"errors", "extensions", "message"}


# A payload of one of these shapes is a fault, though nothing in the protocol says so.
RECOGNISED: dict[str, Test] = {
    "imitated result": imitates_result,
    "rate_limited flag": lambda payload: payload.get("rate_limited") is True,
    "error key": _has_error,
    "status error": lambda payload: (
        isinstance(status := payload.get("status"), str) and status.lower() == "error"
    ),
    "result error": lambda payload: payload.get("result") == "error" and "reason" in payload,
    "success false": lambda payload: any(payload.get(name) is False for name in ("success", "ok")),
    "HTTP error": _is_http_error,
    "errors alone": _has_errors_alone,
    "code and retryable": lambda payload: (
        isinstance(payload.get("retryable"), bool) and isinstance(payload.get("code"), str)
    ),
}


def is_failed(value: object) -> bool:
    """Whether one row of an answer reports a failure."""
    return is_object(value) and any(test(value) for test in RECOGNISED.values())


def _has_failed_row(payload: dict[str, Json]) -> bool:
    lists = (payload.get(name) for name in ("results", "items", "responses"))
    return any(isinstance(rows, list) and any(is_failed(row) for row in rows) for rows in lists)


# A payload of one of these shapes may be bad news inside a job well done.
SUSPECTED: dict[str, Test] = {
    "partial failure": lambda payload: any(
        _lists_failures(payload.get(name)) for name in ("errors", "failed", "failures")
    ),
    "failed row": _has_failed_row,
    "error message": lambda payload: any(
        isinstance(said := payload.get(name), str) and bool(said)
        for name in ("error_message", "errorMessage")
    ),
    "success with an error": lambda payload: (
        _claims_success(payload) and isinstance(error := payload.get("error"), str | dict) and bool(error)
    ),
}

# The keys that the tests of both tables look for: a payload with none of them is plain.
TELLING = frozenset(
    {"content", "rate_limited", "error", "status", "status_code", "statusCode", "success", "ok", "errors"}
    | {"retryable", "failed", "failures", "results", "items", "responses", "reason"}
    | {"error_message", "errorMessage"}
)

# Prose that opens like a failure; only the first lines of an answer are looked at, and no JSON.
OPENINGS = {
    "SDK prose": r"(?i)\s*(error executing tool|error calling tool|caught exception)\b",
    "traceback": r"(?i)\s*traceback \(most recent call last\)",
    "emoji": r"\s*[❌🚫⛔🛑💥✖✗✘]",
    "markdown heading": r"(?i)\s*#+ [^\n]*\b(failed|failure|error)\b",
    "error in doing": r"(?i)\s*error \w+ing\b|\s*error\s+-\s",
    "error prose": r"(?i)\s*\W{0,3}((?!the |an? |no )\w+ )?(error|fatal|failure|failed)\b[^\n:]{0,60}:",
    "exception prose": r"\s*\w*(Error|Exception)(\(|:)",
    "occurrence": r"(?i)\s*(an? (\w+ )?error (has )?occurred|something went wrong)\b",
    "refusal": r"(?i)\s*((access|permission) denied|security violation|invalid \w+|missing required \w+)\b",
    "absence": r"(?i)\s*(not found\b|no such\b|[^\n]{1,200}\b(does not exist|doesn't exist|not found)\W*\Z)",
    "apology": r"(?i)\s*((failed|unable) to|could not|cannot|can't) \w+",
}

_SILENT = "The server reported a failure and gave no reason."
# Where a stranger names none and the kind has one: what `internal` blames is the stranger.
_NEXT_MOVES = {FaultKind.INTERNAL: "a bug in that server: report it to its maintainers"}

# Field names, the most telling first.
_MESSAGES = ("message", "error_description", "error_message", "errorMessage", "detail", "msg", "description")
_MORE_MESSAGES = ("error", "reason", "title", "text", "content", "body", "result")
_NAMES = ("kind", "error_code", "errorCode", "reason", "error_type", "errorType", "code", "type", "error")
_MORE_NAMES = ("status", "name", "title")
_NUMBERS = ("status_code", "statusCode", "http_status", "code", "status", "error_code")
_HINTS = ("hint", "suggestion", "recovery", "help")
_SECONDS = (
    "retry_after_seconds",
    "retry_after",
    "retryAfter",
    "retry-after",
    "Retry-After",
    "retryAfterSeconds",
)
_MILLISECONDS = ("retry_after_ms", "retryAfterMs")
_FLAGS = frozenset({"success", "ok", "isError", "is_error", "_meta", "content", "structuredContent"})

# Marks that say no more than that something failed.
_NO_NAMES = frozenset({"", "error", "failed", "failure"})
_MARKS = (("status", "error"), ("error", True), ("rate_limited", True))
_MAX_WAIT_SECONDS = 1e9

_TOOL_PREFIX = re.compile(r"^\W*error (executing|calling) tool '?[\w.:/-]+'?:?\s*", re.IGNORECASE)
_PROSE_NUMBER = re.compile(
    r"\b(?:http(?:/\d(?:\.\d)?)?|status(?: code)?|error)[ :]*([45]\d\d)(?:\d\d)?\b", re.IGNORECASE
)
_PROSE_WAIT = re.compile(
    r"(?:retry|try again|wait)\D{0,20}(\d{1,9}(?:\.\d{1,9})?) ?"
    r"(ms|milliseconds|s|sec|seconds?|m|min|minutes?)\b",
    re.IGNORECASE,
)
_UNITS = {"ms": 0.001, "milliseconds": 0.001, "m": 60, "min": 60, "minute": 60, "minutes": 60}


def explain(payload: dict[str, Json], prose: str = "", code: int | None = None) -> Fault:
    """Make a fault of an error object and the words beside it; total."""
    fields = _flatten(payload)
    message_name, message = _find_message(fields)
    said = (fields.get(name) for name in (*_NAMES, *_MORE_NAMES))
    names = [name for name in said if isinstance(name, str) and name.lower() not in _NO_NAMES]
    words = message or skip_json(prose) or next(iter(names), "") or prose
    telling = _TOOL_PREFIX.sub("", words[:LONGEST_PROSE])
    numbers = [value for value in (code, *map(fields.get, _NUMBERS)) if type(value) is int]
    kind, basis = name_kind(names, numbers, telling, map(int, _PROSE_NUMBER.findall(telling)))
    if fields.get("rate_limited") is True:
        kind, basis = FaultKind.RATE_LIMITED, KindBasis.CODE
    hint = next((text for name in _HINTS if isinstance(text := fields.get(name), str)), None)
    used = {message_name, *_HINTS, *_SECONDS, *_MILLISECONDS, *_FLAGS}
    rest = {name: value for name, value in fields.items() if name not in used and (name, value) not in _MARKS}
    return Fault(
        kind,
        clean(words) or _SILENT,
        hint=clean(hint) if hint else _NEXT_MOVES.get(kind),
        details=make_portable_object(rest),
        retry_after_seconds=_find_wait(fields, telling),
        origin="peer",
        kind_basis=basis,
    )


# The source document of `error_key` fixes these eight, and no flag.
_CODES = {
    "auth_required": FaultKind.AUTH_REQUIRED,
    "not_found": FaultKind.NOT_FOUND,
    "rate_limited": FaultKind.RATE_LIMITED,
    "send_failed": FaultKind.UPSTREAM_ERROR,
    "permission_denied": FaultKind.PERMISSION_DENIED,
    "parse_error": FaultKind.PARSE_ERROR,
    "mcp_unavailable": FaultKind.UNAVAILABLE,
    "internal_error": FaultKind.INTERNAL,
}


def read_coded(payload: dict[str, Json]) -> Fault | None:
    """The error object of `error_key` as its source document has it; None for anything else."""
    if payload.keys() != {"error", "message", "details"}:
        return None
    code, message, details = payload["error"], payload["message"], payload["details"]
    if not isinstance(code, str) or code not in _CODES or not isinstance(message, str):
        return None
    if details is not None and not is_object(details):
        return None
    known = details or {}
    wait = _find_wait(known, "")
    return Fault(
        _CODES[code],
        clean(message) or _SILENT,
        hint=_NEXT_MOVES.get(_CODES[code]),
        details=make_portable_object(known),
        retry_after_seconds=wait,
        origin="peer",
    )


def _flatten(payload: dict[str, Json]) -> dict[str, Json]:
    """Bring what stands under `error`, and the first of `errors`, up to the top."""
    flat = dict(payload)
    error = flat.get("error")
    if is_object(error):
        del flat["error"]
        flat |= error
    errors = flat.get("errors")
    if isinstance(errors, list) and errors and is_object(errors[0]):
        flat = errors[0] | flat
    return flat


def _find_message(fields: dict[str, Json]) -> tuple[str | None, str]:
    for name in (*_MESSAGES, *_MORE_MESSAGES):
        value = fields.get(name)
        if isinstance(value, str) and value.strip():
            return name, value.strip()
        if is_object(value) and isinstance(inner := value.get("message"), str) and inner.strip():
            return name, inner.strip()
    return None, ""


def skip_json(prose: str) -> str:
    stripped = prose.strip()
    return "" if stripped.startswith(("{", "[")) else stripped


def _find_wait(fields: dict[str, Json], prose: str) -> float | None:
    for names, unit in ((_SECONDS, 1.0), (_MILLISECONDS, 0.001)):
        for name in names:
            seconds = _read_amount(fields.get(name))
            if seconds is not None:
                return seconds * unit
    said = _PROSE_WAIT.search(prose)
    return float(said[1]) * _UNITS.get(said[2].lower(), 1) if said else None


def _read_amount(value: object) -> float | None:
    if isinstance(value, str) and re.fullmatch(r"\d{1,9}(\.\d{1,9})?s?", value):
        return float(value.rstrip("s"))
    return value if is_amount(value) and 0 <= value <= _MAX_WAIT_SECONDS else None


def put_in_words(value: object) -> str:
    """Text as it is; anything else as JSON, where that is possible."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return ""
