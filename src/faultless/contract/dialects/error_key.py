"""The `error_key` dialect: a result with `error`, `message` and `details`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from faultless.contract.dialects.names import NAMES, Dialect
from faultless.contract.dialects.reply import Reply, ResultReply
from faultless.contract.dialects.restoring import restore

if TYPE_CHECKING:
    from collections.abc import Mapping

    from faultless.contract.fault import Fault, Json


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


def read(payload: dict[str, Json]) -> Fault | None:
    if not isinstance(payload.get("error"), str):
        return None
    return restore(payload, payload.get("message"), payload.get("details"))
