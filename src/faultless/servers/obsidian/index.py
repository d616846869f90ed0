"""What the vault holds, fresh at every call: files, frontmatter, tags, and all text folded for searching."""

from __future__ import annotations

import bisect
import ctypes
import itertools
import os
import posixpath
import threading
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote

from faultless.contract import Fault, Json
from faultless.servers.obsidian.catalog import Catalog
from faultless.servers.obsidian.files import Tree, read_at
from faultless.servers.obsidian.links import BASE_SUFFIX, CANVAS_SUFFIX
from faultless.servers.obsidian.markdown import find_tags
from faultless.servers.obsidian.note import Note, decode, read_quickly

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from faultless.servers.obsidian.scope import Scope

SEGMENT_NOTES = 2048
_LOOSE_NOTES = 256
_SEPARATOR = b"\xff"  # in no UTF-8 text, so no hit ever spans two notes
_FRONTMATTER_BYTES = 2000
_DENSE = 32
_POOL = ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1), thread_name_prefix="vault-search")
_memmem = getattr(ctypes.CDLL(None), "memmem", None)
if _memmem is not None:
    _memmem.restype = ctypes.c_void_p
    _memmem.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]


@dataclass(frozen=True, slots=True)
class Facts:
    fields: dict[str, Json]
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Counts:
    notes: int
    indexed: int
    is_watched: bool


class Index:
    """Use it inside `fresh`; one thread at a time gets in."""

    def __init__(self, tree: Tree, scope: Scope, *, watch: bool = True) -> None:
        self.catalog = Catalog(tree, scope, watch=watch)
        self.texts = Texts()
        self._tree = tree
        self._facts: dict[str, Facts] = {}
        self._lock = threading.Lock()
        self._holds_texts = False

    @contextmanager
    def fresh(self, *, text: bool = False) -> Iterator[Index]:
        """Up to this moment; with `text`, the notes' text too (read once, then kept)."""
        with self._lock:
            self._tree.require_present()
            self._refresh(text=text)
            yield self

    def count(self) -> Counts:
        """Never waits for another call, nor reads a note: a server that is reading 50,000 notes for its first
        search, or has yet to begin, is well.
        """
        self._tree.require_present()
        if not self._lock.acquire(blocking=False):
            notes = self.catalog.count_notes(watch=False)
        else:
            try:
                if self.catalog.is_cheap_to_refresh:
                    self._refresh(text=False)
                    notes = len(self.catalog.notes)
                else:
                    notes = self.catalog.count_notes(watch=True)
            finally:
                self._lock.release()
        return Counts(notes, len(self.texts), is_watched=self.catalog.is_watching)

    def facts(self, path: str) -> Facts:
        """Frontmatter and tags; corrupt frontmatter has no fields here, a note that is gone has nothing."""
        if path not in self._facts:
            note = Note.of_text("")
            with suppress(OSError, Fault):
                note = Note.parse(self._tree.read(path).data)
            fields = read_quickly(note.yaml)
            self._facts[path] = Facts(fields, find_tags(fields, note.body))
        return self._facts[path]

    def find_mentions(self, path: str) -> list[str]:
        """Files that may link to the path: any link to it holds its name, plain or percent-encoded."""
        stem = path.rpartition("/")[2].rpartition(".")[0]
        spellings = {
            stem,
            stem.replace(" ", "%20"),
            quote(stem),
            quote(stem, safe=""),
            stem.replace("'", "''"),
        }
        found = {other for other in self.catalog.others if other.endswith((CANVAS_SUFFIX, BASE_SUFFIX))}
        for spelling in spellings:
            found |= self.texts.find(fold_text(spelling)).bodies
        return sorted(found)

    def close(self) -> None:
        with self._lock:
            self.catalog.close()

    def _refresh(self, *, text: bool) -> None:
        changes = self.catalog.refresh()
        for path in changes.gone:
            self._facts.pop(path, None)
            self.texts.remove(path)
        for path in changes.stale:
            self._facts.pop(path, None)
        if self._holds_texts:
            self._load(changes.stale)
        elif text:
            self._load(self.catalog.notes)
            self._holds_texts = True

    def _load(self, paths: Iterable[str]) -> None:
        """Read folder by folder; a note that cannot be read is not found, and no reason to fail."""
        by_folder: dict[str, list[str]] = {}
        for path in paths:
            by_folder.setdefault(posixpath.dirname(path), []).append(path)
        for folder, members in by_folder.items():
            with suppress(OSError), self._tree.folder(folder) as descriptor:
                for path in members:
                    try:
                        data = read_at(descriptor, posixpath.basename(path), path).data
                    except (OSError, Fault):
                        self.texts.remove(path)
                    else:
                        self.texts.put(path, text_of(path, data))
        self.texts.compact()


def fold_text(text: str) -> bytes:
    """Case and composition ignored; what a query and a note are compared as."""
    if text.isascii():
        return text.lower().encode()
    return unicodedata.normalize("NFC", text).casefold().encode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Text:
    """One note as it is searched."""

    title: bytes
    heads: bytes
    body: bytes


def text_of(path: str, data: bytes) -> Text:
    body = data.lower() if data.isascii() else fold_text(decode(data).text)
    title = fold_text(path[path.rfind("/") + 1 : path.rfind(".")])
    if body.startswith(b"---"):
        named = body.find(b"\ntitle:", 0, _FRONTMATTER_BYTES)
        title += body[named : body.find(b"\n", named + 1)] if named > 0 else b""
    return Text(title, b"".join(_heading_lines(body)), body)


def _heading_lines(body: bytes) -> Iterator[bytes]:
    """Found by their marks alone; good enough to rank by."""
    place = 0 if body.startswith(b"#") else body.find(b"\n#")
    while place >= 0:
        end = body.find(b"\n", place + 1)
        yield body[place:] if end < 0 else body[place:end]
        place = body.find(b"\n#", end) if end >= 0 else -1


@dataclass(slots=True)
class Hits:
    titles: set[str] = field(default_factory=set)
    heads: set[str] = field(default_factory=set)
    bodies: set[str] = field(default_factory=set)


class Texts:
    """All text in a few large segments that are searched fast, and loose notes that changed lately."""

    def __init__(self) -> None:
        self._segments: list[_Segment] = []
        self._place: dict[str, tuple[_Segment, int]] = {}
        self._loose: dict[str, Text] = {}

    def __len__(self) -> int:
        return len(self._place) + len(self._loose)

    def put(self, path: str, text: Text) -> None:
        self.remove(path)
        self._loose[path] = text
        if len(self._loose) >= SEGMENT_NOTES:
            self._pack()

    def compact(self) -> None:
        """After a batch: loose notes are searched one by one, so only a few may stay."""
        if len(self._loose) > _LOOSE_NOTES:
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
        for found in _POOL.map(lambda segment: segment.find(needle), self._segments):
            hits.titles |= found.titles
            hits.heads |= found.heads
            hits.bodies |= found.bodies
        for path, text in self._loose.items():
            if needle in text.title:
                hits.titles.add(path)
            if needle in text.heads:
                hits.heads.add(path)
            if needle in text.body:
                hits.bodies.add(path)
        return hits

    def bodies(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Folded text by path, for patterns that cannot be found in one go."""
        for path in paths:
            if path in self._loose:
                yield path, self._loose[path].body
            elif path in self._place:
                segment, number = self._place[path]
                yield path, segment.bodies.get(number)

    def _pack(self) -> None:
        segment = _Segment(self._loose)
        self._segments.append(segment)
        self._place.update((path, (segment, number)) for number, path in enumerate(self._loose))
        self._loose = {}

    def _unpack(self, segment: _Segment) -> None:
        self._segments.remove(segment)
        for number, path in enumerate(segment.paths):
            if path is not None:
                del self._place[path]
                self._loose[path] = Text(
                    segment.titles.get(number), segment.heads.get(number), segment.bodies.get(number)
                )


class _Segment:
    """Many notes packed; those that were removed since have no path any more."""

    def __init__(self, texts: dict[str, Text]) -> None:
        self.paths: list[str | None] = list(texts)
        self.living = len(texts)
        self.titles = _Layer([text.title for text in texts.values()])
        self.heads = _Layer([text.heads for text in texts.values()])
        self.bodies = _Layer([text.body for text in texts.values()])

    def find(self, needle: bytes) -> Hits:
        layers = (self.titles, self.heads, self.bodies)
        return Hits(
            *({path for number in layer.find(needle) if (path := self.paths[number])} for layer in layers)
        )


class _Layer:
    """Many texts as one, searched by the C library: three times faster than bytes.find here, and other
    threads run meanwhile.
    """

    def __init__(self, parts: list[bytes]) -> None:
        self._data = _SEPARATOR.join(parts)
        self._address = ctypes.cast(ctypes.c_char_p(self._data), ctypes.c_void_p).value or 0
        self._starts = [0, *itertools.accumulate(len(part) + 1 for part in parts)]

    def find(self, needle: bytes) -> list[int]:
        """The number of each text that holds the needle, once."""
        found: list[int] = []
        starts, place = self._starts, self._find_from(needle, 0)
        while place >= 0:
            number = bisect.bisect_right(starts, place) - 1
            found.append(number)
            if number + 2 == len(starts):
                break
            if len(found) == _DENSE and number < 2 * _DENSE:
                return found + self._find_each(needle, number + 1)
            place = self._find_from(needle, starts[number + 1])
        return found

    def get(self, number: int) -> bytes:
        return self._data[self._starts[number] : self._starts[number + 1] - 1]

    def _find_from(self, needle: bytes, start: int) -> int:
        if _memmem is None:
            return self._data.find(needle, start)
        found = _memmem(self._address + start, len(self._data) - start, needle, len(needle))
        return -1 if found is None else int(found) - self._address

    def _find_each(self, needle: bytes, first: int) -> list[int]:
        """Text by text: faster than jumping where almost every one holds it."""
        find = self._data.find
        bounds = itertools.pairwise(self._starts[first:])
        return [
            number for number, (start, end) in enumerate(bounds, first) if find(needle, start, end - 1) >= 0
        ]
