"""What the operating system says, in the words of the contract."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind

if TYPE_CHECKING:
    from collections.abc import Iterator

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


# Everything else is an engine_error.
KINDS = {
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


def explain(error: OSError, path: str) -> Fault:
    code = error.errno or 0
    kind = KINDS.get(code, FaultKind.ENGINE_ERROR)
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
