"""inotify on every folder of the vault: the kernel queues an event inside the call that changes a file,
so whoever drains the queue before answering has missed nothing.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import weakref
from dataclasses import dataclass, field
from enum import IntFlag
from pathlib import Path

_LIBC = ctypes.CDLL(None, use_errno=True)
_HEAD = struct.Struct("iIII")
_BUFFER_BYTES = 1 << 16
_MOUNTS = Path("/proc/self/mountinfo")
# File systems whose changes all pass through this kernel; on others inotify sees only our own.
_LOCAL = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "jfs", "bcachefs", "nilfs2"})
_LOCAL |= {"tmpfs", "ramfs", "overlay", "vfat", "exfat", "ntfs3"}


class _Event(IntFlag):
    MODIFY = 0x2
    ATTRIB = 0x4
    MOVED_FROM = 0x40
    MOVED_TO = 0x80
    CREATE = 0x100
    DELETE = 0x200
    DELETE_SELF = 0x400
    MOVE_SELF = 0x800
    UNMOUNT = 0x2000
    OVERFLOW = 0x4000
    IGNORED = 0x8000


_ONLY_FOLDER = 0x01000000
_DONT_FOLLOW = 0x02000000
_WATCHED = (
    _Event.MODIFY | _Event.ATTRIB | _Event.MOVED_FROM | _Event.MOVED_TO | _Event.CREATE | _Event.DELETE
    | _Event.DELETE_SELF | _Event.MOVE_SELF
)  # fmt: skip


def add_watch(inotify: int, folder: int) -> int:
    """Watch a folder that is already open, so no name is looked up a second time."""
    path = f"/proc/self/fd/{folder}/."
    watch: int = _LIBC.inotify_add_watch(
        inotify, os.fsencode(path), ctypes.c_uint32(_WATCHED | _ONLY_FOLDER | _DONT_FOLLOW)
    )
    if watch < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return watch


@dataclass(slots=True)
class Dirty:
    """Names to look at again, by folder; `all` when the queue overflowed."""

    names: dict[tuple[str, str], None] = field(default_factory=dict)
    all: bool = False


class Watcher:
    def __init__(self) -> None:
        """OSError where the system has no inotify or no room for one."""
        open_inotify = getattr(_LIBC, "inotify_init1", None)
        if open_inotify is None:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        self._inotify: int = open_inotify(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._inotify < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        self._close = weakref.finalize(self, os.close, self._inotify)  # a user has few of them, often 128
        self._folders: dict[int, str] = {}
        self._watches: dict[str, int] = {}

    def close(self) -> None:
        self._close()

    def add(self, folder: int, path: str) -> None:
        """Watch first, list afterwards: what changes in between is queued."""
        watch = add_watch(self._inotify, folder)
        old = self._folders.get(watch)
        if old is not None and old != path:  # the same folder under a new name
            self._watches.pop(old, None)
        self._folders[watch] = path
        self._watches[path] = watch

    def drop(self, path: str) -> None:
        watch = self._watches.pop(path, None)
        if watch is not None and self._folders.get(watch) == path:
            del self._folders[watch]
            _LIBC.inotify_rm_watch(self._inotify, watch)  # fails only if the kernel removed it already

    def drain(self) -> Dirty:
        dirty = Dirty()
        while True:
            try:
                data = os.read(self._inotify, _BUFFER_BYTES)
            except BlockingIOError:
                return dirty
            self._collect(data, dirty)

    def _collect(self, data: bytes, dirty: Dirty) -> None:
        place = 0
        while place < len(data):
            watch, mask, _, length = _HEAD.unpack_from(data, place)
            place += _HEAD.size + length
            if mask & (_Event.OVERFLOW | _Event.UNMOUNT):
                dirty.all = True
            path = self._folders.get(watch)
            if mask & _Event.IGNORED:
                gone = self._folders.pop(watch, None)
                if gone is not None and self._watches.get(gone) == watch:
                    del self._watches[gone]
            elif path is not None and length:
                name = data[place - length : place].rstrip(b"\0")
                dirty.names[path, os.fsdecode(name)] = None


def open_watcher(root: Path) -> Watcher | None:
    """A watcher, or None where watching would miss changes."""
    if file_system_of(root) not in _LOCAL:
        return None
    try:
        return Watcher()
    except OSError as error:
        if error.errno in {errno.ENOSYS, errno.EMFILE, errno.ENFILE, errno.ENOSPC}:
            return None
        raise


def file_system_of(path: Path) -> str:
    """The type of the mount the path lies on, as the kernel tells it; empty where it does not."""
    try:
        with _MOUNTS.open(encoding="utf-8", errors="surrogateescape") as mounts:
            rows = [line.split(" - ", 1) for line in mounts]
    except OSError:
        return ""
    device = path.stat().st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    kinds = [row[1].split()[0] for row in rows if len(row) > 1 and row[0].split()[2] == wanted]
    return kinds[-1] if kinds else _kind_by_prefix(path, rows)


def _kind_by_prefix(path: Path, rows: list[list[str]]) -> str:
    """For file systems whose folders have device numbers of their own (btrfs): the longest mount point."""
    best, kind = "", ""
    for row in rows:
        point = row[0].split()[4].replace("\\040", " ")
        inside = point == "/" or str(path) == point or str(path).startswith(point + "/")
        if inside and len(point) >= len(best) and len(row) > 1:
            best, kind = point, row[1].split()[0]
    return kind
