"""Reading any MCP response as a verdict or a fault, and saying how sure that is.

declared    a JSON-RPC error, a result flagged isError, or one of our dialects, or its source's object
recognised  an object that reports a failure, in an answer the protocol calls a success
suspected   words or rows that look like a failure; never a fault unless the caller makes it one

A server that says it succeeded and did nothing is read as a verdict: no reader can see that in a response.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from faultless.contract.dialects import read_data, read_meta, read_payload
from faultless.contract.fault import Certainty
from faultless.contract.portable import is_object
from faultless.contract.strangers import (
    OPENINGS,
    RECOGNISED,
    SUSPECTED,
    TELLING,
    explain,
    imitates_result,
    is_failed,
    is_set,
    put_in_words,
    read_coded,
    skip_json,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from faultless.contract.fault import Fault, Json

_OPENING_LENGTH = 500
_LONGEST_JSON = 4_000_000
"""Longer text is no object to the reader: parsing cannot be interrupted, and could take seconds."""


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
    envelope = _open_response(response)
    payload = envelope.payloads[0] if envelope.payloads else None
    finding = _find_fault(envelope) or _find_suspicion(envelope)
    if finding is None:
        return Reading(payload=payload, text=envelope.text)
    finding.fault.certainty = finding.certainty
    is_suspicion = finding.certainty is Certainty.SUSPECTED
    return Reading(
        fault=None if is_suspicion else finding.fault,
        certainty=finding.certainty,
        payload=payload,
        text=envelope.text,
        suspicion=finding.fault if is_suspicion else None,
        shape=finding.shape,
    )


def _find_fault(envelope: _Envelope) -> _Finding | None:
    """What the protocol or one of our dialects declares, then what has the shape of a failure."""
    if envelope.error is not None:
        return _read_rpc_error(envelope.error)
    if envelope.written is not None:
        return _Finding(envelope.written, Certainty.DECLARED, "dialect")
    for payload in envelope.payloads:
        if written := read_payload(payload) or read_coded(payload):
            return _Finding(written, Certainty.DECLARED, "dialect")
    if envelope.flagged:
        return _Finding(_explain_result(envelope), Certainty.DECLARED, "isError")
    if envelope.marked:
        return _Finding(explain({**envelope.marked[0], "type": None}), Certainty.RECOGNISED, "error block")
    for payload in envelope.telling_payloads:
        for shape, test in RECOGNISED.items():
            if test(payload):
                return _Finding(_explain_result(_Envelope(payloads=[payload])), Certainty.RECOGNISED, shape)
    return None


def _read_rpc_error(error: object) -> _Finding:
    if not is_object(error):
        return _Finding(explain({}, put_in_words(error)), Certainty.DECLARED, "malformed JSON-RPC error")
    data, code = error.get("data"), error.get("code")
    written = read_data(data, error.get("message")) if is_object(data) else None
    if written is not None:
        return _Finding(written, Certainty.DECLARED, "JSON-RPC error")
    fields = data if is_object(data) else {"data": data}
    whole: dict[str, Json] = {
        **fields,
        "message": error.get("message") or fields.get("message"),
        "code": code,
    }
    if isinstance(fields.get("code"), str):
        whole["code"] = fields["code"]  # the peer's own code says more than the protocol's
    prose = data if isinstance(data, str) else ""
    fault = explain(whole, prose, code if isinstance(code, int) else None)
    return _Finding(fault, Certainty.DECLARED, "JSON-RPC error")


def _explain_result(envelope: _Envelope) -> Fault:
    payload = next(iter(envelope.payloads), {})
    if not imitates_result(payload):
        return explain(payload, envelope.text)
    inner = _open_result(payload)
    written = next((fault for one in inner.payloads if (fault := read_payload(one))), None)
    return written or explain(next(iter(inner.payloads), {}), inner.text)


def _find_suspicion(envelope: _Envelope) -> _Finding | None:
    """Rows, words or silence that look like a failure."""
    for payload in envelope.telling_payloads:
        for shape, test in SUSPECTED.items():
            if test(payload):
                return _Finding(_explain_rows(payload), Certainty.SUSPECTED, shape)
    for row in envelope.rows:
        if is_object(row) and is_failed(row):
            return _Finding(explain(row), Certainty.SUSPECTED, "failed row")
    opening = skip_json(envelope.text)[:_OPENING_LENGTH]
    for shape, pattern in OPENINGS.items() if opening else ():
        if re.match(pattern, opening):
            return _Finding(explain({}, envelope.text), Certainty.SUSPECTED, shape)
    if envelope.is_empty:
        return _Finding(explain({}, "The answer holds no content."), Certainty.SUSPECTED, "no content")
    return None


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


# What a result may hold beside its content; not part of any answer.
_FRAME = frozenset({"_meta", "resultType", "isError", "jsonrpc", "id"})
_DECODER = json.JSONDecoder(parse_constant=lambda _: None)
_RESULT_MARKS = frozenset({"content", "structuredContent", "isError"})


@dataclass(frozen=True, slots=True)
class _Envelope:
    error: object = None
    """The JSON-RPC error, if there is one."""
    written: Fault | None = None
    """The fault beside a tool's own output."""
    flagged: bool = False
    payloads: list[dict[str, Json]] = field(default_factory=list)
    """Every JSON object in the answer, the most trustworthy first."""
    rows: list[Json] = field(default_factory=list)
    """The answer, where it is a JSON array."""
    text: str = ""
    marked: list[dict[str, Json]] = field(default_factory=list)
    """Content blocks that call themselves errors."""
    is_empty: bool = False

    @property
    def telling_payloads(self) -> list[dict[str, Json]]:
        """Most answers have no telling key at all, and reading must not cost as much as the call."""
        return [payload for payload in self.payloads if not TELLING.isdisjoint(payload)]


def _open_response(response: object) -> _Envelope:
    if not is_object(response):
        return _Envelope(is_empty=True)
    error = response.get("error")
    if is_object(error) or (error is not None and "jsonrpc" in response):
        return _Envelope(error=error)
    if "result" in response and not response.keys() & _RESULT_MARKS:
        result = response["result"]
        if isinstance(result, str):
            return _open_result({"content": result})
        return _open_result(result) if is_object(result) else _Envelope(is_empty=True)
    return _open_result(response)


def _open_result(result: dict[str, Json]) -> _Envelope:
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
    return _Envelope(
        written=read_meta(result),
        flagged=is_set(result.get("isError")) or is_set(result.get("is_error")),
        payloads=[payload for value in values for payload in _unwrap(value)],
        rows=next((rows for value in values if (rows := _list_rows(value))), []),
        text="\n".join(texts),
        marked=[block for block in blocks if _calls_itself_error(block)],
        is_empty=is_bare and not bare,
    )


def _calls_itself_error(block: dict[str, Json]) -> bool:
    return block.get("type") == "error" or is_set(block.get("isError")) or block.get("error") is True


def _list_rows(value: object) -> list[Json]:
    """The members of an array, or of an object that has one object for each thing asked about."""
    if is_object(value) and all(map(is_object, value.values())):
        return list(value.values())
    return value if isinstance(value, list) else []


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
    if len(text) > _LONGEST_JSON or not text.lstrip().startswith(("{", "[")):
        return None
    try:
        value: Json = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None
    return value
