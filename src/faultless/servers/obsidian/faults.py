"""How each failure is put into words: what the operating system says, and what the vault's own rules say."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind, Json

if TYPE_CHECKING:
    from collections.abc import Iterator

_KINDS: dict[int, FaultKind] = {
    errno.ENOENT: FaultKind.NOT_FOUND,
    errno.EEXIST: FaultKind.CONFLICT,
    errno.ENOTEMPTY: FaultKind.CONFLICT,
    errno.EACCES: FaultKind.PERMISSION_DENIED,
    errno.EPERM: FaultKind.PERMISSION_DENIED,
    errno.EROFS: FaultKind.PERMISSION_DENIED,
    errno.ELOOP: FaultKind.PERMISSION_DENIED,
    errno.ENOTDIR: FaultKind.PERMISSION_DENIED,
    errno.EXDEV: FaultKind.PERMISSION_DENIED,
    errno.ENAMETOOLONG: FaultKind.INVALID_PARAMS,
    errno.EISDIR: FaultKind.INVALID_PARAMS,
    errno.ENOSPC: FaultKind.UNAVAILABLE,
    errno.EDQUOT: FaultKind.UNAVAILABLE,
    errno.EFBIG: FaultKind.UNAVAILABLE,
    errno.EMFILE: FaultKind.UNAVAILABLE,
    errno.ENFILE: FaultKind.UNAVAILABLE,
    errno.ESTALE: FaultKind.UNAVAILABLE,
    errno.ENODEV: FaultKind.UNAVAILABLE,
}
"""By errno; everything else is an engine_error."""

_WORDS = {
    FaultKind.NOT_FOUND: ("{path} does not exist", "list_notes or search_notes shows what there is"),
    FaultKind.CONFLICT: ("{path} exists already", "choose another name, or read it first"),
    FaultKind.PERMISSION_DENIED: (
        "{path} may not be used: {reason}",
        "check its permissions, or name another",
    ),
    FaultKind.INVALID_PARAMS: ("{path} cannot be a note: {reason}", "choose another name"),
    FaultKind.UNAVAILABLE: (
        "{path} could not be kept: {reason}; the old state is whole",
        "make room or bring the vault back, then call again",
    ),
    FaultKind.ENGINE_ERROR: ("{path} could not be used: {reason}", "look at the disk, then call again"),
}


def explain(error: OSError, path: str) -> Fault:
    code = error.errno or 0
    kind = _KINDS.get(code, FaultKind.ENGINE_ERROR)
    message, hint = _WORDS[kind]
    reason = os.strerror(code).lower() if code else "no reason given"
    return Fault(kind, message.format(path=path, reason=reason), hint=hint)


@contextmanager
def explained(path: str) -> Iterator[None]:
    """Any OSError inside becomes a fault about this path."""
    try:
        yield
    except OSError as error:
        raise explain(error, path) from error


def vanished() -> Fault:
    return Fault(
        FaultKind.UNAVAILABLE,
        "the vault folder is gone or was replaced by another",
        hint="bring it back, then restart the server",
    )


def locked(seconds: float) -> Fault:
    return Fault(
        FaultKind.UNAVAILABLE,
        f"another program has held the vault's lock for {seconds:.0f} seconds",
        hint="call again; if it stays so, stop the other server on this vault",
    )


def refused(path: str, why: str, hint: str) -> Fault:
    """By the rules the server was started with."""
    return Fault(FaultKind.PERMISSION_DENIED, f"{path!r} is refused: {why}", hint=hint)


def not_a_note(path: str, mode: int) -> Fault:
    if stat.S_ISDIR(mode):
        return Fault(FaultKind.INVALID_PARAMS, f"{path} is a folder", hint="name a note in it, or list_notes")
    return Fault(
        FaultKind.PERMISSION_DENIED, f"{path} is a link, a device or a pipe", hint="name a regular note"
    )


def too_large(path: str, size: int, limit: int) -> Fault:
    return Fault(
        FaultKind.TOO_LARGE,
        f"{path} has {size} bytes; notes up to {limit} bytes are served",
        hint="split the note",
    )


def changed_since(path: str, expected: str, current: str) -> Fault:
    return Fault(
        FaultKind.CONFLICT,
        f"{path} has changed since version {expected}; nothing was written",
        hint="read it again and repeat the change",
        details={"path": path, "current_version": current},
    )


def changed_meanwhile(path: str, version: str | None) -> Fault:
    return Fault(
        FaultKind.CONFLICT,
        f"{path} was changed by somebody else meanwhile; nothing was written",
        hint="read it again and repeat the change",
        details={"path": path, "current_version": version},
    )


def never_shown(path: str, current: str) -> Fault:
    return Fault(
        FaultKind.CONFLICT,
        f"{path} exists and was not read in this session; it was not overwritten",
        hint="read_note it first, or pass overwrite true",
        details={"path": path, "current_version": current},
    )


def gone(path: str) -> Fault:
    return Fault(
        FaultKind.CONFLICT,
        f"{path} was moved or removed since it was shown",
        hint="search for it; to make it anew, pass overwrite true and no if_version",
        details={"path": path},
    )


def clashing_name(path: str, existing: str) -> Fault:
    return Fault(
        FaultKind.CONFLICT,
        f"{path} differs from {existing} only in case or composition; on some systems they are one file",
        hint=f"use {existing}, or choose another name",
        details={"path": existing},
    )


def corrupt_frontmatter(why: str, line: int) -> Fault:
    return Fault(
        FaultKind.PARSE_ERROR,
        f"the frontmatter is not valid YAML at line {line}: {why}",
        hint="fix that line, or write_note with frontmatter_mode 'replace'",
        details={"line": line},
    )


def foreign_cursor() -> Fault:
    return Fault(
        FaultKind.INVALID_PARAMS,
        "the cursor is not one this tool gave out",
        hint="leave it out to start from the first page",
        details={"field": "cursor"},
    )


def malformed_filter(text: str) -> Fault:
    return Fault(
        FaultKind.INVALID_PARAMS,
        f"the filter {text!r} is not of the form field:value",
        hint='write for example status:draft, priority:2 or code:"2"',
        details={"field": "filter", "received_value": text},
    )


def taken(path: str) -> Fault:
    return Fault(
        FaultKind.CONFLICT,
        f"{path} exists already; nothing was moved",
        hint="choose another destination",
        details={"path": path},
    )


def links_refused(path: str, count: int, named: list[str]) -> Fault:
    return Fault(
        FaultKind.PERMISSION_DENIED,
        f"{count} notes that link to {path} may not be written; nothing was moved",
        hint="move with update_links false, or ask for write access to them",
        details={"paths": list[Json](named)},
    )


def cannot_relink(path: str) -> Fault:
    return Fault(
        FaultKind.UNSUPPORTED,
        f"a link in {path} cannot be written so that it points to the new place; nothing was moved",
        hint="choose a name without # ^ [ ] | or move with update_links false",
    )
