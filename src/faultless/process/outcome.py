"""How a run ended, why it did not start, or why its end is not known."""

from __future__ import annotations

import errno
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from faultless.contract import Fault, FaultKind
from faultless.process.spec import describe, show_program

if TYPE_CHECKING:
    from faultless.process.capture import Captured
    from faultless.process.spec import Spec


@dataclass(frozen=True, kw_only=True)
class Finished:
    exit_code: int | None
    """None when a signal ended it."""
    signal: str | None
    """The signal's name, such as SIGSEGV."""
    stdout: Captured
    stderr: Captured
    duration_seconds: float
    timed_out: bool
    leftovers: int
    """Processes that outlived a command which ended by itself; they are gone now."""
    survivors: int
    """Processes that could not be killed: another user's, or stuck in the kernel."""


def finish(spec: Spec, event: dict[str, Any], stdout: Captured, stderr: Captured) -> Finished:
    exit_code, signal_name = read_status(event["ended"]) if "ended" in event else (None, None)
    return Finished(
        exit_code=exit_code,
        signal=signal_name,
        stdout=stdout,
        stderr=stderr,
        duration_seconds=event.get("seconds", spec.deadline_seconds),
        timed_out=event["timed_out"],
        leftovers=event["leftovers"],
        survivors=event["survivors"],
    )


def read_status(wait_status: int) -> tuple[int | None, str | None]:
    """The exit code, or the name of the signal that ended it."""
    code = os.waitstatus_to_exitcode(wait_status)
    return (code, None) if code >= 0 else (None, name_signal(-code))


def name_signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # the real-time signals between the first and the last
        return f"SIGRTMIN+{number - signal.SIGRTMIN}"


def lose_touch(spec: Spec, error: OSError) -> Fault:
    return Fault(
        FaultKind.ENGINE_ERROR,
        f"lost touch with {show_program(spec)}: {os.strerror(error.errno or 0).lower()}",
        hint="it was stopped, but part of its work may be done",
        details=describe(spec) | {"errno": errno.errorcode.get(error.errno or 0)},
    )


def lose(spec: Spec) -> Fault:
    return Fault(
        FaultKind.CRASH,
        f"the process that supervised {show_program(spec)} was killed, so its fate is not known",
        hint="does it kill its parents? It was stopped unless both were killed; part of its work may be done",
        details=describe(spec),
    )


_CWD = {
    errno.ENOENT: ("its working folder does not exist", "create the folder, or name another"),
    errno.ENOTDIR: ("its working folder is not a folder", "name a folder"),
    errno.EACCES: ("its working folder may not be entered", "give the server's user access to the folder"),
}
_NO_FILES = "the system allows no more open files", "close some, or raise the limit (ulimit -n)"
_START = {
    errno.ENOENT: ("there is no such program", "install it, put its folder on PATH, or name it by its path"),
    errno.EACCES: (
        "it is not executable",
        "make it executable (chmod +x), or start it through its interpreter",
    ),
    errno.ENOEXEC: (
        "the system does not know how to run it",
        "does its first line name an interpreter (#!…)?",
    ),
    errno.E2BIG: (
        "its arguments and environment are too long for the system",
        "pass less, or pass it in a file",
    ),
    errno.ENOMEM: ("there is not enough memory", "end other programs, then call again"),
    errno.EAGAIN: (
        "there is no free process slot",
        "end other programs or raise the limit (ulimit -u), then call again",
    ),
    errno.EMFILE: _NO_FILES,
    errno.ENFILE: _NO_FILES,
    errno.ETXTBSY: ("somebody is still writing it", "call again when it is complete"),
}
_MISSING_INTERPRETER = (
    "the interpreter its first line names is missing",
    "install that interpreter, or correct the line",
)


def refuse(spec: Spec, step: str, number: int | None) -> Fault:
    """A fault for a command that was not started because `step` met the error `number`."""
    reason, hint = _explain(spec, step, number or 0)
    return Fault(
        FaultKind.UNAVAILABLE,
        f"cannot start {show_program(spec)}: {reason}",
        hint=hint,
        details=describe(spec) | {"step": step, "errno": errno.errorcode.get(number or 0)},
    )


def _explain(spec: Spec, step: str, number: int) -> tuple[str, str | None]:
    if step == "cwd" and number in _CWD:
        return _CWD[number]
    program = spec.command[0]
    if step == "start" and number == errno.ENOENT and "/" in program and Path(spec.cwd, program).is_file():
        return _MISSING_INTERPRETER
    return _START.get(
        number, (os.strerror(number).lower() if number else "the supervising process is gone", None)
    )
