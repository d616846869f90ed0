"""Changing notes so that each is always whole and old or whole and new, whatever happens meanwhile.

New content is written beside the old and exchanged with it in one step; what comes out is compared with what
was read, then kept in the trash.
"""

from __future__ import annotations

import json
import os
import secrets
import stat
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from faultless.contract import Fault
from faultless.durable import write_atomically, write_new
from faultless.kit import log
from faultless.servers.obsidian import faults, files
from faultless.servers.obsidian.faults import explained
from faultless.servers.obsidian.files import MOST_NOTE_BYTES, Content, Tree, read_at
from faultless.servers.obsidian.note import version_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_TEMP_PREFIX = ".faultless-"
_TEMP_SUFFIX = ".tmp"
_TRASH = ".trash/faultless"
_JOURNAL = "journal.json"
_RECOUNT_EVERY = 100
_NEW_NOTE_MODE = 0o666  # less what the umask takes, as for any program of this user


def is_temp(name: str) -> bool:
    return name.startswith(_TEMP_PREFIX)


class Store:
    """Changes happen inside `writing`, which keeps other servers out and finishes their broken moves."""

    def __init__(self, tree: Tree, trash: Trash) -> None:
        self.tree = tree
        self._trash = trash
        self._journal = Journal(tree)

    @contextmanager
    def writing(self) -> Iterator[None]:
        self.tree.require_present()
        with explained("the vault"), self.tree.locked():
            self._recover()
            yield

    def recover_if_free(self) -> None:
        """For readers: finish a move whose server was killed, unless somebody is at work."""
        if self._journal.exists():
            with explained("the vault"), self.tree.locked(wait=False) as had:
                if had:
                    self._recover()

    def read(self, path: str) -> Content:
        with explained(path):
            return self.tree.read(path)

    def create(self, path: str, data: bytes) -> None:
        """A new note; a taken name is a conflict, decided by the kernel."""
        with explained(path), self.tree.parent(path, create=True) as (folder, name):
            temp = self._stage(folder, data, like=None, path=path)
            try:
                files.rename_new(temp, name, old_folder=folder, new_folder=folder)
            except OSError:
                _discard(folder, temp)
                raise
            os.fsync(folder)

    def replace(self, path: str, data: bytes, seen: Content) -> None:
        """New content for a note; if it is no longer what was seen, it stays and this is a conflict."""
        with explained(path), self.tree.parent(path) as (folder, name):
            self._trash.require_room()
            temp = self._stage(folder, data, like=seen, path=path)
            self._swap(folder, temp, name, path, version_of(seen.data))
            try:
                os.fsync(folder)
                self._trash.take(folder, temp, path)
            except OSError:  # no room even for that: a fault must mean that nothing changed
                files.exchange(temp, name, folder=folder)
                _discard(folder, temp)
                raise

    def move(self, rename: Rename, seen: Content, rewrites: Mapping[str, tuple[Content, bytes]]) -> None:
        """Rewrite these notes and rename one: all of it, or nothing, also across a kill."""
        arriving = rewrites[rename.old][1] if rename.old in rewrites else seen.data
        with explained(rename.new):
            self._trash.require_room()
            staged: list[Rewrite] = []
            try:
                for path, (old, data) in rewrites.items():
                    with self.tree.parent(path) as (folder, _):
                        temp = self._stage(folder, data, like=old, path=path)
                    staged.append(Rewrite(path, temp, version_of(old.data), version_of(data)))
                transaction = Transaction(rename, tuple(staged), version_of(arriving))
                self._journal.begin(transaction)
            except (OSError, Fault):
                self._drop(staged)
                raise
            try:
                self._carry_out(transaction)
            except (OSError, Fault):
                self._journal.turn_back(transaction)
                self._undo(transaction)
                raise
            self._finish(transaction)

    def sweep(self, paths: list[str]) -> None:
        """Leftovers of killed writers hold half a new note or a whole old one: the trash takes both."""
        for path in paths:
            with suppress(OSError), self.tree.parent(path) as (folder, name):
                self._trash.take(folder, name, path)

    @staticmethod
    def _stage(folder: int, data: bytes, *, like: Content | None, path: str) -> str:
        """The new content beside the old, on disk for certain, with its mode and owner."""
        if len(data) > MOST_NOTE_BYTES:
            raise faults.too_large(path, len(data), MOST_NOTE_BYTES)
        temp = f"{_TEMP_PREFIX}{secrets.token_hex(8)}{_TEMP_SUFFIX}"
        write_new(temp, data, folder=folder, mode=_NEW_NOTE_MODE, like=like.status if like else None)
        return temp

    def _swap(self, folder: int, temp: str, name: str, path: str, expected: str) -> None:
        """After the swap the temp name holds what the note was at that instant, so nothing slips between."""
        try:
            files.exchange(temp, name, folder=folder)
        except OSError:
            _discard(folder, temp)
            raise
        found = _version_at(folder, temp, path)
        if found == expected:
            return
        files.exchange(temp, name, folder=folder)
        self._trash.take(folder, temp, path)
        raise faults.changed_meanwhile(path, found)

    def _carry_out(self, transaction: Transaction) -> None:
        for rewrite in transaction.rewrites:
            with self.tree.parent(rewrite.path) as (folder, name):
                files.exchange(rewrite.temp, name, folder=folder)
                found = _version_at(folder, rewrite.temp, rewrite.path)
                os.fsync(folder)
            if found != rewrite.old:
                raise faults.changed_meanwhile(rewrite.path, found)
        self._rename(transaction.rename.old, transaction.rename.new)

    def _rename(self, old: str, new: str) -> None:
        with (
            self.tree.parent(old) as (source, old_name),
            self.tree.parent(new, create=True) as (goal, new_name),
        ):
            files.rename_new(old_name, new_name, old_folder=source, new_folder=goal)
            os.fsync(goal)
            os.fsync(source)

    def _undo(self, transaction: Transaction) -> None:
        """Put back what stands as we wrote it; what somebody else wrote since is theirs and stays."""
        rename = transaction.rename
        moved = self._version(rename.new)
        if moved is not None and moved == transaction.version_moved and self._version(rename.old) is None:
            self._rename(rename.new, rename.old)
        for rewrite in transaction.rewrites:
            if self._version(rewrite.path) == rewrite.new:
                self._exchange(rewrite)
        self._finish(transaction)

    def _redo(self, transaction: Transaction) -> None:
        rename = transaction.rename
        for rewrite in transaction.rewrites:
            here, aside = self._version(rewrite.path), None
            with suppress(OSError, Fault), self.tree.parent(rewrite.path) as (folder, _):
                aside = _version_at(folder, rewrite.temp, rewrite.path)
            waiting = here == rewrite.old and aside == rewrite.new
            # The swap took an edit nobody had seen: the killed server had no time to put it back.
            took_too_much = here == rewrite.new and aside not in {rewrite.old, rewrite.new, None}
            if waiting or took_too_much:
                self._exchange(rewrite)
        if self._version(rename.new) is None and self._version(rename.old) is not None:
            self._rename(rename.old, rename.new)
        self._finish(transaction)

    def _recover(self) -> None:
        found = self._journal.load()
        if found is None:
            return
        transaction, forward = found
        log.warn("finishing a move that was cut off", source=transaction.rename.old, forward=forward)
        (self._redo if forward else self._undo)(transaction)

    def _finish(self, transaction: Transaction) -> None:
        self._journal.end()
        self._drop(transaction.rewrites)

    def _drop(self, rewrites: Sequence[Rewrite]) -> None:
        for rewrite in rewrites:
            with suppress(OSError), self.tree.parent(rewrite.path) as (folder, _):
                self._trash.take(folder, rewrite.temp, rewrite.path)

    def _exchange(self, rewrite: Rewrite) -> None:
        with self.tree.parent(rewrite.path) as (folder, name):
            files.exchange(rewrite.temp, name, folder=folder)
            os.fsync(folder)

    def _version(self, path: str) -> str | None:
        try:
            return version_of(self.tree.read(path).data)
        except (OSError, Fault):
            return None


def _version_at(folder: int, name: str, path: str) -> str:
    try:
        return version_of(read_at(folder, name, path).data)
    except Fault:
        return "not a plain note any more"
    except OSError as error:
        raise faults.explain(error, path) from error


def _discard(folder: int, temp: str) -> None:
    with suppress(OSError):
        os.unlink(temp, dir_fd=folder)


@dataclass(frozen=True, slots=True)
class Rename:
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Rewrite:
    """`temp` lies beside `path` and holds version `new` before the swap, version `old` after it."""

    path: str
    temp: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Transaction:
    rename: Rename
    rewrites: tuple[Rewrite, ...]
    version_moved: str
    """What the moved note holds when it arrives."""


class Journal:
    """At most one transaction, in the trash folder; to be used under the vault's lock."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def exists(self) -> bool:
        return self._tree.status(f"{_TRASH}/{_JOURNAL}") is not None

    def begin(self, transaction: Transaction) -> None:
        """From here on the move will be completed, by us or by whoever comes next."""
        self._write(transaction, forward=True)

    def turn_back(self, transaction: Transaction) -> None:
        """From here on it will be undone."""
        self._write(transaction, forward=False)

    def end(self) -> None:
        with self._tree.folder(_TRASH) as folder:
            with suppress(FileNotFoundError):
                os.unlink(_JOURNAL, dir_fd=folder)
            os.fsync(folder)

    def load(self) -> tuple[Transaction, bool] | None:
        try:
            with self._tree.folder(_TRASH) as folder:
                found = json.loads(read_at(folder, _JOURNAL, f"{_TRASH}/{_JOURNAL}").data)
        except FileNotFoundError:
            return None
        except ValueError:  # not ours: we only ever put a whole one in place
            log.error("the move journal cannot be read and is left alone")
            return None
        rewrites = tuple(Rewrite(**rewrite) for rewrite in found["rewrites"])
        transaction = Transaction(Rename(**found["rename"]), rewrites, found["version_moved"])
        return transaction, found["forward"]

    def _write(self, transaction: Transaction, *, forward: bool) -> None:
        data = json.dumps({**asdict(transaction), "forward": forward}).encode()
        with self._tree.folder(_TRASH, create=True) as folder:
            write_atomically(Path(_JOURNAL), data, folder=folder)


class Trash:
    """Bounded in bytes; what is thrown away lies under its own path, so a person can put it back."""

    def __init__(self, tree: Tree, most_bytes: int) -> None:
        self._tree = tree
        self._most_bytes = most_bytes
        self._bytes = 0
        self._until_recount = 0

    def require_room(self) -> None:
        """Fail before anything is replaced if the trash cannot be used."""
        with self._tree.folder(_TRASH, create=True):
            pass

    def take(self, folder: int, name: str, path: str) -> None:
        """Move a file of an open folder here, under the path it had in the vault."""
        size = os.stat(name, dir_fd=folder, follow_symlinks=False).st_size
        with self._tree.folder(_TRASH, create=True) as trash:
            moment = _make_folder(trash)
            with self._tree.parent(f"{_TRASH}/{moment}/{path}", create=True) as (place, base):
                files.rename_new(name, base, old_folder=folder, new_folder=place)
            self._bytes += size
            self._until_recount -= 1
            if self._bytes > self._most_bytes or self._until_recount <= 0:
                self._prune(trash, keep=moment)

    def _prune(self, trash: int, keep: str) -> None:
        moments = sorted(name for name in os.listdir(trash) if name[0].isdigit())
        sizes = {name: _weigh(trash, name) for name in moments}
        total = sum(sizes.values())
        for name in moments:
            if total <= self._most_bytes or name == keep:
                break
            _remove(trash, name)
            total -= sizes[name]
        self._bytes = total
        self._until_recount = _RECOUNT_EVERY


def _make_folder(trash: int) -> str:
    """Named after this moment, which no other has."""
    while True:
        name = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=trash)
            return name


def _weigh(folder: int, name: str) -> int:
    total = 0
    for _, _, inner, here in os.fwalk(name, dir_fd=folder, follow_symlinks=False):
        total += sum(os.stat(file, dir_fd=here, follow_symlinks=False).st_size for file in inner)
    return total


def _remove(folder: int, name: str) -> None:
    for _, folders, plain, here in os.fwalk(name, dir_fd=folder, topdown=False, follow_symlinks=False):
        for file in plain:
            os.unlink(file, dir_fd=here)
        for inner in folders:
            status = os.stat(inner, dir_fd=here, follow_symlinks=False)
            remove = os.rmdir if stat.S_ISDIR(status.st_mode) else os.unlink
            remove(inner, dir_fd=here)
    os.rmdir(name, dir_fd=folder)
