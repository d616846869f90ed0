"""Run a command under a deadline, with bounded capture, and leave nothing of it behind."""

from faultless.process.attend import REPORT_FD_VARIABLE
from faultless.process.capture import Captured
from faultless.process.child import Child, run, start
from faultless.process.launcher import Launcher, get_ready
from faultless.process.lines import Lines
from faultless.process.seam import Kernel
from faultless.process.spec import Finished, Spec

__all__ = [
    "REPORT_FD_VARIABLE",
    "Captured",
    "Child",
    "Finished",
    "Kernel",
    "Launcher",
    "Lines",
    "Spec",
    "get_ready",
    "run",
    "start",
]
