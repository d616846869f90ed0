"""A folder, and paths proved to lie inside it.

what a path does                                      fault
is empty, holds NUL, is over-long, looks like -x      invalid_params
leaves the folder by .., by name or by a link         permission_denied
is a device, a pipe or a socket                       permission_denied
is not there, or a circle of links                    not_found
"""

from __future__ import annotations

import errno
import itertools
import os
import stat
from contextlib import suppress
from pathlib import Path

from faultless.contract import Fault, FaultKind
from faultless.contract.text import clean, find_near

_LONGEST_NAME_BYTES = 255
_LONGEST_PATH_BYTES = 4095
_MOST_LINKS = 40
_MOST_CANDIDATES = 2000
_OUTSIDE = "(outside the root)"

# A folder that may be passed through but not listed can still be walked where the system knows O_PATH.
_PASS_THROUGH = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Root:
    """A folder. Every path it gives out lay inside it, links followed, when it was asked."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._given = Path(os.path.abspath(path))  # noqa: PTH100 - Path.resolve would follow links
        try:
            self.path = Path(os.path.realpath(path, strict=True))
        except (OSError, ValueError) as error:
            raise Fault(
                FaultKind.NOT_FOUND,
                f"the root folder {_quote(str(path))} is not there",
                hint="create it, or name another",
            ) from error
        if not self.path.is_dir():
            raise Fault(
                FaultKind.INVALID_PARAMS,
                f"the root {_quote(str(path))} is not a folder",
                hint="name the folder it lies in",
            )

    def resolve(self, relative: str, *, must_exist: bool = False) -> Path:
        """The absolute path without links; it need not exist, unless asked."""
        problem, hint = _find_problem(relative)
        if problem:
            raise Fault(FaultKind.INVALID_PARAMS, f"the path {_quote(relative)} {problem}", hint=hint)
        if not relative.startswith("/") and _leaves_by_name(relative):
            raise _outside(relative)
        path = self._follow(relative)
        if not path.is_relative_to(self.path):
            raise _outside(relative)
        self._refuse_special(path, relative, must_exist=must_exist)
        return path

    def relative_name(self, path: str | os.PathLike[str]) -> str:
        """How to call a path in a message: never absolute, never something that looks like an option."""
        normal = Path(os.path.normpath(self.path / os.fspath(path)))
        for top in (self.path, self._given):
            if normal.is_relative_to(top):
                name = normal.relative_to(top).as_posix()
                return f"./{name}" if name.startswith("-") else name
        return _OUTSIDE

    def open(self, relative: str, flags: int = os.O_RDONLY, mode: int = 0o666) -> int:
        """A descriptor of a regular file that lies inside even if links are swapped while we look.

        Each folder on the way is opened from the one before it, without following links.
        """
        path = self.resolve(relative)
        *folders, name = path.relative_to(self.path).parts or (".",)
        try:
            descriptor = self._open_below(folders, name, flags, mode)
        except OSError as error:
            raise self._explain(error, path) from error
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return descriptor
        os.close(descriptor)
        raise Fault(FaultKind.INVALID_PARAMS, f"{_quote(relative)} is not a file", hint="name a file")

    def _follow(self, relative: str) -> Path:
        """Follow every link as the kernel would; only what is missing counts as no link.

        os.path.realpath takes any error for "no link" (an over-long path, say), and so can be led out.
        """
        here = "/" if relative.startswith("/") else str(self.path)
        names = relative.split("/")[::-1]
        links = 0
        while names:
            name = names.pop()
            if name == "..":
                here = os.path.dirname(here)  # noqa: PTH120 - text, not a Path, in a hot loop
            if name in {"", ".", ".."}:
                continue
            step = os.path.join(here, name)  # noqa: PTH118 - as above
            target = self._read_link(step, relative)
            links += target is not None
            if links > _MOST_LINKS:
                raise self._unreachable(here, relative, "goes round in a circle of links")
            if target is None:
                here = step
            else:
                here = "/" if target.startswith("/") else here
                names += target.split("/")[::-1]
        return Path(here)

    def _read_link(self, step: str, relative: str) -> str | None:
        try:
            return os.readlink(step)  # noqa: PTH115 - as above
        except OSError as error:
            if error.errno in {errno.EINVAL, errno.ENOENT}:
                return None
            if error.errno == errno.ENOTDIR:
                raise self._unreachable(
                    step, relative, "goes through a file as if it were a folder"
                ) from error
            if error.errno == errno.ENAMETOOLONG:
                raise self._unreachable(step, relative, "is too long", FaultKind.INVALID_PARAMS) from error
            raise _outside(relative) from error

    def _unreachable(
        self, step: str, relative: str, why: str, kind: FaultKind = FaultKind.NOT_FOUND
    ) -> Fault:
        """What lies outside is not described, not even by its absence."""
        if not Path(step).is_relative_to(self.path):
            return _outside(relative)
        return Fault(kind, f"the path {_quote(relative)} {why}", hint="name a path that can exist")

    def _refuse_special(self, path: Path, relative: str, *, must_exist: bool) -> None:
        try:
            mode = path.lstat().st_mode
        except OSError as error:
            if must_exist:
                raise self._explain(error, path) from error
            return
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise Fault(
                FaultKind.PERMISSION_DENIED,
                f"{_quote(relative)} is a device, a pipe or a socket",
                hint="name a regular file or a folder",
            )

    def _open_below(self, folders: list[str], name: str, flags: int, mode: int) -> int:
        here = os.open(self.path, _PASS_THROUGH)
        try:
            for folder in folders:
                inner = os.open(folder, _PASS_THROUGH, dir_fd=here)
                os.close(here)
                here = inner
            # O_NONBLOCK: a pipe put there meanwhile must not make us wait for its other end.
            return os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, mode, dir_fd=here)
        finally:
            os.close(here)

    def _explain(self, error: OSError, path: Path) -> Fault:
        name = _quote(self.relative_name(path))
        if error.errno == errno.ENOENT:
            return Fault(FaultKind.NOT_FOUND, f"{name} does not exist", hint=self._suggest(path))
        if error.errno == errno.EEXIST:
            return Fault(
                FaultKind.CONFLICT, f"{name} exists already", hint="read it first, or choose another name"
            )
        if error.errno in {errno.EISDIR, errno.ENXIO}:
            return Fault(FaultKind.INVALID_PARAMS, f"{name} is not a file", hint="name a file")
        if error.errno in {errno.ELOOP, errno.ENOTDIR}:
            return Fault(FaultKind.PERMISSION_DENIED, f"{name} was replaced by a link while it was opened")
        reason = os.strerror(error.errno) if error.errno else "no reason given"
        return Fault(
            FaultKind.PERMISSION_DENIED, f"{name} cannot be opened: {reason}", hint="check its permissions"
        )

    def _suggest(self, path: Path) -> str:
        """Names near the first part that is missing."""
        present = next(parent for parent in path.parents if parent.is_dir())
        missing = path.relative_to(present).parts[0]
        names: list[str] = []
        with suppress(OSError), os.scandir(present) as entries:
            names = [entry.name for entry in itertools.islice(entries, _MOST_CANDIDATES)]
        close = [self.relative_name(present / name) for name in find_near(missing, names, cutoff=0.6)]
        if close:
            return "did you mean " + " or ".join(_quote(name) for name in close) + "?"
        return f"nothing like it is in {_quote(self.relative_name(present))}"


def _find_problem(relative: str) -> tuple[str | None, str]:
    try:
        encoded = os.fsencode(relative)
    except UnicodeEncodeError:
        return "holds characters no file name can have", "write it in valid Unicode"
    if not relative:
        return "is empty", "name a path relative to the root; . is the root itself"
    if "\0" in relative:
        return "holds a NUL character", "leave it out"
    if relative.startswith("-"):
        return "looks like an option", f"write ./{clean(relative, 100)} if that is its name"
    if len(encoded) > _LONGEST_PATH_BYTES:
        return f"is longer than {_LONGEST_PATH_BYTES} bytes", "shorten it"
    if any(len(name) > _LONGEST_NAME_BYTES for name in encoded.split(b"/")):
        return f"has a part longer than {_LONGEST_NAME_BYTES} bytes", "shorten that part"
    return None, ""


def _leaves_by_name(relative: str) -> bool:
    normal = os.path.normpath(relative)
    return normal == ".." or normal.startswith("../")


def _outside(relative: str) -> Fault:
    return Fault(
        FaultKind.PERMISSION_DENIED,
        f"the path {_quote(relative)} leads outside the root",
        hint="name a path inside the root, relative to it",
    )


def _quote(text: str) -> str:
    return f"'{clean(text, 200)}'"
