"""The vault's files, reached folder by folder from an open descriptor, so no link is ever followed."""

from __future__ import annotations

import errno
import fcntl
import os
import posixpath
import stat
import time
import weakref
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind
from faultless.servers.obsidian.faults import explain, vanished

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MOST_NOTE_BYTES = 16 << 20
LOCK_DEADLINE_SECONDS = 20.0
_LOCK_PAUSE_SECONDS = 0.005
_NO_ENTRY = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES})
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: a pipe put in a note's place must not make us wait for its other end.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


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
            raise explain(error, "the vault") from error
        self._close = weakref.finalize(self, os.close, self.descriptor)

    def close(self) -> None:
        self._close()

    def require_present(self) -> None:
        """The folder at the vault's path must still be the one we opened."""
        try:
            there = self.root.stat()
        except OSError as error:
            raise vanished() from error
        if not os.path.samestat(there, os.fstat(self.descriptor)):
            raise vanished()

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
            yield _lock(own, LOCK_DEADLINE_SECONDS if wait else 0)
        finally:
            os.close(own)


def read_at(folder: int, name: str, path: str) -> Content:
    before = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if not stat.S_ISREG(before.st_mode):  # never even open a device: some act on it
        raise not_a_note(path, before.st_mode)
    descriptor = os.open(name, _FILE, dir_fd=folder)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise not_a_note(path, status.st_mode)
        return Content(_read_whole(descriptor, status.st_size, path), status)
    finally:
        os.close(descriptor)


def _read_whole(descriptor: int, size: int, path: str) -> bytes:
    """One call where the size is as told; a file that grows meanwhile is read to its end."""
    data = os.read(descriptor, min(size, MOST_NOTE_BYTES) + 1)
    while len(data) > size or (data and len(data) < size):
        if len(data) > MOST_NOTE_BYTES:
            raise too_large(path, max(size, len(data)))
        more = os.read(descriptor, 1 << 16)
        if not more:
            break
        data += more
    if len(data) > MOST_NOTE_BYTES:
        raise too_large(path, max(size, len(data)))
    return data


def not_a_note(path: str, mode: int) -> Fault:
    if stat.S_ISDIR(mode):
        return Fault(FaultKind.INVALID_PARAMS, f"{path} is a folder", hint="name a note in it, or list_notes")
    return Fault(
        FaultKind.PERMISSION_DENIED, f"{path} is a link, a device or a pipe", hint="name a regular note"
    )


def too_large(path: str, size: int) -> Fault:
    return Fault(
        FaultKind.TOO_LARGE,
        f"{path} has {size} bytes; notes up to {MOST_NOTE_BYTES} bytes are served",
        hint="split the note",
    )


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
                raise Fault(
                    FaultKind.UNAVAILABLE,
                    f"another program has held the vault's lock for {patience_seconds:.0f} seconds",
                    hint="call again; if it stays so, stop the other server on this vault",
                ) from None
            time.sleep(_LOCK_PAUSE_SECONDS)
        else:
            return True
