"""Run a command under a deadline, with bounded capture, and leave nothing of it behind."""

from faultless.kit.process.attend import REPORT_FD_VARIABLE
from faultless.kit.process.capture import Captured
from faultless.kit.process.child import Child, run, start
from faultless.kit.process.launcher import Launcher, get_ready
from faultless.kit.process.lines import Lines
from faultless.kit.process.seam import Kernel
from faultless.kit.process.spec import Finished, Spec

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
