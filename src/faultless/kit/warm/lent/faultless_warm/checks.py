"""Whether this process may be forked into a run that cannot be told from a fresh one."""

from __future__ import annotations

import os
import sys
import threading


class Unfit(Exception):  # noqa: N818 - a state, told to the server
    def __init__(self, reason: str, module: str | None = None) -> None:
        super().__init__(reason)
        self.module = module


def check_process(expected: set[int]) -> None:
    """No threads and no descriptors but the expected ones: a fork would share or lose them."""
    threads = count_threads()
    if threads > 1:
        raise Unfit(f"{threads} threads are running")
    strays = open_descriptors() - {0, 1, 2} - expected
    if strays:
        raise Unfit(f"{len(strays)} descriptors were left open")


def count_threads() -> int:
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return threading.active_count()


def open_descriptors() -> set[int]:
    found: set[int] = set()
    for entry in os.listdir("/proc/self/fd"):
        number = int(entry)
        try:
            os.fstat(number)
        except OSError:  # the descriptor of this listing
            continue
        found.add(number)
    return found


def loaded_files(foreign: list[str]) -> list[list[str | int]]:
    """Every loaded file with the stamp that tells a later change; Unfit if one belongs to the project."""
    files: list[list[str | int]] = []
    for name, module in sorted(sys.modules.items()):
        path = getattr(module, "__file__", None)
        if not isinstance(path, str):
            continue
        real = os.path.realpath(path)
        if any(real.startswith(os.path.join(root, "")) for root in foreign) and not is_installed(real):
            raise Unfit(f"{name} belongs to the project", name)
        if is_installed(real):
            status = os.stat(real)
            files.append([real, status.st_mtime_ns, status.st_size])
    return files


def is_installed(path: str) -> bool:
    return f"{os.sep}site-packages{os.sep}" in path or f"{os.sep}dist-packages{os.sep}" in path


def resident_bytes() -> int:
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
