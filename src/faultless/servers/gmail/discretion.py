"""Refused arguments are quoted in the fault; what a mail says must not be."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from faultless.contract import Fault, FaultKind
from faultless.kit.validation import invalid_params

if TYPE_CHECKING:
    from faultless.contract import Json
    from faultless.kit.toolset import Call, Output, Tool

_QUOTABLE = frozenset({"to", "cc", "bcc", "reply_to_message_id", "approval_id"})


def hide_text(tool: Tool) -> Tool:
    """The same tool, quoting only fields that hold no text of the mail."""
    inner = tool.run

    async def run(raw: dict[str, Any], call: Call) -> Output:
        try:
            return await inner(raw, call)
        except Fault as fault:
            if fault.kind is not FaultKind.INVALID_PARAMS or "violations" not in fault.details:
                raise
            raise invalid_params(_hide(fault.details["violations"]), hint=fault.hint) from None

    return dataclasses.replace(tool, run=run)


def _hide(violations: Json) -> list[dict[str, Json]]:
    rows = violations if isinstance(violations, list) else []
    return [
        row if row.get("field") in _QUOTABLE else row | {"received_value": None}
        for row in rows
        if isinstance(row, dict)
    ]
