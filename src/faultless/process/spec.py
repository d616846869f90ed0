"""What to run and within which limits; checked, and given its environment, in this one place."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from faultless.contract import Fault, FaultKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from faultless.contract import Json

REPORT_FD_VARIABLE = "FAULTLESS_REPORT_FD"
_MEBIBYTE = 1 << 20
_DESCRIPTORS_AT_MOST = 200  # one message carries 253
_SHOWN_ARGUMENTS = 20
_SHOWN_CHARACTERS = 200


@dataclass(frozen=True, kw_only=True)
class Spec:
    """A command and its limits. A wrong limit is a bug of the caller: ValueError."""

    command: Sequence[str]
    cwd: Path
    deadline_seconds: float
    """May be infinite for a command that is talked with (`streaming`)."""
    env: Mapping[str, str] | None = None
    """The whole environment; None is the server's own."""
    stdin: bytes = b""
    streaming: bool = False
    """Stdin and stdout are pipes for the caller to write and read while it runs; only stderr is captured."""
    capture_bytes: int = _MEBIBYTE
    """Kept of each stream, half from its beginning and half from its end."""
    grace_seconds: float = 2.0
    """Between SIGTERM and SIGKILL."""
    pass_fds: Sequence[int] = ()
    """Open in the command under the same numbers."""
    report: bool = False
    """Give the command a private pipe; its number is in the environment variable FAULTLESS_REPORT_FD."""
    report_line_bytes: int = 4 * _MEBIBYTE

    def __post_init__(self) -> None:
        if not self.command or not self.command[0]:
            raise ValueError("a command needs at least a program")
        if not 0 < self.deadline_seconds <= math.inf or not (
            self.streaming or math.isfinite(self.deadline_seconds)
        ):
            raise ValueError(f"deadline_seconds must be positive and finite, not {self.deadline_seconds}")
        if not (math.isfinite(self.grace_seconds) and self.grace_seconds >= 0):
            raise ValueError(f"grace_seconds must be finite and not negative, not {self.grace_seconds}")
        if self.capture_bytes < 0 or self.report_line_bytes < 1:
            raise ValueError("capture_bytes and report_line_bytes are sizes")
        if self.streaming and self.stdin:
            raise ValueError("stdin is written by the caller when streaming")
        if len(set(self.pass_fds)) < len(self.pass_fds) or any(number <= 2 for number in self.pass_fds):  # noqa: PLR2004 - stderr
            raise ValueError("pass_fds are distinct and none is stdin, stdout or stderr")
        if len(self.pass_fds) > _DESCRIPTORS_AT_MOST:
            raise ValueError(f"pass_fds are at most {_DESCRIPTORS_AT_MOST}")

    @property
    def report_number(self) -> int:
        """The private pipe's number in the command."""
        return next(number for number in range(3, 1 << 16) if number not in self.pass_fds)


def make_request(spec: Spec, *, announces_start: bool) -> dict[str, Any]:
    """A run as its supervisor is asked for it. Fault if the kernel cannot even be asked.

    OSError if a relative folder has nothing to be relative to.
    """
    given = spec.env or {}
    texts = (*spec.command, str(spec.cwd), *given, *given.values())
    if not all(map(_is_plain, texts)) or any("=" in name or not name for name in given):
        raise Fault(
            FaultKind.INVALID_PARAMS,
            "a command, its folder or its environment holds a NUL byte, a lone surrogate or a bad name",
            hint="remove it",
            details=describe(spec),
        )
    env = dict(os.environ if spec.env is None else spec.env)
    if spec.report:
        env[REPORT_FD_VARIABLE] = str(spec.report_number)
    return {
        "command": list(spec.command),
        "cwd": str(spec.cwd.absolute()),
        "env": env,
        "deadline_seconds": spec.deadline_seconds,
        "grace_seconds": spec.grace_seconds,
        "announces_start": announces_start,
        "is_streaming": spec.streaming,
    }


def _is_plain(text: str) -> bool:
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def describe(spec: Spec) -> dict[str, Json]:
    shown: list[Json] = [_shorten(argument) for argument in spec.command[:_SHOWN_ARGUMENTS]]
    if len(spec.command) > _SHOWN_ARGUMENTS:
        shown.append(f"… {len(spec.command) - _SHOWN_ARGUMENTS} more")
    return {"command": shown, "cwd": _shorten(str(spec.cwd))}


def show_program(spec: Spec) -> str:
    return _shorten(spec.command[0])


def _shorten(text: str) -> str:
    printable = text.encode(errors="replace").decode()
    return printable if len(printable) <= _SHOWN_CHARACTERS else f"{printable[:_SHOWN_CHARACTERS]}…"
