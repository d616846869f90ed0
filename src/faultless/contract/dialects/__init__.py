"""One fault, four ways to write it. A toolset declares its dialect; its code never sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from faultless.contract.dialects import error_key, jsonrpc, split, status
from faultless.contract.dialects.names import NAMES, Dialect
from faultless.contract.dialects.reply import ErrorReply, Reply, ResultReply
from faultless.contract.fault import Fault, Json
from faultless.contract.kinds import FaultKind
from faultless.contract.portable import make_portable, make_portable_object
from faultless.contract.text import replace_surrogates

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["NAMES", "Dialect", "ErrorReply", "Reply", "ResultReply", "read_data", "read_payload", "write"]


class _Form(Protocol):
    def write(self, fault: Fault, empty: Mapping[str, Json], *, as_result: bool) -> Reply: ...

    def read(self, payload: dict[str, Json]) -> Fault | None: ...


# `status` is read first: it alone carries a tool's own fields, which may be named like marks of the others.
FORMS: dict[Dialect, _Form] = {
    Dialect.STATUS: status,
    Dialect.SPLIT: split,
    Dialect.ERROR_KEY: error_key,
    Dialect.JSONRPC: jsonrpc,
}

read_data = jsonrpc.read_data


def write(
    fault: Fault, dialect: Dialect, *, empty: Mapping[str, Json] | None = None, as_result: bool = False
) -> ErrorReply | ResultReply:
    """Write a fault; total, and what it writes always encodes.

    `empty` is the tool's normal answer at its empty values. `as_result` asks for a result where the dialect
    would send a JSON-RPC error. An unknown tool is a JSON-RPC error in every dialect: no tool, no dialect.
    """
    portable = _make_portable_fault(fault)
    if fault.kind is FaultKind.UNKNOWN_TOOL:
        return jsonrpc.write(portable, {}, as_result=False)
    return FORMS[dialect].write(portable, make_portable_object(empty or {}), as_result=as_result)


def read_payload(payload: dict[str, Json]) -> Fault | None:
    """Read back a result that one of the dialects wrote; None for anything else."""
    return next((fault for form in FORMS.values() if (fault := form.read(payload))), None)


def _make_portable_fault(fault: Fault) -> Fault:
    retry = make_portable(fault.retry_after_seconds)
    return Fault(
        fault.kind,
        replace_surrogates(fault.message),
        hint=None if fault.hint is None else replace_surrogates(fault.hint),
        details=make_portable_object(fault.details),
        retry_after_seconds=retry if isinstance(retry, int | float) else None,
        origin=fault.origin,
    )
