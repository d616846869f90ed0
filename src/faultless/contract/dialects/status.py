"""The `status` dialect: the tool's normal answer at its empty values, status "error", and the fault in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from faultless.contract.dialects.names import NAMES, Dialect
from faultless.contract.dialects.reply import Reply, ResultReply
from faultless.contract.dialects.restoring import restore
from faultless.contract.kinds import FaultKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from faultless.contract.fault import Fault, Json

MODULE_NAME = "ImportError"


def write(fault: Fault, empty: Mapping[str, Json], *, as_result: bool) -> Reply:
    del as_result  # always a result
    fields: dict[str, Json] = {
        "status": "error",
        "error_type": name_error_type(fault),
        "message": fault.message,
        "kind": fault.kind.value,
        "hint": fault.hint,
        "retry_after_seconds": fault.retry_after_seconds,
        "details": fault.details,
    }
    return ResultReply(fields | {name: value for name, value in empty.items() if name not in fields})


def name_error_type(fault: Fault) -> str | None:
    """A module that will not load is an ImportError, whatever else `unavailable` may mean."""
    if fault.kind is FaultKind.UNAVAILABLE and "module" in fault.details:
        return MODULE_NAME
    return NAMES[Dialect.STATUS][fault.kind]


def read(payload: dict[str, Json]) -> Fault | None:
    if payload.get("status") != "error" or "error_type" not in payload:
        return None
    return restore(payload, payload.get("message"), payload.get("details"))
