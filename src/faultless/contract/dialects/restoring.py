"""The fields every dialect carries, so that reading gives back exactly the fault that was written."""

from __future__ import annotations

import math
from typing import TypeGuard

from faultless.contract.fault import Fault, Json
from faultless.contract.kinds import FaultKind

KINDS = frozenset(kind.value for kind in FaultKind)
SIGNATURE = frozenset({"kind", "hint", "retry_after_seconds"})


def is_object(value: object) -> TypeGuard[dict[str, Json]]:
    return isinstance(value, dict) and all(isinstance(name, str) for name in value)


def is_amount(value: object) -> TypeGuard[int | float]:
    """A finite number; booleans are integers in Python, not here."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def restore(fields: dict[str, Json], message: object, details: object) -> Fault | None:
    """The fault that was written, or None where a field is missing or of the wrong type: not ours."""
    if not fields.keys() >= SIGNATURE:
        return None
    kind, hint, retry = fields["kind"], fields["hint"], fields["retry_after_seconds"]
    if not isinstance(kind, str) or kind not in KINDS or not isinstance(message, str):
        return None
    if not isinstance(hint, str | None) or not is_object(details):
        return None
    if retry is not None and not is_amount(retry):
        return None
    return Fault(
        FaultKind(kind), message, hint=hint, details=details, retry_after_seconds=retry, origin="peer"
    )
