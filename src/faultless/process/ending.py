"""How a run ended, or why that is not known."""

from __future__ import annotations

import errno
import os
import signal
from typing import TYPE_CHECKING, Any

from faultless.contract import Fault, FaultKind
from faultless.process.refusal import describe, show_program
from faultless.process.spec import Finished

if TYPE_CHECKING:
    from faultless.process.capture import Captured
    from faultless.process.spec import Spec


def finish(spec: Spec, event: dict[str, Any], stdout: Captured, stderr: Captured) -> Finished:
    code = os.waitstatus_to_exitcode(event["ended"]) if "ended" in event else None
    return Finished(
        exit_code=code if code is not None and code >= 0 else None,
        signal=name_signal(-code) if code is not None and code < 0 else None,
        stdout=stdout,
        stderr=stderr,
        duration_seconds=event.get("seconds", spec.deadline_seconds),
        timed_out=event["timed_out"],
        leftovers=event["leftovers"],
        survivors=event["survivors"],
    )


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
        hint="does the command kill its parent? It was stopped, but part of its work may be done",
        details=describe(spec),
    )
