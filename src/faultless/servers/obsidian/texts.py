"""All text of the vault in memory, folded, in a few large pieces that the C library can search fast."""

from __future__ import annotations

import bisect
import itertools
import posixpath
import re
import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from faultless.servers.obsidian.kernel import Haystack
from faultless.servers.obsidian.note import decode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SEGMENT_NOTES = 2048
LOOSE_NOTES = 256
_SEPARATOR = b"\xff"  # in no UTF-8 text, so no hit ever spans two notes
_HEADING = re.compile(rb"^ {0,3}#{1,6}[ \t]+(.*)$", re.MULTILINE)
_TITLE = re.compile(rb"\A---[^\n]*\n(?:.*\n)*?title:(.*)", re.MULTILINE)


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
    title = fold_text(posixpath.basename(path).rpartition(".")[0])
    if body.startswith(b"---"):
        named = _TITLE.match(body, 0, 2000)
        title += b"\n" + named[1] if named else b""
    heads = b"\n".join(_HEADING.findall(body)) if b"#" in body else b""
    return Text(title, heads, body)


class Layer:
    """Many texts as one."""

    def __init__(self, parts: list[bytes]) -> None:
        self._hay = Haystack(_SEPARATOR.join(parts))
        self._starts = [0, *itertools.accumulate(len(part) + 1 for part in parts)]

    def find(self, needle: bytes) -> Iterator[int]:
        """The number of each text that holds the needle, once."""
        place = self._hay.find(needle)
        while place >= 0:
            number = bisect.bisect_right(self._starts, place) - 1
            yield number
            following = self._starts[number + 1]
            if following >= len(self._hay.data):
                return
            place = self._hay.find(needle, following)

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


class Texts:
    """Packed segments and a few loose notes that changed lately."""

    def __init__(self) -> None:
        self._segments: list[Segment] = []
        self._place: dict[str, tuple[Segment, int]] = {}
        self._loose: dict[str, Text] = {}

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
        hits = Hits()
        for segment in self._segments:
            paths = segment.paths
            for layer, found in (
                (segment.titles, hits.titles),
                (segment.heads, hits.heads),
                (segment.bodies, hits.bodies),
            ):
                found.update(path for number in layer.find(needle) if (path := paths[number]) is not None)
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


def _note_hits(hits: Hits, path: str, needle: bytes, text: Text) -> None:
    if needle in text.title:
        hits.titles.add(path)
    if needle in text.heads:
        hits.heads.add(path)
    if needle in text.body:
        hits.bodies.add(path)
