"""Bubblewrap around every tool: no network, a read-only system, writing only where it was allowed."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind, clean

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PROGRAM = "bwrap"
_PROBE_SECONDS = 20.0
_READ_ONLY = os.strerror(errno.EROFS)
_WALLS = (
    *("--ro-bind", "/", "/"),
    *("--dev", "/dev"),
    *("--proc", "/proc"),
    *("--tmpfs", "/tmp"),  # noqa: S108 - the sandbox's own, empty one
    "--unshare-all",
    "--die-with-parent",
    "--new-session",
)


class Sandbox:
    def __init__(self, program: str, readable: Sequence[Path], writable: Sequence[Path]) -> None:
        self._walls = [program, *_WALLS]
        self._readable = list(readable)
        self._writable = list(writable)

    def wrap(self, command: Sequence[str], cwd: Path) -> list[str]:
        """Folders to read are named too, because an empty /tmp may hide them; those to write come on top."""
        words = list(self._walls)
        for way, folders in (("--ro-bind", [*self._readable, cwd]), ("--bind", self._writable)):
            for folder in dict.fromkeys(folders):
                words += [way, str(folder), str(folder)]
        return [*words, "--chdir", str(cwd), "--", *command]


def build_sandbox(readable: Sequence[Path], writable: Sequence[Path]) -> Sandbox:
    """A sandbox that was seen to work here, or a fault; never something weaker."""
    for folder in writable:
        if not folder.is_dir():
            raise Fault(
                FaultKind.NOT_FOUND, f"--writable {folder} is not a folder", hint="create it, or name another"
            )
    program = shutil.which(PROGRAM)
    if program is None:
        raise _unavailable(
            "bubblewrap is not installed", "install the package bubblewrap, or serve without --sandbox"
        )
    probe = subprocess.run(
        [program, *_WALLS, "--", "true"], capture_output=True, text=True, timeout=_PROBE_SECONDS, check=False
    )
    if probe.returncode != 0:
        reason = clean(probe.stderr.strip().splitlines()[-1] if probe.stderr.strip() else "it failed", 300)
        raise _unavailable(
            f"bubblewrap does not work here: {reason}", "allow user namespaces, or serve without --sandbox"
        )
    return Sandbox(program, readable, writable)


def explain_walls(fault: Fault) -> Fault:
    """A tool that met the read-only system cannot know the way out; we do."""
    if _READ_ONLY not in f"{fault.message} {fault.details.get('stderr')}":
        return fault
    return Fault(
        fault.kind,
        fault.message,
        hint="in the sandbox only /tmp and the folders named by --writable can be written to",
        details=fault.details,
        retry_after_seconds=fault.retry_after_seconds,
    )


def _unavailable(reason: str, hint: str) -> Fault:
    return Fault(FaultKind.UNAVAILABLE, f"--sandbox was asked for, but {reason}", hint=hint)
