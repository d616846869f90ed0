"""Files that survive kill -9: whole or not at all, line by line, one writer at a time."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import secrets
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from faultless.contract import Json

_PRIVATE_MODE = 0o600
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FORBIDDEN = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Any OSError inside becomes a fault about this thing of ours."""
    try:
        yield
    except OSError as problem:
        reason = os.strerror(problem.errno).lower() if problem.errno else "no reason given"
        if problem.errno in _FORBIDDEN:
            kind, hint = FaultKind.PERMISSION_DENIED, "give its folder back to its user, or name another"
        else:
            kind, hint = FaultKind.UNAVAILABLE, "make room or bring the disk back, then try again"
        raise Fault(
            kind, f"{what} cannot be kept: {reason}", hint=hint, details={"reason": reason}
        ) from problem


def write_atomically(
    path: Path, data: str | bytes, *, mode: int = _PRIVATE_MODE, folder: int | None = None
) -> None:
    """All of it under that name or nothing, on the disk when this returns; readable by the owner only.

    With `folder`, a descriptor, only the last part of the path is used, and no link is followed on the way.
    """
    here = os.open(path.parent, _FOLDER) if folder is None else folder
    try:
        draft = f".{path.name}.{secrets.token_hex(4)}"
        write_new(draft, data, folder=here, mode=mode)
        try:
            os.rename(draft, path.name, src_dir_fd=here, dst_dir_fd=here)
        except BaseException:
            os.unlink(draft, dir_fd=here)
            raise
        os.fsync(here)  # a new name is on the disk only once its folder is
    finally:
        if folder is None:
            os.close(here)


def write_new(
    name: str,
    data: str | bytes,
    *,
    folder: int,
    mode: int = _PRIVATE_MODE,
    like: os.stat_result | None = None,
) -> None:
    """A new file below an open folder, on the disk for certain, or none; a name that is taken is an OSError.

    `like` gives it the mode of another file, and its owner where we may. The folder is not synced.
    """
    descriptor = os.open(name, _NEW_FILE, mode, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
            file.flush()
            if like is not None:
                _copy_status(descriptor, like)
            os.fsync(descriptor)
    except BaseException:
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)
        raise


def _copy_status(descriptor: int, status: os.stat_result) -> None:
    os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
    own = os.fstat(descriptor)
    if (own.st_uid, own.st_gid) != (status.st_uid, status.st_gid):
        with suppress(PermissionError):
            os.fchown(descriptor, status.st_uid, status.st_gid)


def append_line(path: Path, record: Mapping[str, Json]) -> None:
    """One JSON line, written at once; after a torn line it begins on a line of its own."""
    line = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, _PRIVATE_MODE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        size = os.fstat(descriptor).st_size
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        _write_whole(descriptor, b"\n" + line if torn else line)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_whole(descriptor: int, data: bytes) -> None:
    """A disk that is filling up takes a part first; what then stands there is a torn line."""
    while data:
        data = data[os.write(descriptor, data) :]


def read_lines(path: Path) -> Iterator[dict[str, Json]]:
    """Every whole record; torn lines are passed over."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return
    for line in text.splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            yield record


@contextmanager
def lock(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Hold a file against other processes; False if it is taken and we do not wait. The kernel frees it."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _PRIVATE_MODE)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)
