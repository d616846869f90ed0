"""How what goes wrong around an analysis is put into words; the worker words its own refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind
from faultless.contract.text import clean

if TYPE_CHECKING:
    from faultless import process
    from faultless.servers.symbolic.worker.faultless_symbolic_worker.protocol import RefusalFields


def too_large(size_bytes: int, limit_bytes: int) -> Fault:
    return Fault(
        FaultKind.TOO_LARGE,
        f"The code is {size_bytes} bytes; the limit is {limit_bytes}",
        hint="send only the function and what it needs, or start the server with a larger --max-code-kb",
    )


def ended_without_answer(finished: process.Finished, deadline_seconds: float) -> Fault:
    if finished.timed_out:
        return overdue(deadline_seconds)
    if "ModuleNotFoundError" in finished.stderr.text:
        return Fault(
            FaultKind.UNAVAILABLE,
            "The symbolic engine will not start",
            hint="install it with: pip install 'faultless[symbolic]'; then run: faultless doctor",
        )
    return Fault(
        FaultKind.CRASH,
        "The process that analysed the code died",
        hint="most often memory: raise --memory-mb, or analyse a smaller function",
    )


def overdue(seconds: float) -> Fault:
    return Fault(
        FaultKind.TIMEOUT,
        f"No answer within {seconds:g} seconds",
        hint="ask again with a larger timeout_seconds, or when fewer analyses run at once",
    )


def refused(data: RefusalFields) -> Fault:
    """A refusal as the worker wrote it."""
    return Fault(
        FaultKind(data["kind"]),
        clean(data["message"]),
        hint=data["hint"],
        details=data["details"],
    )
