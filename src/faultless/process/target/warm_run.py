"""A fork of the warm parent: be what a freshly started `python -m PROGRAM` would be, run it, end like it."""

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

from . import fitness, supervisor, wire
from .system import close_all_but

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping, Sequence

    from .system import System

_PREWARM_SECONDS = 30
READY = b"r"
_path: list[str] = []


def remember_path() -> None:
    """The import path as the interpreter set it up, less what belongs to this start."""
    given = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    _path[:] = [entry for entry in sys.path if entry not in given]


def run_standby(
    system: System, line: socket.socket, program: str, prewarm: Callable[[], None] | None
) -> None:
    """In a process forked ahead: prewarm, wait for the run request, run it to its end."""
    detach()
    close_all_but({line.fileno()})
    try:
        if prewarm is not None:
            _prewarm(prewarm, line)
        line.sendall(READY)
        received = wire.receive_packed(system, line)
    except BaseException:  # noqa: BLE001 - nobody has been promised anything, and the run can do without
        received = None
    if received is None:
        os._exit(1)
    asked, (*descriptors, here) = received
    line.close()
    os.fchdir(here)
    os.close(here)
    take_descriptors(supervisor.plan_copies(system, descriptors, asked["targets"]))
    for descriptor in descriptors:
        os.close(descriptor)
    run(program, asked["command"], asked["env"])


def _prewarm(prewarm: Callable[[], None], line: socket.socket) -> None:
    signal.alarm(_PREWARM_SECONDS)
    prewarm()
    signal.alarm(0)
    sys.stdout.flush()
    sys.stderr.flush()
    fitness.check_process({line.fileno()})
    gc.collect()
    gc.freeze()  # or the run would collect what prewarming left


def take_descriptors(actions: Sequence[tuple[int, int, int]]) -> None:
    """Put the run's descriptors where they belong and close all others."""
    try:
        for _kind, source, target in actions:
            os.dup2(source, target)
        close_all_but({number for _kind, source, target in actions for number in (source, target)})
    except OSError:
        os._exit(127)


def detach() -> None:
    """A session of its own, and no signal handler of the parent."""
    os.setsid()
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def run(program: str, command: list[str], env: Mapping[str, str]) -> None:
    """In a process that is detached already."""
    _reset_interpreter(command, env)
    os._exit(_finish(_run_module(program)))


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


def _run_module(program: str) -> int:
    try:
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    except SystemExit as leaving:
        if isinstance(leaving.code, int):
            return leaving.code & 0xFF
        if leaving.code is not None:
            sys.stderr.write(f"{leaving.code}\n")
        return int(leaving.code is not None)
    except KeyboardInterrupt:
        traceback.print_exc()
        return -signal.SIGINT
    except BaseException:  # noqa: BLE001 - the interpreter's own last resort
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


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
