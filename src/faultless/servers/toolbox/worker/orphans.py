"""Daemons that a function leaves behind become children of the worker, so that they are seen."""

from __future__ import annotations

import ctypes
import sys

PR_SET_CHILD_SUBREAPER = 36


def adopt() -> None:
    """Where the kernel offers it; elsewhere a daemon lives until the worker ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
