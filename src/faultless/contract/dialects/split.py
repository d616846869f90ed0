"""The `split` dialect: a system failure is a JSON-RPC error, a tool that ran and failed is a result.

A fault whose details carry `output` comes from a tool that ran; the result holds that output with the fault
beside it. For the rest the JSON-RPC code is a standard one: -32602 where the caller can mend the call, -32603
for everything else; `data.kind` says which.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from faultless.contract.dialects import jsonrpc
from faultless.contract.dialects.names import NAMES, Dialect
from faultless.contract.dialects.reply import ErrorReply, Reply, ResultReply
from faultless.contract.dialects.restoring import is_object, restore
from faultless.contract.kinds import FACTS, INTERNAL_ERROR_CODE, INVALID_PARAMS_CODE, FaultKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from faultless.contract.fault import Fault, Json

OUTPUT = "output"


def write(fault: Fault, empty: Mapping[str, Json], *, as_result: bool) -> Reply:
    del empty  # only `status` answers with the tool's normal fields
    if as_result or OUTPUT in fault.details:
        details: dict[str, Json] = {name: value for name, value in fault.details.items() if name != OUTPUT}
        typed = {"message": fault.message, **_write_fields(fault, details)}
        return ResultReply({OUTPUT: fault.details.get(OUTPUT), "fault": typed})
    if fault.kind in jsonrpc.REFUSALS:
        return ErrorReply(choose_code(fault.kind), fault.message, jsonrpc.write_data(fault))
    return ErrorReply(choose_code(fault.kind), fault.message, _write_fields(fault, fault.details))


def choose_code(kind: FaultKind) -> int:
    return INVALID_PARAMS_CODE if FACTS[kind].code == INVALID_PARAMS_CODE else INTERNAL_ERROR_CODE


def read(payload: dict[str, Json]) -> Fault | None:
    typed = payload.get("fault")
    if OUTPUT not in payload or not is_object(typed):
        return None
    details = typed.get("details")
    if not is_object(details):
        return None
    return restore(typed, typed.get("message"), {**details, OUTPUT: payload[OUTPUT]})


def _write_fields(fault: Fault, details: dict[str, Json]) -> dict[str, Json]:
    return {
        "kind": NAMES[Dialect.SPLIT][fault.kind],
        "hint": fault.hint,
        "retry_after_seconds": fault.retry_after_seconds,
        "details": details,
    }
