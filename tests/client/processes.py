"""Which processes the servers of a test have left, wherever they went."""

import contextlib
import os
import select

import psutil

OWNER = "HOSTILE_OWNER"


def owner() -> dict[str, str]:
    """For the environment of a server, which all it starts inherits."""
    return {OWNER: str(os.getpid())}


def children() -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            is_dead = process.status() == psutil.STATUS_ZOMBIE
            if not is_dead and process.environ().get(OWNER) == str(os.getpid()):
                found.append(process)
    return found


def is_gone(process_id: int, within_seconds: float = 0) -> bool:
    """Whether a process has ended, waiting for it at most so long."""
    try:
        handle = os.pidfd_open(process_id)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], within_seconds)[0])
    finally:
        os.close(handle)
