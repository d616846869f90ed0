"""Small edits of a text, and when two values are the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from faultless.contract import Json


@dataclass(frozen=True, slots=True)
class Splice:
    start: int
    end: int
    text: str


def apply_splices(text: str, splices: Iterable[Splice]) -> str:
    """Of two at one place the insertion comes before the removal, and the first given first."""
    parts: list[str] = []
    place = 0
    for splice in sorted(splices, key=lambda one: (one.start, one.end)):
        parts += [text[place : splice.start], splice.text]
        place = max(place, splice.end)
    return "".join([*parts, text[place:]])


def same(one: Json, other: Json) -> bool:
    """Equal in value and type, key order aside: 1, 1.0 and True are three things."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other
