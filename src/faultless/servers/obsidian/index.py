"""What the vault holds, fresh at every call: files, folded text, frontmatter and tags."""

from __future__ import annotations

import posixpath
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from faultless.contract import Fault, Json
from faultless.servers.obsidian import frontmatter
from faultless.servers.obsidian.catalog import Catalog
from faultless.servers.obsidian.note import Note
from faultless.servers.obsidian.tags import find_tags
from faultless.servers.obsidian.texts import Texts, text_of
from faultless.servers.obsidian.tree import Tree, read_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from faultless.servers.obsidian.scope import Scope


@dataclass(frozen=True, slots=True)
class Facts:
    fields: dict[str, Json]
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Census:
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

    def take_census(self) -> Census:
        """Never waits for another call, nor reads a note: a server that is reading 50,000 notes for its first
        search, or has yet to begin, is well.
        """
        self._tree.require_present()
        if not self._lock.acquire(blocking=False):
            return self._census(self.catalog.count_notes(watch=False))
        try:
            if not self.catalog.is_cheap_to_refresh:
                return self._census(self.catalog.count_notes(watch=True))
            self._refresh(text=False)
            return self._census(len(self.catalog.notes))
        finally:
            self._lock.release()

    def _census(self, notes: int) -> Census:
        return Census(notes, len(self.texts), is_watched=self.catalog.is_watching)

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

    def facts(self, path: str) -> Facts:
        """Frontmatter and tags; corrupt frontmatter has no fields here."""
        found = self._facts.get(path)
        if found is None:
            found = self._facts[path] = self._read_facts(path)
        return found

    def close(self) -> None:
        with self._lock:
            self.catalog.close()

    def _read_facts(self, path: str) -> Facts:
        try:
            note = Note.parse(self._tree.read(path).data)
        except (OSError, Fault):
            return Facts({}, ())
        fields = frontmatter.glance(note.yaml)
        return Facts(fields, find_tags(fields, note.body))

    def _load(self, paths: Iterable[str]) -> None:
        """Read folder by folder; a note that cannot be read is not found, and no reason to fail."""
        by_folder: dict[str, list[str]] = {}
        for path in paths:
            by_folder.setdefault(posixpath.dirname(path), []).append(path)
        for folder, members in by_folder.items():
            with suppress(OSError), self._tree.folder(folder) as descriptor:
                for path in members:
                    self._load_one(descriptor, path)
        self.texts.settle()

    def _load_one(self, folder: int, path: str) -> None:
        try:
            data = read_at(folder, posixpath.basename(path), path).data
        except (OSError, Fault):
            self.texts.remove(path)
            return
        self.texts.put(path, text_of(path, data))
