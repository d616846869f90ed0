"""The few system calls Python does not offer; each says plainly when the system lacks it."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
from enum import IntFlag

_LIBC = ctypes.CDLL(None, use_errno=True)
_NO_REPLACE = 1
_EXCHANGE = 2
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
NOT_HERE = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM})


def rename_new(old: str, new: str, *, old_folder: int, new_folder: int) -> None:
    """Rename onto a free name only: FileExistsError where it is taken, decided by the kernel."""
    try:
        _renameat2(old, new, old_folder, new_folder, _NO_REPLACE)
    except OSError as error:
        if error.errno not in NOT_HERE:
            raise
        _rename_by_link(old, new, old_folder, new_folder)


def _rename_by_link(old: str, new: str, old_folder: int, new_folder: int) -> None:
    """A hard link refuses a taken name as well; for a moment both names exist."""
    try:
        os.link(old, new, src_dir_fd=old_folder, dst_dir_fd=new_folder, follow_symlinks=False)
    except OSError as error:
        if error.errno not in NOT_HERE:
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
        if error.errno not in NOT_HERE:
            raise
        aside = f"{one}.old"
        _link_or_copy(other, aside, folder)
        os.rename(one, other, src_dir_fd=folder, dst_dir_fd=folder)
        os.rename(aside, one, src_dir_fd=folder, dst_dir_fd=folder)


def _link_or_copy(old: str, new: str, folder: int) -> None:
    try:
        os.link(old, new, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        if error.errno not in NOT_HERE:
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


class Event(IntFlag):
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
    IS_FOLDER = 0x40000000


_ONLY_FOLDER = 0x01000000
_DONT_FOLLOW = 0x02000000
_WATCHED = (
    Event.MODIFY | Event.ATTRIB | Event.MOVED_FROM | Event.MOVED_TO | Event.CREATE | Event.DELETE
    | Event.DELETE_SELF | Event.MOVE_SELF
)  # fmt: skip


def open_inotify() -> int:
    """A descriptor that does not block; OSError where the system has no inotify or no room for one."""
    call = getattr(_LIBC, "inotify_init1", None)
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    descriptor: int = call(os.O_NONBLOCK | os.O_CLOEXEC)
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return descriptor


def add_watch(inotify: int, folder: int) -> int:
    """Watch a folder that is already open, so no name is looked up a second time."""
    path = f"/proc/self/fd/{folder}/."
    watch: int = _LIBC.inotify_add_watch(
        inotify, os.fsencode(path), ctypes.c_uint32(_WATCHED | _ONLY_FOLDER | _DONT_FOLLOW)
    )
    if watch < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return watch


def remove_watch(inotify: int, watch: int) -> None:
    _LIBC.inotify_rm_watch(inotify, watch)  # fails only if the kernel removed it already


_memmem = getattr(_LIBC, "memmem", None)
if _memmem is not None:
    _memmem.restype = ctypes.c_void_p
    _memmem.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]


class Haystack:
    """Bytes that are searched often: the C library's search is three times faster than bytes.find here,
    and other threads run meanwhile.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._address = ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0

    def find(self, needle: bytes, start: int = 0) -> int:
        if _memmem is None:
            return self.data.find(needle, start)
        found = _memmem(self._address + start, len(self.data) - start, needle, len(needle))
        return -1 if found is None else int(found) - self._address
