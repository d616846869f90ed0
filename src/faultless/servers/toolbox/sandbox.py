"""Bubblewrap around every tool: what the kernel then refuses, and a sandbox that was seen to work."""

from __future__ import annotations

import os
import platform
import shutil
import struct
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind, clean
from faultless.contract.text import last_line

if TYPE_CHECKING:
    from collections.abc import Sequence

_BUBBLEWRAP = "bwrap"
_PROBE_SECONDS = 20.0
_SYSTEM = ("--ro-bind", "/", "/")
_HIDDEN = (Path("/tmp"), Path("/run"))  # noqa: S108 - the sandbox's own, empty one
"""Empty in the sandbox; services keep their sockets in the second."""
_WALLS = (
    *("--dev", "/dev"),
    *("--proc", "/proc"),
    *("--ro-bind", "/proc/sys", "/proc/sys"),  # settings of the machine, which root could otherwise change
    *(word for folder in _HIDDEN for word in ("--tmpfs", str(folder))),
    *("--cap-drop", "ALL"),  # root would keep some, and could mount the walls away
    *("--unshare-all", "--unshare-user", "--disable-userns"),  # nor one of its own, to get some there
    "--die-with-parent",
    "--new-session",
)

# A filter for system calls, in the kernel's own instructions: no sockets in the file tree. Read-only does not
# keep anybody from talking to docker or the session bus.
_LOAD, _JUMP_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | 13  # EACCES
_NUMBER_AT, _ARCHITECTURE_AT, _FIRST_ARGUMENT_AT = 0, 4, 16
_AF_UNIX = 1
_IO_URING_SETUP = 425  # makes sockets without the call for it
_MACHINES = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}
"""How the kernel calls the machine, and the number of `socket`."""
_FILTER_NUMBER = "9"
_OPEN_FILTER = f'exec {_FILTER_NUMBER}<"$0" && exec "$@"'


class Sandbox:
    """No network, no capabilities, a read-only system, writing and sockets only where they were allowed."""

    def __init__(
        self, program: str, readable: Sequence[Path], writable: Sequence[Path], sockets: Sequence[Path]
    ) -> None:
        self._program = [program] if sockets else [*_read_filter(), program, "--seccomp", _FILTER_NUMBER]
        self._readable = list(readable)
        self._writable = [*writable, *sockets]

    def wrap(self, command: Sequence[str], cwd: Path) -> list[str]:
        """The walls stand on top of what may be written, be it everything; what they hide comes back last."""
        below: list[str] = [*_SYSTEM]
        above: list[str] = []
        for way, paths in (("--ro-bind", [*self._readable, cwd]), ("--bind", self._writable)):
            for path in dict.fromkeys(paths):
                is_hidden = any(path.is_relative_to(folder) for folder in _HIDDEN)
                (above if is_hidden else below).extend((way, str(path), str(path)))
        return [*self._program, *below, *_WALLS, *above, "--chdir", str(cwd), "--", *command]


def _read_filter() -> list[str]:
    """A command that opens the filter for the one that follows; every run reads it from its start."""
    machine = platform.machine()
    if machine not in _MACHINES:
        raise Fault(
            FaultKind.UNAVAILABLE,
            f"--sandbox cannot keep tools from sockets on {machine}",
            hint="serve on x86_64 or aarch64, or without --sandbox",
        )
    descriptor = os.memfd_create("sockets")
    os.write(descriptor, _make_filter(*_MACHINES[machine]))
    return ["/bin/sh", "-c", _OPEN_FILTER, f"/proc/{os.getpid()}/fd/{descriptor}"]


def _make_filter(architecture: int, socket_number: int) -> bytes:
    """Calls in the manner of another machine are refused, for their numbers mean something else."""
    instructions = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_JUMP_EQUAL, 0, 6, architecture),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_JUMP_EQUAL, 4, 0, _IO_URING_SETUP),
        (_JUMP_EQUAL, 0, 2, socket_number),
        (_LOAD, 0, 0, _FIRST_ARGUMENT_AT),
        (_JUMP_EQUAL, 1, 0, _AF_UNIX),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    ]
    return b"".join(struct.pack("HBBI", *instruction) for instruction in instructions)


def build_sandbox(
    readable: Sequence[Path], writable: Sequence[Path], sockets: Sequence[Path] = ()
) -> Sandbox:
    """A sandbox that was seen to work here, or a fault; never something weaker."""
    for socket in sockets:
        if not socket.is_socket():
            raise Fault(
                FaultKind.NOT_FOUND,
                f"--socket {socket} is not a socket",
                hint="start its service, or name another",
            )
    for folder in writable:
        if not folder.is_dir():
            raise Fault(
                FaultKind.NOT_FOUND, f"--writable {folder} is not a folder", hint="create it, or name another"
            )
    program = shutil.which(_BUBBLEWRAP)
    if program is None:
        raise Fault(
            FaultKind.UNAVAILABLE,
            "--sandbox was asked for, but bubblewrap is not installed",
            hint="install the package bubblewrap, or serve without --sandbox",
        )
    sandbox = Sandbox(program, readable, writable, sockets)
    probe = subprocess.run(
        sandbox.wrap(["true"], Path("/")), capture_output=True, text=True, timeout=_PROBE_SECONDS, check=False
    )
    if probe.returncode != 0:
        reason = clean(last_line(probe.stderr, "it failed"), 300)
        raise Fault(
            FaultKind.UNAVAILABLE,
            f"--sandbox was asked for, but bubblewrap does not work here: {reason}",
            hint="allow user namespaces, or serve without --sandbox",
        )
    return sandbox
