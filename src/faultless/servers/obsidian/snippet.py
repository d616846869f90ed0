"""A few words around a hit, from the note as it is written."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from faultless.contract.text import clean
from faultless.servers.obsidian.shapes import SNIPPET_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Callable

_BLANK = re.compile(r"\s+")
_LEAD = 60


def find_folded(text: str, query: str) -> int:
    """Where the query stands in the text, case and composition ignored; -1 if nowhere."""
    place = text.lower().find(query.lower())
    if text.isascii() or (place >= 0 and len(text.lower()) == len(text)):
        return place
    wanted = unicodedata.normalize("NFC", query).casefold()
    folded = unicodedata.normalize("NFC", text).casefold()
    found = folded.find(wanted)
    return found if found < 0 else _unfold(text, found)


def cut(text: str, place: int) -> str:
    """At most 200 characters, blank space joined, dots where something was left out."""
    place = max(place, 0)
    start = max(0, place - _LEAD)
    window = text[start : start + SNIPPET_CHARACTERS * 2]
    words = _BLANK.sub(" ", clean(window, len(window) + 100)).strip()
    head = "…" if start > 0 and text[:start].strip() else ""
    room = SNIPPET_CHARACTERS - len(head) - 1
    tail = "…" if len(words) > room or text[start + len(window) :].strip() else ""
    return head + words[:room].rstrip() + tail


def _unfold(text: str, found: int) -> int:
    """The place in the written text of a place in its folded form, by halving."""

    def folded_length(end: int) -> int:
        return len(unicodedata.normalize("NFC", text[:end]).casefold())

    return _bisect(folded_length, found, len(text))


def _bisect(measure: Callable[[int], int], wanted: int, stop: int) -> int:
    low, high = 0, stop
    while low < high:
        middle = (low + high) // 2
        if measure(middle + 1) <= wanted:
            low = middle + 1
        else:
            high = middle
    return low
