"""The layers around user code, each enforced by the kernel where there is one.

layer        stops                                              how
limits       memory, files, processes, core dumps               setrlimit
namespaces   network, mounts, other processes' IPC              unshare
landlock     every path but the interpreter's own, read only    landlock_restrict_self
seccomp      every system call but a short list                 prctl(PR_SET_SECCOMP)
audit        the same from inside, with a clear message         sys.addaudithook

`strict` means the first four hold. What is missing is said in each answer.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import signal
import sys
import sysconfig
from functools import cache
from pathlib import Path
from typing import Any

from crosshair.util import renamed_function

from . import kernel
from .calls import BlockedError
from .source import split_names

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_CLONE_FLAGS = 0x10000000 | 0x40000000 | 0x00020000 | 0x08000000 | 0x04000000  # user, net, mount, ipc, uts
_PROBE_MEMORY_BYTES, _PROBE_CPU_SECONDS = 1 << 31, 5
_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent() -> None:
    """Linux only; elsewhere the supervisor's own kill has to do."""
    with contextlib.suppress(AttributeError):
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def enter(memory_bytes: int, cpu_seconds: int, *, without: tuple[str, ...] = ()) -> list[str]:
    """Put the calling process under every layer the system offers; returns those that hold.

    `without` leaves layers out, so that a test can see what each one stops by itself.
    """
    attempts = {
        "limits": lambda: _limit(memory_bytes, cpu_seconds),
        "namespaces": _leave_namespaces,
        "landlock": lambda: kernel.restrict_paths(readable_paths()),
        "seccomp": kernel.filter_system_calls,
        "audit": _install_audit_hook,
    }
    with contextlib.suppress(AttributeError):
        _libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
        _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    return [name for name, attempt in attempts.items() if name not in without and attempt()]


@cache
def readable_paths() -> list[str]:
    """Where modules, their shared libraries and time zones come from."""
    wanted = {sys.prefix, sys.base_prefix, sys.exec_prefix, *sysconfig.get_paths().values(), *sys.path}
    wanted |= {"/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/local/lib", "/usr/share/zoneinfo"}
    kept_out = {"/", str(Path.home())}
    return sorted(path for path in wanted if path and Path(path).is_dir() and path not in kept_out)


def _limit(memory_bytes: int, cpu_seconds: int) -> bool:
    for kind, value in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CPU, cpu_seconds),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 64),
        (resource.RLIMIT_MEMLOCK, 0),
    ):
        try:
            resource.setrlimit(kind, (value, value))
        except (ValueError, OSError):
            return False
    return True


def _leave_namespaces() -> bool:
    try:
        return bool(_libc.unshare(_CLONE_FLAGS) == 0)
    except AttributeError:
        return False


_ALLOWED_OPEN_FLAGS = (
    os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NONBLOCK", 0)
)
_BLOCKED_PREFIXES = tuple(
    sorted(
        split_names(
            """
            os. subprocess. socket. ctypes. shutil. fcntl. mmap. signal. pty. syslog. sqlite3. urllib. http.
            ftplib. smtplib. webbrowser. tempfile. gc. sys._current code.__new__ pickle.find_class resource.
            winreg.
            """
        )
    )
)
_HARMLESS = frozenset({"os.listdir", "os.scandir", "os.fwalk", "os.walk"})


def _install_audit_hook() -> bool:
    """Called last. The hook has no state and no name that user code could change."""
    prefixes, harmless, flags_allowed, blocked, renaming, frame_at = (
        _BLOCKED_PREFIXES,
        _HARMLESS,
        _ALLOWED_OPEN_FLAGS,
        BlockedError,
        renamed_function.__code__,
        sys._getframe,  # noqa: SLF001 - who is asking
    )

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            flags = arguments[2]
            if isinstance(flags, int) and flags & ~flags_allowed:
                raise blocked("opens a file for writing")
        elif event == "code.__new__" and frame_at(1).f_code is renaming:
            # CrossHair itself, when it makes arguments for a constructor.
            return
        elif event.startswith(prefixes) and event not in harmless:
            raise blocked(f"uses {event}")

    sys.addaudithook(watch)
    return True


def silence() -> None:
    """Standard streams go nowhere; what user code prints is nobody's business."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    if nowhere > 2:  # noqa: PLR2004 - above the standard streams
        os.close(nowhere)


def close_all_but(keep: int) -> None:
    """Descriptors of the supervisor and of other requests must not reach user code."""
    try:
        end = max(int(name) for name in os.listdir("/proc/self/fd")) + 1
    except OSError:
        end = os.sysconf("SC_OPEN_MAX")
    os.closerange(3, keep)
    os.closerange(keep + 1, end)


def probe() -> list[str]:
    """The layers this system gives, found by putting a child under them."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            layers = enter(_PROBE_MEMORY_BYTES, _PROBE_CPU_SECONDS)
            os.write(writing, json.dumps(layers).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    os.waitpid(pid, 0)
    return list(json.loads(data)) if data else []
