"""Writing: one fault, four ways to put it on the wire, and reading back what was written.

A toolset declares its dialect; its code never sees it. Every dialect carries `kind`, `hint` and
`retry_after_seconds` beside its own names, so that reading gives back exactly the fault that was written.

Most clients show the model one thing only: the text of a result, or the message of a JSON-RPC error. So each
of them says it all. A result carries no `structuredContent`: the TypeScript SDK 1.x holds it against the
tool's output schema even on errors, and then shows nothing of the fault.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, TypeAlias

from faultless.contract.fault import INTERNAL_ERROR_CODE, INVALID_PARAMS_CODE, Fault, FaultKind
from faultless.contract.portable import is_amount, is_object, make_portable, make_portable_object
from faultless.contract.text import replace_surrogates

if TYPE_CHECKING:
    from collections.abc import Mapping

    from faultless.contract.fault import Json


class Dialect(StrEnum):
    JSONRPC = "jsonrpc"
    STATUS = "status"
    ERROR_KEY = "error_key"
    SPLIT = "split"


# Where a dialect does not call a kind by its own name. None: it gives it no name at all.
_OTHER_NAMES: dict[Dialect, dict[FaultKind, str | None]] = {
    Dialect.JSONRPC: {FaultKind.INVALID_PARAMS: None, FaultKind.ENGINE_ERROR: "pytest_internal"},
    Dialect.STATUS: {
        FaultKind.INVALID_PARAMS: "ValueError",
        FaultKind.USAGE_ERROR: "RuntimeError",
        FaultKind.PARSE_ERROR: "SyntaxError",
        FaultKind.PERMISSION_DENIED: "ValidationError",
        FaultKind.NOT_FOUND: "ValueError",
        FaultKind.UNSUPPORTED: "NotImplementedError",
        FaultKind.TIMEOUT: "TimeoutError",
        FaultKind.INTERRUPTED: "RuntimeError",
        FaultKind.CRASH: "RuntimeError",
        FaultKind.ENGINE_ERROR: "RuntimeError",
        FaultKind.UPSTREAM_ERROR: "RuntimeError",
        FaultKind.UNAVAILABLE: "RuntimeError",
        FaultKind.INTERNAL: "RuntimeError",
    },
    Dialect.ERROR_KEY: {
        FaultKind.UPSTREAM_ERROR: "send_failed",
        FaultKind.UNAVAILABLE: "mcp_unavailable",
        FaultKind.INTERNAL: "internal_error",
    },
    Dialect.SPLIT: {},
}
NAMES: dict[Dialect, dict[FaultKind, str | None]] = {
    dialect: {kind: others.get(kind, kind.value) for kind in FaultKind}
    for dialect, others in _OTHER_NAMES.items()
}
MODULE_NAME = "ImportError"
"""In `status`: a module that will not load, whatever else `unavailable` may mean."""


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """A fault written as a JSON-RPC error."""

    code: int
    message: str
    data: dict[str, Json]


@dataclass(frozen=True, slots=True)
class ResultReply:
    """A fault written as a result that says it is one."""

    payload: dict[str, Json]
    texts: tuple[str, ...] = ()
    """What is said in place of the payload, which then stands in `_meta`."""

    def to_result(self) -> dict[str, Json]:
        whole = json.dumps(self.payload, ensure_ascii=False, separators=(",", ":"))
        blocks: list[Json] = [{"type": "text", "text": text} for text in self.texts or (whole,)]
        result: dict[str, Json] = {"content": blocks, "isError": True}
        return {**result, "_meta": self.payload} if self.texts else result


Reply: TypeAlias = ErrorReply | ResultReply


def write(
    fault: Fault, dialect: Dialect, *, empty: Mapping[str, Json] | None = None, as_result: bool = False
) -> Reply:
    """Write a fault; total, and what it writes always encodes.

    `empty` is the tool's normal answer at its empty values. `as_result` asks for a result where the dialect
    would send a JSON-RPC error. An unknown tool is a JSON-RPC error in every dialect: no tool, no dialect.
    """
    retry = make_portable(fault.retry_after_seconds)
    portable = fault.copy(
        message=replace_surrogates(fault.message),
        hint=None if fault.hint is None else replace_surrogates(fault.hint),
        details=make_portable_object(fault.details),
        retry_after_seconds=retry if is_amount(retry) and retry >= 0 else None,
    )
    if fault.kind is FaultKind.UNKNOWN_TOOL:
        return FORMS[Dialect.JSONRPC].write(portable, {}, as_result=False)
    return FORMS[dialect].write(portable, make_portable_object(empty or {}), as_result=as_result)


def read_payload(payload: dict[str, Json]) -> Fault | None:
    """Read back a result that one of the dialects wrote; None for anything else."""
    return next((fault for form in FORMS.values() if (fault := form.read(payload))), None)


class _Form(Protocol):
    """How a dialect writes a fault, and how it reads a result of its own."""

    @staticmethod
    def write(fault: Fault, empty: Mapping[str, Json], *, as_result: bool) -> Reply: ...

    @staticmethod
    def read(payload: dict[str, Json]) -> Fault | None: ...


class _StatusForm:
    """The tool's normal answer at its empty values, status "error", and the fault in it."""

    @staticmethod
    def write(fault: Fault, empty: Mapping[str, Json], *, as_result: bool) -> Reply:
        del as_result  # always a result
        will_not_load = fault.kind is FaultKind.UNAVAILABLE and "module" in fault.details
        fields: dict[str, Json] = {
            "status": "error",
            "error_type": MODULE_NAME if will_not_load else NAMES[Dialect.STATUS][fault.kind],
            "message": fault.message,
            "kind": fault.kind.value,
            "hint": fault.hint,
            "retry_after_seconds": fault.retry_after_seconds,
            "details": fault.details,
        }
        return ResultReply(fields | {name: value for name, value in empty.items() if name not in fields})

    @staticmethod
    def read(payload: dict[str, Json]) -> Fault | None:
        if payload.get("status") != "error" or "error_type" not in payload:
            return None
        return _restore(payload, payload.get("message"), payload.get("details"))


class _ErrorKeyForm:
    """A result with `error`, `message` and `details`."""

    @staticmethod
    def write(fault: Fault, empty: Mapping[str, Json], *, as_result: bool) -> Reply:
        del empty, as_result  # only `status` answers with the tool's normal fields; always a result
        return ResultReply(
            {
                "error": NAMES[Dialect.ERROR_KEY][fault.kind],
                "message": fault.message,
                "details": fault.details,
                "kind": fault.kind.value,
                "hint": fault.hint,
                "retry_after_seconds": fault.retry_after_seconds,
            }
        )

    @staticmethod
    def read(payload: dict[str, Json]) -> Fault | None:
        if not isinstance(payload.get("error"), str):
            return None
        return _restore(payload, payload.get("message"), payload.get("details"))


RUN_FIELDS = ("exit_code", "signal", "stdout", "stderr", "command", "duration")
REFUSAL_FIELDS = ("field", "detail", "received_value")
REFUSALS = frozenset({FaultKind.INVALID_PARAMS, FaultKind.UNKNOWN_TOOL})
# The second line holds the marks of the other dialects: no two shapes may look alike.
TAKEN = frozenset(
    {"error_type", "kind", "timeout_exceeded", "hint", "retry_after_seconds", "details"}
    | {"message", "status", "error", "fault", "output"}
)


class _JsonRpcForm:
    """A JSON-RPC error whose `data` holds the facts of a run side by side.

    Details stand directly in `data`, under their own names; a fixed field that the fault does not carry is
    null. A detail whose name is taken stands under `data.details`.
    """

    @staticmethod
    def write(fault: Fault, empty: Mapping[str, Json], *, as_result: bool) -> Reply:
        del empty  # only `status` answers with the tool's normal fields
        data = _JsonRpcForm.write_data(fault)
        if as_result:
            return ResultReply({"message": fault.message, **data})
        return _write_error(fault.facts.code, fault, data)

    @staticmethod
    def write_data(fault: Fault) -> dict[str, Json]:
        data: dict[str, Json] = {"error_type": NAMES[Dialect.JSONRPC][fault.kind], "kind": fault.kind.value}
        if fault.kind in REFUSALS:
            data |= dict.fromkeys(REFUSAL_FIELDS)
        else:
            data |= dict.fromkeys(RUN_FIELDS)
            data |= {"timeout_exceeded": fault.kind is FaultKind.TIMEOUT, "collection_errors": None}
        data |= {"hint": fault.hint, "retry_after_seconds": fault.retry_after_seconds}
        data |= {name: value for name, value in fault.details.items() if name not in TAKEN}
        displaced: dict[str, Json] = {name: value for name, value in fault.details.items() if name in TAKEN}
        return data | {"details": displaced} if displaced else data

    @staticmethod
    def read(payload: dict[str, Json]) -> Fault | None:
        if "error_type" not in payload or not payload.keys() & {"timeout_exceeded", *REFUSAL_FIELDS}:
            return None
        return _read_fields(payload, payload.get("message"))


def _write_error(code: int, fault: Fault, data: dict[str, Json]) -> ErrorReply:
    """The message says it all; where it cannot be taken apart again, `data.message` has the fault's own."""
    message = put_together(fault, data)
    if _take_apart(message, data) != fault.message:
        data = {**data, "message": fault.message}
    return ErrorReply(code, message, data)


def read_data(data: dict[str, Json], message: object) -> Fault | None:
    """Read a JSON-RPC error of `jsonrpc`, or of `split`, whose details all stand under `details`."""
    told = data.get("message")
    if not isinstance(told, str):
        told = _take_apart(message, data) if isinstance(message, str) else None
    return _read_fields(data, told)


def _read_fields(data: dict[str, Json], message: object) -> Fault | None:
    displaced = data.get("details") or {}
    if not isinstance(displaced, dict):
        return None
    beside = {name: value for name, value in data.items() if name not in TAKEN}
    return _restore(data, message, beside | displaced)


OUTPUT = "output"


class _SplitForm:
    """A system failure is a JSON-RPC error, a tool that ran and failed is a result.

    A fault whose details carry `output` comes from a tool that ran. Its output is the first block, unchanged;
    the next one says what is wrong, and is the first where nothing was printed; `_meta` has the fault.
    For the rest the JSON-RPC code is a standard one: -32602 where the caller can mend the call, -32603 for
    everything else; `data.kind` says which.
    """

    @staticmethod
    def write(fault: Fault, empty: Mapping[str, Json], *, as_result: bool) -> Reply:
        del empty  # only `status` answers with the tool's normal fields
        fields: dict[str, Json] = {
            "kind": NAMES[Dialect.SPLIT][fault.kind],
            "hint": fault.hint,
            "retry_after_seconds": fault.retry_after_seconds,
        }
        if OUTPUT in fault.details:
            return _SplitForm._write_run(fault, fields)
        if as_result:
            return ResultReply({"fault": {"message": fault.message, **fields, "details": fault.details}})
        if fault.kind in REFUSALS:
            fields = _JsonRpcForm.write_data(fault)
        else:
            fields["details"] = fault.details
        return _write_error(choose_split_code(fault.kind), fault, fields)

    @staticmethod
    def _write_run(fault: Fault, fields: dict[str, Json]) -> ResultReply:
        output, details = fault.details[OUTPUT], fault.details
        said = put_together(fault)
        texts: tuple[str, ...] = (said,)
        if isinstance(output, str) and output.strip():
            texts = (output, said)
            details = {name: value for name, value in details.items() if name != OUTPUT}
        return ResultReply({"fault": {"message": fault.message, **fields, "details": details}}, texts)

    @staticmethod
    def read(payload: dict[str, Json]) -> Fault | None:
        typed = payload.get("fault")
        if len(payload) > 1 or not is_object(typed):
            return None
        return _restore(typed, typed.get("message"), typed.get("details"))


def read_meta(result: dict[str, Json]) -> Fault | None:
    """Read back a fault that stands in a result's `_meta`: a tool ran and failed."""
    meta = result.get("_meta")
    typed = meta.get("fault") if is_object(meta) else None
    details = typed.get("details") if is_object(typed) else None
    if not is_object(typed) or not is_object(details):
        return None
    if OUTPUT not in details:
        content = result.get("content")
        first = content[0] if isinstance(content, list) and content else None
        details = {**details, OUTPUT: first.get("text") if is_object(first) else None}
    return _restore(typed, typed.get("message"), details)


def choose_split_code(kind: FaultKind) -> int:
    return INVALID_PARAMS_CODE if kind.facts.code == INVALID_PARAMS_CODE else INTERNAL_ERROR_CODE


# The message of a JSON-RPC error

_LONGEST_MESSAGE = 600
_SHORTEST_SENTENCE = 80
"""What is left of a sentence whatever the length of its hint: a hint is never cut."""
_SYSTEM_FAILURE = "Internal error: "
_SERVER_BUG = "Internal server error: "
_LEFT_OUT = " […] "
_MENDABLE = [kind.value for kind in FaultKind if choose_split_code(kind) == INVALID_PARAMS_CODE]


def put_together(fault: Fault, data: dict[str, Json] | None = None) -> str:
    """The sentence, and the hint as its last one; what is cut is the middle of the sentence."""
    sentence, hint = fault.message, fault.hint or ""
    if data is not None and _is_system_failure(data):
        sentence = _SYSTEM_FAILURE + sentence.removeprefix(_SYSTEM_FAILURE).removeprefix(_SERVER_BUG)
    if hint and not sentence.endswith(hint):
        end = f" Hint: {hint}" if sentence.endswith((".", "!", "?")) else f". Hint: {hint}"
    else:
        sentence, end = sentence.removesuffix(hint), hint
    room = max(_LONGEST_MESSAGE - len(end), _SHORTEST_SENTENCE)
    if len(sentence) > room:
        tail = room // 3
        sentence = f"{sentence[: room - tail - len(_LEFT_OUT)]}{_LEFT_OUT}{sentence[-tail:]}"
    return sentence + end


def _take_apart(message: str, data: dict[str, Json]) -> str:
    """The sentence alone, of a message whose last one is the hint that `data` holds."""
    if _is_system_failure(data):
        message = message.removeprefix(_SYSTEM_FAILURE)
    hint = data.get("hint")
    if not isinstance(hint, str) or not hint:
        return message
    for joint in (". Hint: ", " Hint: ", ". ", " "):
        sentence = message.removesuffix(joint + hint)
        if sentence and sentence != message:
            return sentence
    return message


def _is_system_failure(data: dict[str, Json]) -> bool:
    """Of the two dialects that send JSON-RPC errors, only `split` has no `error_type`."""
    return "error_type" not in data and data.get("kind") not in _MENDABLE


# `status` is read first: it alone carries a tool's own fields, which may be named like marks of the others.
FORMS: dict[Dialect, _Form] = {
    Dialect.STATUS: _StatusForm,
    Dialect.SPLIT: _SplitForm,
    Dialect.ERROR_KEY: _ErrorKeyForm,
    Dialect.JSONRPC: _JsonRpcForm,
}
_KINDS = frozenset(kind.value for kind in FaultKind)


def _restore(fields: dict[str, Json], message: object, details: object) -> Fault | None:
    """The fault that was written, or None where a field is missing or of the wrong type: not ours."""
    if not fields.keys() >= {"kind", "hint", "retry_after_seconds"}:
        return None
    kind, hint, retry = fields["kind"], fields["hint"], fields["retry_after_seconds"]
    if not isinstance(kind, str) or kind not in _KINDS or not isinstance(message, str):
        return None
    if not isinstance(hint, str | None) or not is_object(details):
        return None
    if retry is not None and not is_amount(retry):
        return None
    wait = None if retry is None or retry < 0 else retry  # nobody can wait less than not at all
    return Fault(
        FaultKind(kind), message, hint=hint, details=details, retry_after_seconds=wait, origin="peer"
    )
