"""Whether the warm parent may be forked into runs that cannot be told from fresh processes."""

from __future__ import annotations

import importlib
import os
import sys
import sysconfig
import threading
import time
import warnings
from typing import TYPE_CHECKING, Any

from .system import resident_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

_LINGER_SECONDS = 0.05  # a thread that has been joined is still listed for a moment


class Unfit(Exception):  # noqa: N818 - a state, told to the server
    def __init__(self, reason: str, module: str | None = None) -> None:
        super().__init__(reason)
        self.module = module


def check_process(expected: set[int]) -> None:
    """No threads, tracers or descriptors but the expected ones: a fork would share or lose them."""
    if sys.gettrace() is not None or sys.getprofile() is not None:
        raise Unfit("a tracer or profiler is running")
    if _has_threads():
        raise Unfit("threads are running")
    if _has_children():
        raise Unfit("child processes are running")
    strays = _open_descriptors() - {0, 1, 2} - expected
    if strays:
        raise Unfit(f"{len(strays)} descriptors were left open")


def _has_threads() -> bool:
    """Whether a fork would lose any. Libraries that know of forks end theirs before, and start them again
    when they need them (OpenBLAS, Z3): only a fork can tell.
    """
    if _count_threads() == 1:
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there are threads is what is to be found out
        pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    ends = time.monotonic() + _LINGER_SECONDS
    while _count_threads() > 1:
        if time.monotonic() > ends:
            return True
    return False


def _count_threads() -> int:
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return threading.active_count()


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _open_descriptors() -> set[int]:
    found: set[int] = set()
    for entry in os.listdir("/proc/self/fd"):
        number = int(entry)
        try:
            os.fstat(number)
        except OSError:  # the descriptor of this listing
            continue
        found.add(number)
    return found


def loaded_files(trusted_folder: str | None = None) -> list[list[str | int]]:
    """Every loaded file with its stamp; Unfit if one is neither installed nor in the trusted folder."""
    files: list[list[str | int]] = []
    for name, module in sorted(sys.modules.items()):
        path = getattr(module, "__file__", None)
        if not isinstance(path, str) or is_ours(name):
            continue
        real = os.path.realpath(path)
        if _is_installed(real) or (trusted_folder and real.startswith(os.path.join(trusted_folder, ""))):
            status = os.stat(real)
            files.append([real, status.st_mtime_ns, status.st_size])
        elif not _is_standard(real):
            raise Unfit(f"{name} is no installed package, so it may change between runs", name)
    return files


def is_ours(name: str) -> bool:
    return name.partition(".")[0] == __name__.partition(".")[0]


def _is_standard(path: str) -> bool:
    roots = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib")]
    return any(path.startswith(os.path.join(os.path.realpath(root), "")) for root in roots)


def _is_installed(path: str) -> bool:
    return f"{os.sep}site-packages{os.sep}" in path or f"{os.sep}dist-packages{os.sep}" in path


def preload(names: Sequence[str], seconds: float, limit_bytes: int) -> None:
    """Import what earlier runs imported, in order, until the time is up or the memory used up.

    A module that changes the process raises Unfit: start without it.
    """
    ends = time.monotonic() + seconds
    before = _open_descriptors()
    hooks = _ForkHooks(os.register_at_fork)
    os.register_at_fork = hooks  # for as long as strangers' modules load
    try:
        for name in names:
            if time.monotonic() > ends or resident_bytes(os.getpid()) > limit_bytes:
                return
            if name not in sys.modules:
                _import(name, before, hooks)
    finally:
        os.register_at_fork = hooks.original


class _ForkHooks:
    """Stands in for os.register_at_fork; remembers registrations by installed packages."""

    def __init__(self, original: Any) -> None:
        self.original = original
        self.registered: list[str] = []

    def __call__(self, **functions: Any) -> None:
        path = sys._getframe(1).f_code.co_filename  # noqa: SLF001 - who is calling
        if _is_installed(path):
            self.registered.append(path)
        self.original(**functions)


def _import(name: str, before: set[int], hooks: _ForkHooks) -> None:
    try:
        importlib.import_module(name)
    except BaseException as error:  # noqa: BLE001 - whatever a stranger's module raises; the run will see it for itself
        raise Unfit(f"importing {name} raised {type(error).__name__}", name) from None
    if hooks.registered:
        raise Unfit(f"{name} registers a fork hook", name)
    if _has_threads():
        raise Unfit(f"{name} starts a thread", name)
    if _open_descriptors() - before:
        raise Unfit(f"{name} opens a descriptor", name)
