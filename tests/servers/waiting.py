"""Telling a run from the process that a warm parent keeps ready for the next one."""

import os
from pathlib import Path

import psutil


def is_waiting(process: psutil.Process) -> bool:
    """A process that has not been given a run has nobody to answer to."""
    try:
        return Path(f"/proc/{process.pid}/fd/1").readlink() == Path(os.devnull)
    except OSError:
        return False
