"""Whether the warm parent may be forked into runs that cannot be told from fresh processes."""

from __future__ import annotations

import os
import sys
import sysconfig
import threading
import time
import warnings

_LINGER_SECONDS = 0.05  # a thread that has been joined is still listed for a moment


class Unfit(Exception):  # noqa: N818 - a state, told to the server
    pass


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
            raise Unfit(f"{name} is no installed package, so it may change between runs")
    return files


def is_ours(name: str) -> bool:
    return name.partition(".")[0] == __name__.partition(".")[0]


def _is_standard(path: str) -> bool:
    roots = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib")]
    return any(path.startswith(os.path.join(os.path.realpath(root), "")) for root in roots)


def _is_installed(path: str) -> bool:
    return f"{os.sep}site-packages{os.sep}" in path or f"{os.sep}dist-packages{os.sep}" in path
