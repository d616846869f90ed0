"""Every file of the vault with its date and size, as of now: watched, or swept where that cannot be."""

from __future__ import annotations

import os
import posixpath
import stat
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from faultless.kit import log
from faultless.servers.obsidian.links import Lookup
from faultless.servers.obsidian.store import is_temp
from faultless.servers.obsidian.watch import Watcher, open_watcher

if TYPE_CHECKING:
    from faultless.servers.obsidian.files import Tree
    from faultless.servers.obsidian.scope import Scope

# A file written less than this before it was read may be written again without its date changing.
_SETTLED_AFTER_NS = 2_000_000_000


@dataclass(frozen=True, slots=True)
class Entry:
    modified_ns: int
    changed_ns: int
    size: int
    inode: int
    links: int
    settled: bool

    def is_same(self, other: Entry) -> bool:
        one = (self.modified_ns, self.changed_ns, self.size, self.inode)
        return one == (other.modified_ns, other.changed_ns, other.size, other.inode)


@dataclass(slots=True)
class Changes:
    """Notes whose text must be read again, and notes that are gone."""

    stale: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)


class Catalog:
    """`refresh` before reading anything else. Not for several threads at once: the vault holds a lock."""

    def __init__(self, tree: Tree, scope: Scope, *, watch: bool = True) -> None:
        self.notes: dict[str, Entry] = {}
        self.others: set[str] = set()
        self.leftovers: set[str] = set()
        self.lookup = Lookup(())
        self._tree = tree
        self._scope = scope
        self._folders: dict[str, set[str]] = {}
        self._linked: set[str] = set()
        self._device = os.fstat(tree.descriptor).st_dev
        self._watcher: Watcher | None = open_watcher(tree.root) if watch else None
        self._changes = Changes()
        self._scanned = False

    @property
    def is_watching(self) -> bool:
        return self._watcher is not None

    @property
    def is_cheap_to_refresh(self) -> bool:
        """Whether `refresh` need not look at every file."""
        return self._scanned and self.is_watching

    def close(self) -> None:
        if self._watcher is not None:
            self._watcher.close()
            self._watcher = None

    def has_folder(self, path: str) -> bool:
        return path in self._folders

    def folders_in(self, path: str) -> list[str]:
        """The visible folders directly in a folder."""
        inner = (posixpath.join(path, name) for name in self._folders.get(path, ()))
        return sorted(folder for folder in inner if folder in self._folders)

    def refresh(self) -> Changes:
        """Bring everything up to now and say what changed since the last call."""
        self._changes = Changes()
        dirty = self._watcher.drain() if self._watcher is not None else None
        if dirty is None or dirty.all or not self._scanned:
            self._scanned = True
            self._scan("")
            return self._changes
        for folder, name in dirty.names:
            if folder in self._folders:
                self._look(posixpath.join(folder, name))
        for path in list(self._linked):  # changed through another name, no event comes
            self._look(path)
        return self._changes

    def count_notes(self, *, watch: bool) -> int:
        """By names alone, in a fraction of a scan's time. With `watch` every folder is watched on the way, so
        that `is_watching` is final; without, nothing here is changed and any thread may ask.
        """
        count = 0

        def enter(folder: int, here: str) -> list[str]:
            nonlocal count
            if watch:
                self._watch(folder, here)
            prefix, folders = f"{here}/" if here else "", []
            with os.scandir(folder) as entries:
                for item in entries:
                    path = prefix + item.name
                    if not self._scope.can_see(path):
                        continue
                    if item.is_dir(follow_symlinks=False):
                        folders.append(path)
                    elif self._scope.is_note(path) and item.is_file(follow_symlinks=False):
                        count += 1
            return folders

        self._tree.visit("", enter, lambda _: None)
        return count

    def _scan(self, path: str) -> None:
        self._tree.visit(path, self._list, self._forget)

    def _list(self, folder: int, here: str) -> list[str]:
        """The watch is set before the list is made: what changes in between is queued."""
        self._watch(folder, here)
        known = self._folders.setdefault(here, set())
        found: set[str] = set()
        inner = []
        prefix = f"{here}/" if here else ""
        with os.scandir(folder) as entries:
            for item in entries:
                path = prefix + item.name
                if is_temp(item.name):
                    self.leftovers.add(path)
                elif self._scope.can_see(path):
                    found.add(item.name)
                    if item.is_dir(follow_symlinks=False):
                        self._forget_file(path)
                        inner.append(path)
                    else:
                        self._forget_folder(path)
                        self._put(path, item)
        for name in known - found:
            self._forget(prefix + name)
        self._folders[here] = found
        return inner

    def _look(self, path: str) -> None:
        """One name again, whatever it is by now."""
        folder, name = posixpath.split(path)
        if is_temp(name):
            self.leftovers.add(path)
            return
        if not self._scope.can_see(path):
            return
        try:
            status = self._tree.status(path)
        except OSError:
            status = None
        if status is None:
            self._forget(path)
            self._folders.get(folder, set()).discard(name)
            return
        self._folders.setdefault(folder, set()).add(name)
        if stat.S_ISDIR(status.st_mode):
            self._forget_file(path)
            self._scan(path)
        else:
            self._forget_folder(path)
            self._put_status(path, status, certain=True)

    def _put(self, path: str, item: os.DirEntry[str]) -> None:
        if not self._scope.is_note(path):
            if item.is_file(follow_symlinks=False):
                self._add_other(path)
            return
        try:
            self._put_status(path, item.stat(follow_symlinks=False), certain=False)
        except FileNotFoundError:
            self._forget(path)

    def _put_status(self, path: str, status: os.stat_result, *, certain: bool) -> None:
        """`certain`: an event says it changed, whatever its date says."""
        if not stat.S_ISREG(status.st_mode):
            self._forget(path)
            return
        if not self._scope.is_note(path):
            self._add_other(path)
            return
        old = self.notes.get(path)
        settled = time.time_ns() - status.st_mtime_ns > _SETTLED_AFTER_NS
        entry = Entry(
            status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_nlink, settled
        )
        linked = path in self._linked
        if old is None or not old.is_same(entry) or not old.settled or (certain and not linked):
            self._changes.stale.add(path)
            self._changes.gone.discard(path)
        if old is None:
            self.lookup.add(path)
        self.notes[path] = entry
        (self._linked.add if entry.links > 1 else self._linked.discard)(path)

    def _add_other(self, path: str) -> None:
        if path not in self.others:
            self.others.add(path)
            self.lookup.add(path)

    def _forget(self, path: str) -> None:
        self._forget_file(path)
        self._forget_folder(path)

    def _forget_file(self, path: str) -> None:
        if self.notes.pop(path, None) is not None:
            self._changes.gone.add(path)
            self._changes.stale.discard(path)
            self._linked.discard(path)
            self.lookup.remove(path)
        elif path in self.others:
            self.others.discard(path)
            self.lookup.remove(path)

    def _forget_folder(self, path: str) -> None:
        pending = [path]
        while pending:
            here = pending.pop()
            names = self._folders.pop(here, None)
            if names is None:
                continue
            if self._watcher is not None:
                self._watcher.drop(here)
            for name in names:
                inner = posixpath.join(here, name)
                self._forget_file(inner)
                pending.append(inner)

    def _watch(self, folder: int, path: str) -> None:
        if self._watcher is None:
            return
        reason: str | None = None
        if os.fstat(folder).st_dev == self._device:
            try:
                self._watcher.add(folder, path)
            except OSError as error:
                reason = error.strerror
        else:
            reason = "another file system is mounted in it"
        if reason is not None:
            log.warn("the vault cannot be watched and is swept at each call", reason=reason)
            self.close()
