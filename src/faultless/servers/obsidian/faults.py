"""What the operating system says, in the words of the contract.

errno                                   kind
ENOENT                                  not_found
EEXIST, ENOTEMPTY                       conflict
EACCES, EPERM, EROFS                    permission_denied
ELOOP, ENOTDIR, EXDEV                   permission_denied
ENAMETOOLONG, EISDIR                    invalid_params
ENOSPC, EDQUOT, EFBIG                   unavailable
EMFILE, ENFILE, ESTALE, ENODEV          unavailable
everything else                         engine_error
"""

from __future__ import annotations

import errno
import os
import re
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


def _read_table(text: str) -> dict[int, FaultKind]:
    rows = re.findall(r"^([A-Z][A-Z, ]+?) {2,}(\w+)$", text, re.MULTILINE)
    return {getattr(errno, name): FaultKind(kind) for names, kind in rows for name in names.split(", ")}


KINDS = _read_table(__doc__)


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
