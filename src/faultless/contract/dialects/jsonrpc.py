"""The `jsonrpc` dialect: a JSON-RPC error whose `data` holds the facts of a run side by side.

Details stand directly in `data`, under their own names; a fixed field that the fault does not carry is null.
A detail whose name is taken stands under `data.details`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from faultless.contract.dialects.names import NAMES, Dialect
from faultless.contract.dialects.reply import ErrorReply, Reply, ResultReply
from faultless.contract.dialects.restoring import restore
from faultless.contract.kinds import FACTS, FaultKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from faultless.contract.fault import Fault, Json

RUN_FIELDS = ("exit_code", "signal", "stdout", "stderr", "command", "duration")
REFUSAL_FIELDS = ("field", "detail", "received_value")
REFUSALS = frozenset({FaultKind.INVALID_PARAMS, FaultKind.UNKNOWN_TOOL})

# The second line holds the marks of the other dialects: no two shapes may look alike.
TAKEN = frozenset(
    {"error_type", "kind", "timeout_exceeded", "hint", "retry_after_seconds", "details"}
    | {"message", "status", "error", "fault", "output"}
)


def write(fault: Fault, empty: Mapping[str, Json], *, as_result: bool) -> Reply:
    del empty  # only `status` answers with the tool's normal fields
    if as_result:
        return ResultReply({"message": fault.message, **write_data(fault)})
    return ErrorReply(FACTS[fault.kind].code, fault.message, write_data(fault))


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


def read_data(data: dict[str, Json], message: object) -> Fault | None:
    """Read a JSON-RPC error of this dialect or of `split`, whose details all stand under `details`."""
    displaced = data.get("details") or {}
    if not isinstance(displaced, dict):
        return None
    return restore(
        data, message, {name: value for name, value in data.items() if name not in TAKEN} | displaced
    )


def read(payload: dict[str, Json]) -> Fault | None:
    if "error_type" not in payload or not payload.keys() & {"timeout_exceeded", *REFUSAL_FIELDS}:
        return None
    return read_data(payload, payload.get("message"))
