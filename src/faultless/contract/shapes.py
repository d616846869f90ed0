"""The shapes in which strangers report failures without saying so in the protocol: tables of small tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from faultless.contract.dialects.restoring import is_object

if TYPE_CHECKING:
    from collections.abc import Callable

    from faultless.contract.fault import Json

FIRST_HTTP_ERROR = 400
LAST_HTTP_ERROR = 599

Test: TypeAlias = "Callable[[dict[str, Json]], bool]"


def imitates_result(payload: dict[str, Json]) -> bool:
    """A whole MCP result, packed into the text of another."""
    return "content" in payload and (payload.get("isError") is True or payload.get("is_error") is True)


def _claims_success(payload: dict[str, Json]) -> bool:
    return any(payload.get(name) is True for name in ("success", "ok"))


def _has_error(payload: dict[str, Json]) -> bool:
    error = payload.get("error")
    said = (isinstance(error, str) and bool(error.strip())) or (isinstance(error, dict) and bool(error))
    return (said or error is True) and not _claims_success(payload)


def _has_status_error(payload: dict[str, Json]) -> bool:
    status = payload.get("status")
    return isinstance(status, str) and status.lower() == "error"


def _denies_success(payload: dict[str, Json]) -> bool:
    return any(payload.get(name) is False for name in ("success", "ok"))


def _is_rate_limit(payload: dict[str, Json]) -> bool:
    return payload.get("rate_limited") is True


def _is_http_error(payload: dict[str, Json]) -> bool:
    explains = payload.keys() & {"message", "detail", "title", "error", "body"}
    statuses = (payload.get(name) for name in ("status", "status_code", "statusCode"))
    return bool(explains) and any(is_http_error(status) for status in statuses)


def is_http_error(number: object) -> bool:
    return isinstance(number, int) and FIRST_HTTP_ERROR <= number <= LAST_HTTP_ERROR


def _has_errors_alone(payload: dict[str, Json]) -> bool:
    rest = {name for name, value in payload.items() if value is not None} - {
        "errors",
        "extensions",
        "message",
    }
    return _lists_failures(payload.get("errors")) and not rest


def _is_coded(payload: dict[str, Json]) -> bool:
    return isinstance(payload.get("retryable"), bool) and isinstance(payload.get("code"), str)


# A payload of one of these shapes is a fault, though nothing in the protocol says so.
RECOGNISED: dict[str, Test] = {
    "imitated result": imitates_result,
    "rate_limited flag": _is_rate_limit,
    "error key": _has_error,
    "status error": _has_status_error,
    "success false": _denies_success,
    "HTTP error": _is_http_error,
    "errors alone": _has_errors_alone,
    "code and retryable": _is_coded,
}


# The keys that the tests of both tables look for: a payload with none of them is plain.
TELLING = frozenset(
    {"content", "rate_limited", "error", "status", "status_code", "statusCode", "success", "ok", "errors"}
    | {"retryable", "failed", "failures", "results", "items", "responses"}
)


def is_failed(value: object) -> bool:
    """Whether one row of an answer reports a failure."""
    return is_object(value) and any(test(value) for test in RECOGNISED.values())


def _lists_failures(value: object) -> bool:
    said = ("error", "message", "reason", "code")
    return isinstance(value, list) and any(
        (isinstance(item, str) and bool(item)) or (is_object(item) and any(item.get(name) for name in said))
        for item in value
    )


def _lists_failed(payload: dict[str, Json]) -> bool:
    return any(_lists_failures(payload.get(name)) for name in ("errors", "failed", "failures"))


def _has_failed_row(payload: dict[str, Json]) -> bool:
    lists = (payload.get(name) for name in ("results", "items", "responses"))
    return any(isinstance(rows, list) and any(is_failed(row) for row in rows) for rows in lists)


def _contradicts_itself(payload: dict[str, Json]) -> bool:
    return _claims_success(payload) and isinstance(error := payload.get("error"), str | dict) and bool(error)


# A payload of one of these shapes may be bad news inside a job well done.
SUSPECTED: dict[str, Test] = {
    "partial failure": _lists_failed,
    "failed row": _has_failed_row,
    "success with an error": _contradicts_itself,
}

# Prose that opens like a failure; only the first lines of an answer are looked at, and no JSON.
OPENINGS = {
    "SDK prose": r"(?i)\s*(error executing tool|error calling tool|caught exception)\b",
    "traceback": r"(?i)\s*traceback \(most recent call last\)",
    "emoji": r"\s*[❌🚫⛔🛑💥✖✗✘]",
    "markdown heading": r"(?i)\s*#+ [^\n]*\b(failed|failure|error)\b",
    "error prose": r"(?i)\s*\W{0,3}((?!the |an? |no )\w+ )?(error|fatal|failure|failed)\b[^\n:]{0,60}:",
    "exception prose": r"\s*\w*(Error|Exception)(\(|:)",
    "apology": r"(?i)\s*((failed|unable) to|could not|cannot|can't) \w+",
}
