"""inotify on every folder of the vault: the kernel queues an event inside the call that changes a file,
so whoever drains the queue before answering has missed nothing.
"""

from __future__ import annotations

import errno
import os
import struct
import weakref
from dataclasses import dataclass, field
from pathlib import Path

from faultless.servers.obsidian import kernel
from faultless.servers.obsidian.kernel import Event

_HEAD = struct.Struct("iIII")
_BUFFER_BYTES = 1 << 16
_MOUNTS = Path("/proc/self/mountinfo")
# File systems whose changes all pass through this kernel; on others inotify sees only our own.
_LOCAL = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "jfs", "bcachefs", "nilfs2"})
_LOCAL |= {"tmpfs", "ramfs", "overlay", "vfat", "exfat", "ntfs3"}


@dataclass(slots=True)
class Dirty:
    """Names to look at again, by folder; `all` when the queue overflowed."""

    names: dict[tuple[str, str], None] = field(default_factory=dict)
    all: bool = False


class Watcher:
    def __init__(self) -> None:
        self._inotify = kernel.open_inotify()
        self._close = weakref.finalize(self, os.close, self._inotify)  # a user has few of them, often 128
        self._folders: dict[int, str] = {}
        self._watches: dict[str, int] = {}

    def close(self) -> None:
        self._close()

    def add(self, folder: int, path: str) -> None:
        """Watch first, list afterwards: what changes in between is queued."""
        watch = kernel.add_watch(self._inotify, folder)
        old = self._folders.get(watch)
        if old is not None and old != path:  # the same folder under a new name
            self._watches.pop(old, None)
        self._folders[watch] = path
        self._watches[path] = watch

    def drop(self, path: str) -> None:
        watch = self._watches.pop(path, None)
        if watch is not None and self._folders.get(watch) == path:
            del self._folders[watch]
            kernel.remove_watch(self._inotify, watch)

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
            if mask & (Event.OVERFLOW | Event.UNMOUNT):
                dirty.all = True
            path = self._folders.get(watch)
            if mask & Event.IGNORED:
                self._forget(watch)
            elif path is not None and length:
                name = data[place - length : place].rstrip(b"\0")
                dirty.names[path, os.fsdecode(name)] = None

    def _forget(self, watch: int) -> None:
        path = self._folders.pop(watch, None)
        if path is not None and self._watches.get(path) == watch:
            del self._watches[path]


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
