"""What to run, and how it ended."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from faultless.process.capture import Captured

MEBIBYTE = 1 << 20
DESCRIPTORS_AT_MOST = 200  # one message carries 253


@dataclass(frozen=True, kw_only=True)
class Spec:
    """A command and its limits. A wrong limit is a bug of the caller: ValueError."""

    command: Sequence[str]
    cwd: Path
    deadline_seconds: float
    env: Mapping[str, str] | None = None
    """The whole environment; None is the server's own."""
    stdin: bytes = b""
    capture_bytes: int = MEBIBYTE
    """Kept of each stream, half from its beginning and half from its end."""
    grace_seconds: float = 2.0
    """Between SIGTERM and SIGKILL."""
    pass_fds: Sequence[int] = ()
    """Open in the command under the same numbers."""
    report: bool = False
    """Give the command a private pipe; its number is in the environment variable FAULTLESS_REPORT_FD."""
    report_line_bytes: int = 4 * MEBIBYTE

    def __post_init__(self) -> None:
        if not self.command or not self.command[0]:
            raise ValueError("a command needs at least a program")
        if not (math.isfinite(self.deadline_seconds) and self.deadline_seconds > 0):
            raise ValueError(f"deadline_seconds must be positive and finite, not {self.deadline_seconds}")
        if not (math.isfinite(self.grace_seconds) and self.grace_seconds >= 0):
            raise ValueError(f"grace_seconds must be finite and not negative, not {self.grace_seconds}")
        if self.capture_bytes < 0 or self.report_line_bytes < 1:
            raise ValueError("capture_bytes and report_line_bytes are sizes")
        if len(set(self.pass_fds)) < len(self.pass_fds) or any(number <= 2 for number in self.pass_fds):  # noqa: PLR2004 - stderr
            raise ValueError("pass_fds are distinct and none is stdin, stdout or stderr")
        if len(self.pass_fds) > DESCRIPTORS_AT_MOST:
            raise ValueError(f"pass_fds are at most {DESCRIPTORS_AT_MOST}")


@dataclass(frozen=True, kw_only=True)
class Finished:
    exit_code: int | None
    """None when a signal ended it."""
    signal: str | None
    """The signal's name, such as SIGSEGV."""
    stdout: Captured
    stderr: Captured
    duration_seconds: float
    timed_out: bool
    leftovers: int
    """Processes that outlived a command which ended by itself; they are gone now."""
    survivors: int
    """Processes that could not be killed: another user's, or stuck in the kernel."""
