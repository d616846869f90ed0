"""After the fork: become what a freshly started `python -m PROGRAM` would be, run it, and end like it."""

from __future__ import annotations

import atexit
import gc
import os
import random
import runpy
import signal
import sys
import threading
import traceback
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_path: list[str] = []


def remember_path() -> None:
    """The import path as the interpreter set it up, less what belongs to this start."""
    given = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    _path[:] = [entry for entry in sys.path if entry not in given and not _is_lent(entry)]


def _is_lent(entry: str) -> bool:
    return any(
        os.path.isfile(os.path.join(entry, package, "__init__.py"))
        for package in ("warden", "faultless_warm")
    )


def take_descriptors(actions: Sequence[tuple[int, int, int]]) -> None:
    """Put the run's descriptors where they belong and close all others."""
    try:
        for _kind, source, target in actions:
            os.dup2(source, target)
        close_all_but({number for _kind, source, target in actions for number in (source, target)})
    except OSError:
        os._exit(127)


def close_all_but(kept: set[int]) -> None:
    lowest = 3
    for number in sorted(kept):
        if number >= lowest:
            os.closerange(lowest, number)
            lowest = number + 1
    os.closerange(lowest, max(lowest, _descriptor_limit()))


def _descriptor_limit() -> int:
    return max((int(entry) for entry in os.listdir("/proc/self/fd")), default=2) + 1


def detach() -> None:
    """Be nobody's business but one's own."""
    os.setsid()
    _reset_signals()


def run(program: str, command: list[str], env: Mapping[str, str]) -> None:
    """In a process that is detached already."""
    _reset_interpreter(command, env)
    os._exit(_finish(_run(program)))


def _reset_signals() -> None:
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _reset_interpreter(command: list[str], env: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(env)
    given = [entry for entry in env.get("PYTHONPATH", "").split(os.pathsep) if entry]
    here = [] if env.get("PYTHONSAFEPATH") else [os.getcwd()]
    sys.path[:] = [*here, *given, *_path]
    for entry in list(sys.path_importer_cache):
        if not entry.startswith((sys.prefix, sys.base_prefix)):  # what is installed has not changed
            del sys.path_importer_cache[entry]
    sys.argv[:] = ["-m", *command[3:]]
    if hasattr(sys, "orig_argv"):
        sys.orig_argv[:] = command
    sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__
    random.seed()
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
    gc.enable()


def _run(program: str) -> int:
    try:
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    except SystemExit as leaving:
        return _status(leaving.code)
    except KeyboardInterrupt:
        traceback.print_exc()
        return -signal.SIGINT
    except BaseException:  # noqa: BLE001 - the interpreter's own last resort
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def _status(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    sys.stderr.write(f"{code}\n")
    return 1


def _finish(status: int) -> int:
    """What the interpreter does before it takes itself apart, which takes long and which nobody sees."""
    # There is no public way to do what the interpreter does here.
    threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001 - as above
    atexit._run_exitfuncs()  # noqa: SLF001 - as above
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            status = status or 120  # as the interpreter says it
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status
