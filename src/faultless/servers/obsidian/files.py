"""The vault's files, reached folder by folder from an open descriptor, so no link is ever followed.

Reading, locking, and the two renames Python does not offer: onto a free name only, and an exchange.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import posixpath
import shutil
import stat
import time
import weakref
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from faultless.servers.obsidian import faults

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MOST_NOTE_BYTES = 16 << 20
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LOCK_DEADLINE_SECONDS = 20.0
_LOCK_PAUSE_SECONDS = 0.005
_NO_ENTRY = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES})
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: a pipe put in a note's place must not make us wait for its other end.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LIBC = ctypes.CDLL(None, use_errno=True)
_NO_REPLACE = 1
_EXCHANGE = 2
_NOT_HERE = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM})


@dataclass(frozen=True, slots=True)
class Content:
    data: bytes
    status: os.stat_result


class Tree:
    """Paths are relative to the vault, with slashes, without dots; the caller has checked them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        try:
            self.descriptor = os.open(root, _FOLDER)
        except OSError as error:
            raise faults.explain(error, "the vault") from error
        self._close = weakref.finalize(self, os.close, self.descriptor)

    def close(self) -> None:
        self._close()

    def require_present(self) -> None:
        """The folder at the vault's path must still be the one we opened."""
        try:
            there = self.root.stat()
        except OSError as error:
            raise faults.vanished() from error
        if not os.path.samestat(there, os.fstat(self.descriptor)):
            raise faults.vanished()

    @contextmanager
    def folder(self, path: str, *, create: bool = False) -> Iterator[int]:
        """A descriptor of the folder; made with its parents where asked."""
        here = os.dup(self.descriptor)
        try:
            for name in path.split("/") if path else ():
                if name in {"", ".", ".."}:
                    raise OSError(errno.EACCES, os.strerror(errno.EACCES))
                inner = _enter(name, here, create=create)
                os.close(here)
                here = inner
            yield here
        finally:
            os.close(here)

    @contextmanager
    def parent(self, path: str, *, create: bool = False) -> Iterator[tuple[int, str]]:
        with self.folder(posixpath.dirname(path), create=create) as folder:
            yield folder, posixpath.basename(path)

    def visit(self, path: str, enter: Callable[[int, str], list[str]], lose: Callable[[str], object]) -> None:
        """A folder and all below it that `enter` names; `lose` is told of those that cannot be entered."""
        pending = [path]
        while pending:
            here = pending.pop()
            try:
                with self.folder(here) as folder:
                    pending += enter(folder, here)
            except OSError as error:
                if error.errno not in _NO_ENTRY:
                    raise
                lose(here)

    def read(self, path: str) -> Content:
        """The whole file; OSError where it is missing, Fault where it is no plain file or too large."""
        with self.parent(path) as (folder, name):
            return read_at(folder, name, path)

    def status(self, path: str) -> os.stat_result | None:
        try:
            with self.parent(path) as (folder, name):
                return os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError as error:
            if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}:
                return None
            raise

    @contextmanager
    def locked(self, *, wait: bool = True) -> Iterator[bool]:
        """Keep every other writer out, threads and processes alike; yields whether the lock was had.

        The lock is on the vault's folder itself: no lock file to leave behind or to delete by mistake,
        and the kernel drops it with the process.
        """
        own = os.open(".", _FOLDER, dir_fd=self.descriptor)
        try:
            yield _lock(own, _LOCK_DEADLINE_SECONDS if wait else 0)
        finally:
            os.close(own)


def read_at(folder: int, name: str, path: str) -> Content:
    before = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if not stat.S_ISREG(before.st_mode):  # never even open a device: some act on it
        raise faults.not_a_note(path, before.st_mode)
    descriptor = os.open(name, _FILE, dir_fd=folder)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise faults.not_a_note(path, status.st_mode)
        return Content(_read_whole(descriptor, status.st_size, path), status)
    finally:
        os.close(descriptor)


def _read_whole(descriptor: int, size: int, path: str) -> bytes:
    """One call where the size is as told; a file that grows meanwhile is read to its end."""
    data = os.read(descriptor, min(size, MOST_NOTE_BYTES) + 1)
    while data and len(data) != size and len(data) <= MOST_NOTE_BYTES:
        more = os.read(descriptor, 1 << 16)
        if not more:
            break
        data += more
    if len(data) > MOST_NOTE_BYTES:
        raise faults.too_large(path, max(size, len(data)), MOST_NOTE_BYTES)
    return data


def _enter(name: str, here: int, *, create: bool) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=here)
    except FileNotFoundError:
        if not create:
            raise
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=here)
        os.fsync(here)
    return os.open(name, _FOLDER, dir_fd=here)


def _lock(descriptor: int, patience_seconds: float) -> bool:
    deadline = time.monotonic() + patience_seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if patience_seconds == 0:
                return False
            if time.monotonic() > deadline:
                raise faults.locked(patience_seconds) from None
            time.sleep(_LOCK_PAUSE_SECONDS)
        else:
            return True


def rename_new(old: str, new: str, *, old_folder: int, new_folder: int) -> None:
    """Rename onto a free name only: FileExistsError where it is taken, decided by the kernel."""
    try:
        _renameat2(old, new, old_folder, new_folder, _NO_REPLACE)
    except OSError as error:
        if error.errno not in _NOT_HERE:
            raise
        _rename_by_link(old, new, old_folder, new_folder)


def _rename_by_link(old: str, new: str, old_folder: int, new_folder: int) -> None:
    """A hard link refuses a taken name as well; for a moment both names exist."""
    try:
        os.link(old, new, src_dir_fd=old_folder, dst_dir_fd=new_folder, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NOT_HERE:
            raise
        # No links either (FAT): an empty file holds the name until the real one takes its place.
        os.close(os.open(new, _NEW_FILE, 0o666, dir_fd=new_folder))
        os.rename(old, new, src_dir_fd=old_folder, dst_dir_fd=new_folder)
    else:
        os.unlink(old, dir_fd=old_folder)


def exchange(one: str, other: str, *, folder: int) -> None:
    """Swap two files of a folder in one step, so that what was replaced is in hand, whatever it was."""
    try:
        _renameat2(one, other, folder, folder, _EXCHANGE)
    except OSError as error:
        if error.errno not in _NOT_HERE:
            raise
        aside = f"{one}.old"
        _link_or_copy(other, aside, folder)
        os.rename(one, other, src_dir_fd=folder, dst_dir_fd=folder)
        os.rename(aside, one, src_dir_fd=folder, dst_dir_fd=folder)


def _link_or_copy(old: str, new: str, folder: int) -> None:
    try:
        os.link(old, new, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NOT_HERE:
            raise
        source = os.open(old, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        with os.fdopen(source, "rb") as reader:
            copy = os.open(new, _NEW_FILE, 0o666, dir_fd=folder)
            with os.fdopen(copy, "wb") as writer:
                shutil.copyfileobj(reader, writer)


def _renameat2(old: str, new: str, old_folder: int, new_folder: int, flag: int) -> None:
    call = getattr(_LIBC, "renameat2", None)
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if call(old_folder, os.fsencode(old), new_folder, os.fsencode(new), flag) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), new)
