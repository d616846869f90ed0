"""A fault made from a stranger's words, under whatever names they stand."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from faultless.contract.dialects.restoring import is_amount, is_object
from faultless.contract.fault import Fault
from faultless.contract.foreign import LONGEST_PROSE, name_kind
from faultless.contract.kinds import FaultKind
from faultless.contract.portable import make_portable_object
from faultless.contract.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from faultless.contract.fault import Json

SILENT = "The server reported a failure and gave no reason."

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
MAX_WAIT_SECONDS = 1e9

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
    names = list(_list_names(fields))
    words = message or skip_json(prose) or next(iter(names), "") or prose
    telling = _TOOL_PREFIX.sub("", words[:LONGEST_PROSE])
    numbers = [*([] if code is None else [code]), *_list_numbers(fields), *_find_numbers(telling)]
    if fields.get("rate_limited") is True:
        kind = FaultKind.RATE_LIMITED
    else:
        kind = name_kind(names, numbers, telling)
    hint = next((text for name in _HINTS if isinstance(text := fields.get(name), str)), None)
    used = {message_name, *_HINTS, *_SECONDS, *_MILLISECONDS, *_FLAGS}
    rest = {name: value for name, value in fields.items() if name not in used and (name, value) not in _MARKS}
    return Fault(
        kind,
        clean(words) or SILENT,
        hint=clean(hint) if hint else None,
        details=make_portable_object(rest),
        retry_after_seconds=_find_wait(fields, telling),
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


def _list_names(fields: dict[str, Json]) -> Iterator[str]:
    values = (fields.get(name) for name in (*_NAMES, *_MORE_NAMES))
    return (value for value in values if isinstance(value, str) and value.lower() not in _NO_NAMES)


def skip_json(prose: str) -> str:
    stripped = prose.strip()
    return "" if stripped.startswith(("{", "[")) else stripped


def _list_numbers(fields: dict[str, Json]) -> Iterator[int]:
    for name in _NUMBERS:
        value = fields.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            yield value


def _find_numbers(prose: str) -> Iterator[int]:
    return (int(figure) for figure in _PROSE_NUMBER.findall(prose))


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
    return value if is_amount(value) and 0 <= value <= MAX_WAIT_SECONDS else None


def put_in_words(value: object) -> str:
    """Text as it is; anything else as JSON, where that is possible."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return ""
