"""JSON values: made of anything so that every encoder accepts them, and told apart when they arrive."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeGuard

from faultless.contract.text import replace_surrogates

if TYPE_CHECKING:
    from faultless.contract.fault import Json

_MAX_DEPTH = 64
_MAX_INTEGER_BITS = 1024  # readers stop at 4300 digits; most of them at 64 bits


def make_portable(value: object) -> Json:
    """Copy a value; whatever JSON cannot carry becomes null or a short note in its place."""
    return _copy(value, ())


def make_portable_object(value: Mapping[str, object]) -> dict[str, Json]:
    return {replace_surrogates(name): make_portable(item) for name, item in value.items()}


def is_object(value: object) -> TypeGuard[dict[str, Json]]:
    return isinstance(value, dict) and all(isinstance(name, str) for name in value)


def is_amount(value: object) -> TypeGuard[int | float]:
    """A finite number; booleans are integers in Python, not here."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _copy(value: object, ancestors: tuple[int, ...]) -> Json:
    if isinstance(value, str):
        return replace_surrogates(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        fits = value.bit_length() <= _MAX_INTEGER_BITS
        return int(value) if fits else f"<integer of {value.bit_length()} bits>"
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return _copy_container(value, ancestors)


def _copy_container(value: object, ancestors: tuple[int, ...]) -> Json:
    if id(value) in ancestors:
        return "<contains itself>"
    if len(ancestors) >= _MAX_DEPTH:
        return "<nested too deeply>"
    inner = (*ancestors, id(value))
    if isinstance(value, Mapping):
        return {replace_surrogates(str(name)): _copy(item, inner) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_copy(item, inner) for item in value]
    return f"<{type(value).__name__}>"
