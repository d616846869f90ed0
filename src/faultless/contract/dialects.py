"""Writing: one fault, four ways to put it on the wire, and reading back what was written.

A toolset declares its dialect; its code never sees it. Every dialect carries `kind`, `hint` and
`retry_after_seconds` beside its own names, so that reading gives back exactly the fault that was written.
"""

from __future__ import annotations

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
        retry_after_seconds=retry if is_amount(retry) else None,
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
        return ErrorReply(fault.facts.code, fault.message, data)

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
        return read_data(payload, payload.get("message"))


def read_data(data: dict[str, Json], message: object) -> Fault | None:
    """Read a JSON-RPC error of `jsonrpc`, or of `split`, whose details all stand under `details`."""
    displaced = data.get("details") or {}
    if not isinstance(displaced, dict):
        return None
    beside = {name: value for name, value in data.items() if name not in TAKEN}
    return _restore(data, message, beside | displaced)


OUTPUT = "output"


class _SplitForm:
    """A system failure is a JSON-RPC error, a tool that ran and failed is a result.

    A fault whose details carry `output` comes from a tool that ran; the result holds that output with the
    fault beside it. For the rest the JSON-RPC code is a standard one: -32602 where the caller can mend the
    call, -32603 for everything else; `data.kind` says which.
    """

    @staticmethod
    def write(fault: Fault, empty: Mapping[str, Json], *, as_result: bool) -> Reply:
        del empty  # only `status` answers with the tool's normal fields
        fields: dict[str, Json] = {
            "kind": NAMES[Dialect.SPLIT][fault.kind],
            "hint": fault.hint,
            "retry_after_seconds": fault.retry_after_seconds,
        }
        if as_result or OUTPUT in fault.details:
            rest: dict[str, Json] = {name: value for name, value in fault.details.items() if name != OUTPUT}
            typed = {"message": fault.message, **fields, "details": rest}
            return ResultReply({OUTPUT: fault.details.get(OUTPUT), "fault": typed})
        if fault.kind in REFUSALS:
            fields = _JsonRpcForm.write_data(fault)
        else:
            fields["details"] = fault.details
        return ErrorReply(choose_split_code(fault.kind), fault.message, fields)

    @staticmethod
    def read(payload: dict[str, Json]) -> Fault | None:
        typed = payload.get("fault")
        if OUTPUT not in payload or not is_object(typed):
            return None
        details = typed.get("details")
        if not is_object(details):
            return None
        return _restore(typed, typed.get("message"), {**details, OUTPUT: payload[OUTPUT]})


def choose_split_code(kind: FaultKind) -> int:
    return INVALID_PARAMS_CODE if kind.facts.code == INVALID_PARAMS_CODE else INTERNAL_ERROR_CODE


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
    return Fault(
        FaultKind(kind), message, hint=hint, details=details, retry_after_seconds=retry, origin="peer"
    )
