"""Making an input small while it still shows the same."""

from __future__ import annotations

import contextlib
import copy
import datetime as dt
import decimal
import math
import time
from typing import TYPE_CHECKING, Any

from .generate import Unbuildable, build
from .parameters import OMITTED, Parameters
from .shapes import conforms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .shapes import Shape


def shrink(
    values: list[Any], parameters: Parameters, shows: Callable[[list[Any]], bool], deadline: float
) -> list[Any]:
    """Greedy: take the first simpler input that still shows it, until none does or time is up.

    Candidates keep to the parameters' shapes: a pair stays a pair.
    """
    improved = True
    while improved and time.monotonic() < deadline:
        improved = False
        for candidate in _simpler_lists(values, parameters):
            if time.monotonic() >= deadline:
                break
            if shows(copy.deepcopy(candidate)):
                values = candidate
                improved = True
                break
    return values


def _simpler_lists(values: list[Any], parameters: Parameters) -> Iterator[list[Any]]:
    for index, (value, item) in enumerate(zip(values, parameters.items, strict=True)):
        if value is not OMITTED:
            for candidate in simpler(value, item.shape):
                yield [*values[:index], candidate, *values[index + 1 :]]


def simpler(value: Any, shape: Shape) -> Iterator[Any]:
    if shape.kind in _BY_KIND:
        yield from _BY_KIND[shape.kind](value, shape)
    elif shape.kind in _ATOMS:
        yield from _ATOMS[shape.kind](value)


def _simpler_union(value: Any, shape: Shape) -> Iterator[Any]:
    if value is not None and any(part.kind == "none" for part in shape.parts):
        yield None
    for part in shape.parts:
        if conforms(value, part.python):
            yield from simpler(value, part)
            return


def _simpler_choice(value: Any, shape: Shape) -> Iterator[Any]:
    for choice in shape.values:
        if choice is value:
            return
        yield choice


def _simpler_sequence(value: Any, shape: Shape) -> Iterator[Any]:
    items = list(value)
    for kept in _shorter(items):
        yield type(value)(kept)
    for index, item in enumerate(items):
        for candidate in simpler(item, shape.parts[0]):
            yield type(value)([*items[:index], candidate, *items[index + 1 :]])


def _simpler_tuple(value: Any, shape: Shape) -> Iterator[Any]:
    for index, (item, part) in enumerate(zip(value, shape.parts, strict=True)):
        for candidate in simpler(item, part):
            yield (*value[:index], candidate, *value[index + 1 :])


def _simpler_dict(value: dict[Any, Any], shape: Shape) -> Iterator[dict[Any, Any]]:
    for kept in _shorter(list(value)):
        yield {key: value[key] for key in kept}
    for key, item in value.items():
        for candidate in simpler(item, shape.parts[1]):
            yield {**value, key: candidate}
    for key in value:
        for candidate in simpler(key, shape.parts[0]):
            if candidate not in value:
                yield {(candidate if k == key else k): v for k, v in value.items()}


def _simpler_typed_dict(value: dict[str, Any], shape: Shape) -> Iterator[dict[str, Any]]:
    for name in shape.optional & value.keys():
        yield {key: item for key, item in value.items() if key != name}
    for name, part in zip(shape.names, shape.parts, strict=True):
        if name in value:
            for candidate in simpler(value[name], part):
                yield {**value, name: candidate}


def _simpler_instance(value: Any, shape: Shape) -> Iterator[Any]:
    kept = {name: getattr(value, name, OMITTED) for name in shape.names}
    if any(item is OMITTED for item in kept.values()):
        return
    for name, part in zip(shape.names, shape.parts, strict=True):
        for candidate in simpler(kept[name], part):
            with contextlib.suppress(Unbuildable):
                yield build(shape, list({**kept, name: candidate}.values()))


def _simpler_int(value: int) -> Iterator[int]:
    if value == 0:
        return
    yield 0
    if value < 0:
        yield -value
    step = value
    while abs(step) > 1:
        step = int(step / 2) if abs(step) < 1 << 50 else (step // 2 if step > 0 else -(-step // 2))
        yield value - step
    yield value - (1 if value > 0 else -1)


def _simpler_float(value: float) -> Iterator[float]:
    if not math.isfinite(value):
        yield from (0.0, 1.0)
        return
    if value == 0:
        return
    yield 0.0
    whole = float(int(value))
    if whole != value:
        yield whole
        rounded = round(value, 1)
        if rounded != value:
            yield rounded
    elif abs(value) < 1 << 53:
        yield from map(float, _simpler_int(int(value)))


def _simpler_text(value: str) -> Iterator[str]:
    yield from ("".join(items) for items in _shorter(list(value)))
    for index, letter in enumerate(value):
        for plain in ("0", "a") if letter not in "0a" else ():
            yield value[:index] + plain + value[index + 1 :]


def _shorter(items: list[Any]) -> Iterator[list[Any]]:
    size = len(items)
    while size > 0:
        for start in range(0, len(items), size):
            yield items[:start] + items[start + size :]
        size //= 2


def _simpler_bytes(value: bytes) -> Iterator[bytes]:
    yield from (bytes(items) for items in _shorter(list(value)))
    yield from (value[:i] + b"\0" + value[i + 1 :] for i in range(len(value)) if value[i])


def _simpler_moment(value: dt.datetime) -> Iterator[dt.datetime]:
    plain = dt.datetime(2000, 1, 1)  # noqa: DTZ001 - naive like its original
    for candidate in (plain, value.replace(hour=0, minute=0, second=0, microsecond=0)):
        if candidate != value:
            yield candidate


def _simpler_decimal(value: decimal.Decimal) -> Iterator[decimal.Decimal]:
    if value.is_nan() or abs(value) > 1:
        yield from (decimal.Decimal(0), decimal.Decimal(1))


_ATOMS: dict[str, Callable[[Any], Iterator[Any]]] = {
    "int": _simpler_int,
    "bool": lambda value: iter([False] if value else []),
    "float": _simpler_float,
    "str": _simpler_text,
    "bytes": _simpler_bytes,
    "datetime": _simpler_moment,
    "decimal": _simpler_decimal,
}
_BY_KIND: dict[str, Callable[[Any, Shape], Iterator[Any]]] = {
    "union": _simpler_union,
    "choice": _simpler_choice,
    "list": _simpler_sequence,
    "vartuple": _simpler_sequence,
    "set": _simpler_sequence,
    "frozenset": _simpler_sequence,
    "tuple": _simpler_tuple,
    "dict": _simpler_dict,
    "typeddict": _simpler_typed_dict,
    "class": _simpler_instance,
}
