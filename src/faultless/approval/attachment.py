"""Files that go with a mail: taken from one folder, read once, through no link.

what a path names                                         fault
nothing, control characters, an over-long name            invalid_params
a place outside, hidden (a dot), behind a symbolic link   permission_denied
a folder, a device, a pipe                                invalid_params
nothing that is there                                     not_found
more than a mail may hold                                 too_large
"""

from __future__ import annotations

import errno
import hashlib
import mimetypes
import os
import stat
import unicodedata
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind, clean

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

LARGEST_MAIL_BYTES = 25_000_000
"""As it leaves, files in base64; about 18 MB of them. Many mail systems refuse more."""
_MOST_FILES = 50
_LONGEST_NAME_BYTES = 255
_UNTYPED = "application/octet-stream"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_TYPES = mimetypes.MimeTypes()
"""Python's own table: what the system adds to it would differ between machines."""


@dataclass(frozen=True, slots=True)
class Attachment:
    path: str
    """In the folder it was taken from."""
    data: bytes = field(repr=False)
    sha256: str

    @property
    def name(self) -> str:
        """What its reader sees."""
        return self.path.rpartition("/")[2]

    @property
    def size_bytes(self) -> int:
        return len(self.data)

    @property
    def mime_type(self) -> str:
        """By its name alone, which the approval binds; what a mail program would unpack is plain bytes."""
        kind, encoding = _TYPES.guess_type(self.name)
        is_leaf = kind is not None and not encoding and not kind.startswith(("message/", "multipart/"))
        return kind if kind and is_leaf else _UNTYPED


def read_attachments(folder: Path, paths: Sequence[str]) -> tuple[Attachment, ...]:
    """The files as they are now."""
    if len(paths) > _MOST_FILES:
        raise Fault(
            FaultKind.TOO_LARGE,
            f"more than {_MOST_FILES} files are attached",
            hint="put them into one archive",
        )
    if len(set(paths)) < len(paths):
        raise _refused(
            FaultKind.INVALID_PARAMS, next(it for it in paths if paths.count(it) > 1), "is named twice"
        )
    found: list[Attachment] = []
    room = LARGEST_MAIL_BYTES
    for path in paths:
        data = _read(folder, path, room)
        room -= len(data)
        found.append(Attachment(path, data, hashlib.sha256(data).hexdigest()))
    return tuple(found)


def _read(folder: Path, path: str, room: int) -> bytes:
    *above, name = _split(path)
    with ExitStack() as stack:
        try:
            here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            stack.callback(os.close, here)
            for part in above:
                here = os.open(_find(here, part, path, folders=True), _FOLDER, dir_fd=here)
                stack.callback(os.close, here)
            descriptor = os.open(_find(here, name, path, folders=False), _FILE, dir_fd=here)
            file = stack.enter_context(os.fdopen(descriptor, "rb"))
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise _refused(FaultKind.INVALID_PARAMS, path, "is not a file")
            data = file.read(room + 1)
        except OSError as problem:
            raise _explain(problem, path) from problem
    if len(data) > room:
        raise _refused(
            FaultKind.TOO_LARGE,
            path,
            f"makes the mail larger than {LARGEST_MAIL_BYTES} bytes",
            "send a link to it, or a smaller file",
        )
    return data


def _split(path: str) -> list[str]:
    parts = path.split("/")
    if not path or not path.isprintable() or any(len(os.fsencode(it)) > _LONGEST_NAME_BYTES for it in parts):
        raise _refused(FaultKind.INVALID_PARAMS, path, "is no name of a file")
    if {"", ".."} & set(parts):
        raise _refused(FaultKind.PERMISSION_DENIED, path, "leads outside the folder files are taken from")
    if any(part.startswith(".") for part in parts):
        raise _refused(FaultKind.PERMISSION_DENIED, path, "is hidden, and hidden files are off limits")
    return parts


def _find(folder: int, name: str, path: str, *, folders: bool) -> str:
    """The name as the disk has it, in either Unicode composition; looked at before it is opened."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        composed = unicodedata.normalize("NFC", name)
        same = [
            it for it in os.listdir(folder) if unicodedata.normalize("NFC", it) == composed and it != name
        ]
        if not same:
            raise
        return _find(folder, same[0], path, folders=folders)
    if stat.S_ISLNK(status.st_mode):
        raise _refused(FaultKind.PERMISSION_DENIED, path, "goes through a symbolic link")
    if not folders and not stat.S_ISREG(status.st_mode):
        what = "is a folder" if stat.S_ISDIR(status.st_mode) else "is a device, a pipe or a socket"
        raise _refused(FaultKind.INVALID_PARAMS, path, what)
    return name


def _explain(problem: OSError, path: str) -> Fault:
    if problem.errno in {errno.ENOENT, errno.ENOTDIR}:
        return _refused(
            FaultKind.NOT_FOUND, path, "is not there", "name it by its path from the folder's top"
        )
    if problem.errno in {errno.EACCES, errno.EPERM, errno.ELOOP}:
        return _refused(FaultKind.PERMISSION_DENIED, path, "cannot be opened")
    reason = os.strerror(problem.errno).lower() if problem.errno else "no reason given"
    return _refused(FaultKind.UNAVAILABLE, path, f"cannot be read: {reason}", "try again")


def _refused(
    kind: FaultKind, path: str, problem: str, hint: str = "name a plain file of that folder"
) -> Fault:
    shown = clean(path, 200)
    return Fault(
        kind,
        f"the attachment {shown!r} {problem}",
        hint=hint,
        details={"field": "attachments", "path": shown},
    )
