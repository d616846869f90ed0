"""All text of the vault in memory, folded, in a few large pieces that the C library can search fast."""

from __future__ import annotations

import bisect
import itertools
import os
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from faultless.servers.obsidian.kernel import Haystack
from faultless.servers.obsidian.note import decode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SEGMENT_NOTES = 2048
LOOSE_NOTES = 256
_SEPARATOR = b"\xff"  # in no UTF-8 text, so no hit ever spans two notes
_FRONTMATTER_BYTES = 2000
_DENSE = 32


def fold_text(text: str) -> bytes:
    """Case and composition ignored; what a query and a note are compared as."""
    if text.isascii():
        return text.lower().encode()
    return unicodedata.normalize("NFC", text).casefold().encode("utf-8", "replace")


def fold_data(data: bytes) -> bytes:
    if data.isascii():
        return data.lower()
    return fold_text(decode(data)[2])


@dataclass(frozen=True, slots=True)
class Text:
    """One note as it is searched."""

    title: bytes
    heads: bytes
    body: bytes


def text_of(path: str, data: bytes) -> Text:
    body = fold_data(data)
    title = fold_text(path[path.rfind("/") + 1 : path.rfind(".")])
    if body.startswith(b"---"):
        named = body.find(b"\ntitle:", 0, _FRONTMATTER_BYTES)
        title += body[named : body.find(b"\n", named + 1)] if named > 0 else b""
    return Text(title, b"".join(_heads(body)), body)


def _heads(body: bytes) -> Iterator[bytes]:
    """Heading lines, found by their marks; good enough to rank by."""
    place = 0 if body.startswith(b"#") else body.find(b"\n#")
    while place >= 0:
        end = body.find(b"\n", place + 1)
        yield body[place:] if end < 0 else body[place:end]
        place = body.find(b"\n#", end) if end >= 0 else -1


class Layer:
    """Many texts as one."""

    def __init__(self, parts: list[bytes]) -> None:
        self._hay = Haystack(_SEPARATOR.join(parts))
        self._starts = [0, *itertools.accumulate(len(part) + 1 for part in parts)]

    def find(self, needle: bytes) -> list[int]:
        """The number of each text that holds the needle, once."""
        found: list[int] = []
        starts, place = self._starts, self._hay.find(needle)
        while place >= 0:
            number = bisect.bisect_right(starts, place) - 1
            found.append(number)
            if number + 2 == len(starts):
                break
            if len(found) == _DENSE and number < 2 * _DENSE:
                return found + self._find_each(needle, number + 1)
            place = self._hay.find(needle, starts[number + 1])
        return found

    def _find_each(self, needle: bytes, first: int) -> list[int]:
        """Text by text: faster than jumping where almost every one holds it."""
        find = self._hay.data.find
        bounds = itertools.pairwise(self._starts[first:])
        return [
            number for number, (start, end) in enumerate(bounds, first) if find(needle, start, end - 1) >= 0
        ]

    @property
    def size_bytes(self) -> int:
        return len(self._hay.data)

    def get(self, number: int) -> bytes:
        return self._hay.data[self._starts[number] : self._starts[number + 1] - 1]


@dataclass(slots=True)
class Segment:
    paths: list[str | None]
    titles: Layer
    heads: Layer
    bodies: Layer
    living: int


@dataclass(slots=True)
class Hits:
    titles: set[str] = field(default_factory=set)
    heads: set[str] = field(default_factory=set)
    bodies: set[str] = field(default_factory=set)

    def add(self, other: Hits) -> None:
        self.titles |= other.titles
        self.heads |= other.heads
        self.bodies |= other.bodies


class Texts:
    """Packed segments and a few loose notes that changed lately."""

    def __init__(self) -> None:
        self._segments: list[Segment] = []
        self._place: dict[str, tuple[Segment, int]] = {}
        self._loose: dict[str, Text] = {}

    def __len__(self) -> int:
        return len(self._place) + len(self._loose)

    @property
    def size_bytes(self) -> int:
        layers = [layer for one in self._segments for layer in (one.titles, one.heads, one.bodies)]
        packed = sum(layer.size_bytes for layer in layers)
        return packed + sum(len(text.body) for text in self._loose.values())

    def put(self, path: str, text: Text) -> None:
        self.remove(path)
        self._loose[path] = text
        if len(self._loose) >= SEGMENT_NOTES:
            self._pack()

    def settle(self) -> None:
        """After a batch: loose notes are searched one by one, so only a few may stay."""
        if len(self._loose) > LOOSE_NOTES:
            self._pack()

    def remove(self, path: str) -> None:
        self._loose.pop(path, None)
        placed = self._place.pop(path, None)
        if placed is not None:
            segment, number = placed
            segment.paths[number] = None
            segment.living -= 1
            if segment.living * 2 < len(segment.paths):
                self._unpack(segment)

    def find(self, needle: bytes) -> Hits:
        """Segments are searched side by side: the C library's search lets other threads run."""
        hits = Hits()
        for found in _POOL.map(lambda segment: _search(segment, needle), self._segments):
            hits.add(found)
        for path, text in self._loose.items():
            _note_hits(hits, path, needle, text)
        return hits

    def bodies(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Folded text by path, for patterns that cannot be found in one go."""
        for path in paths:
            if path in self._loose:
                yield path, self._loose[path].body
            elif path in self._place:
                segment, number = self._place[path]
                yield path, segment.bodies.get(number)

    def holds(self, path: str, needle: bytes) -> bool:
        return any(needle in body for _, body in self.bodies([path]))

    def _pack(self) -> None:
        paths = list(self._loose)
        texts = list(self._loose.values())
        segment = Segment(
            list[str | None](paths),
            Layer([text.title for text in texts]),
            Layer([text.heads for text in texts]),
            Layer([text.body for text in texts]),
            len(paths),
        )
        self._segments.append(segment)
        self._place.update((path, (segment, number)) for number, path in enumerate(paths))
        self._loose = {}

    def _unpack(self, segment: Segment) -> None:
        self._segments.remove(segment)
        for number, path in enumerate(segment.paths):
            if path is not None:
                del self._place[path]
                self._loose[path] = Text(
                    segment.titles.get(number), segment.heads.get(number), segment.bodies.get(number)
                )


_POOL = ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1), thread_name_prefix="vault-search")


def _search(segment: Segment, needle: bytes) -> Hits:
    layers = (segment.titles, segment.heads, segment.bodies)
    return Hits(
        *({path for number in layer.find(needle) if (path := segment.paths[number])} for layer in layers)
    )


def _note_hits(hits: Hits, path: str, needle: bytes, text: Text) -> None:
    if needle in text.title:
        hits.titles.add(path)
    if needle in text.heads:
        hits.heads.add(path)
    if needle in text.body:
        hits.bodies.add(path)
