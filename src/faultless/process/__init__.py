"""Run a command under a deadline, with bounded capture, and leave nothing of it behind.

`child` is the way in; `target.supervisor`, in another process, ends the command and kills its tree.
"""

from faultless.process.capture import Captured
from faultless.process.child import Child, run, start
from faultless.process.launcher import Kernel, Launcher, get_ready
from faultless.process.lines import Lines
from faultless.process.outcome import Finished, name_signal
from faultless.process.spec import REPORT_FD_VARIABLE, Spec
from faultless.process.target.system import close_all_but, resident_bytes

__all__ = [
    "REPORT_FD_VARIABLE",
    "Captured",
    "Child",
    "Finished",
    "Kernel",
    "Launcher",
    "Lines",
    "Spec",
    "close_all_but",
    "get_ready",
    "name_signal",
    "resident_bytes",
    "run",
    "start",
]
