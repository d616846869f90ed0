"""Reading any MCP response as a verdict or a fault, and saying how sure that is.

declared    a JSON-RPC error, a result flagged isError, or one of our dialects
recognised  an object that reports a failure, in an answer the protocol calls a success
suspected   words or rows that look like a failure; never a fault unless the caller makes it one

A server that says it succeeded and did nothing is read as a verdict: no reader can see that in a response.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from faultless.contract.dialects import read_data, read_payload
from faultless.contract.portable import is_object
from faultless.contract.strangers import (
    OPENINGS,
    RECOGNISED,
    SUSPECTED,
    TELLING,
    explain,
    imitates_result,
    is_failed,
    put_in_words,
    skip_json,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from faultless.contract.fault import Fault, Json

OPENING_LENGTH = 500


class Certainty(StrEnum):
    DECLARED = "declared"
    RECOGNISED = "recognised"
    SUSPECTED = "suspected"


@dataclass(frozen=True, slots=True)
class Reading:
    fault: Fault | None = None
    certainty: Certainty | None = None
    payload: dict[str, Json] | None = None
    """The answer as an object, from whichever half of the response had it."""
    text: str = ""
    suspicion: Fault | None = None
    """The fault it would be if the suspicion is right."""
    shape: str | None = None
    """What gave it away."""


@dataclass(frozen=True, slots=True)
class _Finding:
    fault: Fault
    certainty: Certainty
    shape: str


def read(response: object) -> Reading:
    """Read a whole JSON-RPC response, or the result alone; never raises."""
    envelope = open_response(response)
    payload = envelope.payloads[0] if envelope.payloads else None
    finding = next((found for step in _STEPS if (found := step(envelope))), None)
    if finding is None:
        return Reading(payload=payload, text=envelope.text)
    is_suspicion = finding.certainty is Certainty.SUSPECTED
    return Reading(
        fault=None if is_suspicion else finding.fault,
        certainty=finding.certainty,
        payload=payload,
        text=envelope.text,
        suspicion=finding.fault if is_suspicion else None,
        shape=finding.shape,
    )


def _read_rpc_error(envelope: Envelope) -> _Finding | None:
    error = envelope.error
    if error is None:
        return None
    if not is_object(error):
        return _Finding(explain({}, put_in_words(error)), Certainty.DECLARED, "malformed JSON-RPC error")
    data = error.get("data")
    written = read_data(data, error.get("message")) if is_object(data) else None
    return _Finding(written or _explain_rpc_error(error), Certainty.DECLARED, "JSON-RPC error")


def _explain_rpc_error(error: dict[str, Json]) -> Fault:
    data, code = error.get("data"), error.get("code")
    fields = data if is_object(data) else {"data": data}
    whole: dict[str, Json] = {
        **fields,
        "message": error.get("message") or fields.get("message"),
        "code": code,
    }
    if is_object(data) and isinstance(data.get("code"), str):
        whole["code"] = data["code"]  # the peer's own code says more than the protocol's
    return explain(whole, data if isinstance(data, str) else "", code if isinstance(code, int) else None)


def _read_dialect(envelope: Envelope) -> _Finding | None:
    written = (fault for payload in envelope.payloads if (fault := read_payload(payload)))
    return next((_Finding(fault, Certainty.DECLARED, "dialect") for fault in written), None)


def _read_flag(envelope: Envelope) -> _Finding | None:
    return _Finding(_explain_result(envelope), Certainty.DECLARED, "isError") if envelope.flagged else None


def _explain_result(envelope: Envelope) -> Fault:
    payload = next(iter(envelope.payloads), {})
    if imitates_result(payload):
        inner = open_result(payload)
        found = _read_dialect(inner)
        return found.fault if found else explain(next(iter(inner.payloads), {}), inner.text)
    return explain(payload, envelope.text)


def _read_marked_block(envelope: Envelope) -> _Finding | None:
    marked = (explain({**block, "type": None}) for block in envelope.marked)
    return next((_Finding(fault, Certainty.RECOGNISED, "error block") for fault in marked), None)


def _read_shape(envelope: Envelope) -> _Finding | None:
    for payload in _list_telling(envelope):
        for shape, test in RECOGNISED.items():
            if test(payload):
                fault = _explain_result(Envelope(payloads=[payload]))
                return _Finding(fault, Certainty.RECOGNISED, shape)
    return None


def _list_telling(envelope: Envelope) -> list[dict[str, Json]]:
    """Most answers have no telling key at all, and reading must not cost as much as the call."""
    return [payload for payload in envelope.payloads if not TELLING.isdisjoint(payload)]


def _suspect_payload(envelope: Envelope) -> _Finding | None:
    for payload in _list_telling(envelope):
        for shape, test in SUSPECTED.items():
            if test(payload):
                return _Finding(_explain_rows(payload), Certainty.SUSPECTED, shape)
    failed = (row for row in envelope.rows if is_object(row) and is_failed(row))
    return next((_Finding(explain(row), Certainty.SUSPECTED, "failed row") for row in failed), None)


def _explain_rows(payload: dict[str, Json]) -> Fault:
    """Explain a partly failed answer by the first row that failed."""
    for name in ("errors", "failed", "failures", "results", "items", "responses"):
        rows = payload.get(name)
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, str):
                return explain({}, row)
            if is_object(row) and (name not in {"results", "items", "responses"} or is_failed(row)):
                return explain(row)
    return explain(payload)


def _suspect_prose(envelope: Envelope) -> _Finding | None:
    opening = skip_json(envelope.text)[:OPENING_LENGTH]
    if not opening:
        return None
    found = (shape for shape, pattern in OPENINGS.items() if re.match(pattern, opening))
    return next((_Finding(explain({}, envelope.text), Certainty.SUSPECTED, shape) for shape in found), None)


def _suspect_silence(envelope: Envelope) -> _Finding | None:
    if not envelope.is_empty:
        return None
    return _Finding(explain({}, "The answer holds no content."), Certainty.SUSPECTED, "no content")


_STEPS: tuple[Callable[[Envelope], _Finding | None], ...] = (
    _read_rpc_error,
    _read_dialect,
    _read_flag,
    _read_marked_block,
    _read_shape,
    _suspect_payload,
    _suspect_prose,
    _suspect_silence,
)


# What a result may hold beside its content; not part of any answer.
_FRAME = frozenset({"_meta", "resultType", "isError", "jsonrpc", "id"})
_DECODER = json.JSONDecoder(parse_constant=lambda _: None)
_RESULT_MARKS = frozenset({"content", "structuredContent", "isError"})


@dataclass(frozen=True, slots=True)
class Envelope:
    error: object = None
    """The JSON-RPC error, if there is one."""
    flagged: bool = False
    payloads: list[dict[str, Json]] = field(default_factory=list)
    """Every JSON object in the answer, the most trustworthy first."""
    rows: list[Json] = field(default_factory=list)
    """The answer, where it is a JSON array."""
    text: str = ""
    marked: list[dict[str, Json]] = field(default_factory=list)
    """Content blocks that call themselves errors."""
    is_empty: bool = False


def open_response(response: object) -> Envelope:
    if not is_object(response):
        return Envelope(is_empty=True)
    error = response.get("error")
    if is_object(error) or (error is not None and "jsonrpc" in response):
        return Envelope(error=error)
    if "result" in response and not response.keys() & _RESULT_MARKS:
        result = response["result"]
        if isinstance(result, str):
            return open_result({"content": result})
        return open_result(result) if is_object(result) else Envelope(is_empty=True)
    return open_result(response)


def open_result(result: dict[str, Json]) -> Envelope:
    blocks = _list_blocks(result.get("content"))
    texts = [text for block in blocks if isinstance(text := block.get("text"), str)]
    structured = result.get("structuredContent")
    parsed = [value for text in texts if (value := _parse(text)) != structured]  # often said twice
    values = [structured, *parsed]
    if not texts and is_object(structured) and isinstance(inner := structured.get("result"), str):
        texts = [inner]
    bare: dict[str, Json] = {name: value for name, value in result.items() if name not in _FRAME}
    is_bare = not result.keys() & {"content", "structuredContent"}
    if is_bare:
        values.append(bare)
        if isinstance(text := bare.get("text"), str):
            texts.append(text)
    return Envelope(
        flagged=result.get("isError") is True,
        payloads=[payload for value in values for payload in _unwrap(value)],
        rows=next((value for value in values if isinstance(value, list)), []),
        text="\n".join(texts),
        marked=[block for block in blocks if block.get("type") == "error" or block.get("isError") is True],
        is_empty=is_bare and not bare,
    )


def _list_blocks(content: object) -> list[dict[str, Json]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if is_object(content):
        return [content]
    return [block for block in content if is_object(block)] if isinstance(content, list) else []


def _unwrap(value: object) -> Iterator[dict[str, Json]]:
    """An object, and the one inside it: servers put a plain answer under the only key `result`."""
    if not is_object(value):
        return
    if value.keys() == {"result"}:
        inner = value["result"]
        parsed = _parse(inner) if isinstance(inner, str) else inner
        if is_object(parsed):
            yield parsed
    yield value


def _parse(text: str) -> Json:
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        value: Json = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None
    return value
