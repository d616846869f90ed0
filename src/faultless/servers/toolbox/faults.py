"""How the failures of a tool are put into words."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any

from faultless.contract import Fault, FaultKind, Json, clean
from faultless.contract.text import last_line
from faultless.kit.validation import bounded_echo, invalid_params

if TYPE_CHECKING:
    from faultless.process import Finished
    from faultless.servers.toolbox.definition import BashFunction, Definition, Skipped

STDERR_TAIL = 4000
_FAULT_OUTPUT = 100_000
_TRACEBACK = 20_000
_MESSAGE_TAIL = 300
_BROKEN_PROMISE = "Internal error: tool output does not match outputSchema"
_RUN_BY_HAND = "ask for less, or run it by hand with the same arguments to see why"
_READ_ONLY = os.strerror(errno.EROFS)


def explain_left_out(skipped: Skipped) -> Fault:
    return Fault(
        FaultKind.UNAVAILABLE,
        f"Internal error: the tool {skipped.name} is left out: {skipped.source}: {skipped.reason}",
        hint="correct the definition; `faultless toolbox check` shows what is exposed and what is not",
        details={"source": skipped.source, "reason": skipped.reason},
    )


def explain_broken_file(broken: Skipped) -> Fault:
    """For every name that no healthy definition offers: the file may well have offered it."""
    return Fault(
        FaultKind.UNAVAILABLE,
        f"Internal error: {broken.source} cannot be loaded: {broken.reason}",
        hint="correct the file; `faultless toolbox check` shows what is exposed and what is not",
        details={"source": broken.source, "reason": broken.reason},
    )


# Arguments


def explain_violations(definition: Definition, violations: list[dict[str, Json]]) -> Fault:
    if any(str(violation["detail"]).startswith("unknown parameter") for violation in violations):
        return invalid_params(
            violations, hint=f"the parameters are: {', '.join(definition.properties) or 'none'}"
        )
    fields = dict.fromkeys(str(violation["field"]) for violation in violations)
    return invalid_params(violations, hint=f"correct {', '.join(fields)} and call again")


def refuse(name: str, detail: str, value: object) -> Fault:
    violation = {"field": name, "detail": detail, "received_value": bounded_echo(value)}
    return invalid_params([violation], hint=f"correct {name} and call again")


def refuse_size(name: str, size: int, limit_bytes: int) -> Fault:
    return Fault(
        FaultKind.TOO_LARGE,
        f"{name} has {size} bytes; an argument or a variable holds at most {limit_bytes}",
        hint="pass less, or let the tool read its arguments as JSON from standard input",
        details={"field": name, "bytes": size, "limit_bytes": limit_bytes},
    )


# Processes


def describe_run(finished: Finished) -> dict[str, Json]:
    """The details of every fault of a run; the output keeps both ends."""
    output = finished.stdout.text
    if len(output) > _FAULT_OUTPUT:
        half = _FAULT_OUTPUT // 2
        output = f"{output[:half]}\n[{len(output) - 2 * half} characters left out]\n{output[-half:]}"
    return {
        "output": output,
        "exit_code": finished.exit_code,
        "signal": finished.signal,
        "stderr": clean(finished.stderr.text.strip()[-STDERR_TAIL:], STDERR_TAIL),
        "duration_seconds": round(finished.duration_seconds, 3),
    }


def find_fault(definition: Definition, finished: Finished, details: dict[str, Json]) -> Fault | None:
    """Why the run did not do its job; None if it did."""
    stderr = finished.stderr.text
    if finished.timed_out:
        return time_out(definition.name, finished.duration_seconds, details)
    if finished.signal is not None:
        return Fault(
            FaultKind.CRASH,
            f"{definition.name} was ended by {finished.signal}{_quote_complaint(stderr)}",
            hint=_RUN_BY_HAND,
            details=details,
        )
    if finished.exit_code not in definition.ok_exits:
        complaint = _quote_complaint(stderr if stderr.strip() else finished.stdout.text)
        return Fault(
            FaultKind.TOOL_FAILED,
            f"{definition.name} failed with exit code {finished.exit_code}{complaint}",
            hint="correct what it complains about, then call again",
            details=details,
        )
    return None


def _quote_complaint(text: str) -> str:
    line = last_line(text)
    return f": {clean(line, _MESSAGE_TAIL)}" if line else ""


def time_out(name: str, seconds: float, details: dict[str, Json]) -> Fault:
    return Fault(
        FaultKind.TIMEOUT,
        f"{name} did not finish within {seconds:g} seconds and was stopped",
        hint="ask for less, or give the tool a longer @timeout",
        details={**details, "timeout_seconds": seconds},
    )


def explain_uncallable(action: BashFunction, stderr: str) -> Fault:
    reason = clean(last_line(stderr, "it ended by itself"), _MESSAGE_TAIL)
    return Fault(
        FaultKind.UNAVAILABLE,
        f"Internal error: {action.function} of {action.path.name} could not be called: {reason}",
        hint=f"does {action.path.name} define {action.function}, and does bash load it without errors?",
        details={"function": action.function, "stderr": clean(stderr.strip()[-2000:])},
    )


def explain_sandbox(fault: Fault) -> Fault:
    """A tool that met the read-only system cannot know the way out; we do."""
    if _READ_ONLY not in f"{fault.message} {fault.details.get('stderr')}":
        return fault
    return fault.copy(hint="in the sandbox only /tmp and the folders named by --writable can be written to")


# Output


def refuse_output_size(definition: Definition, kept: int, dropped: int, details: dict[str, Json]) -> Fault:
    return Fault(
        FaultKind.TOO_LARGE,
        f"{definition.name} printed {kept + dropped} bytes,"
        f" more than the {kept} that are kept of {definition.output}",
        hint="print less, or serve with a larger --output-bytes",
        details=details,
    )


def explain_unparsable(definition: Definition, reason: str, details: dict[str, Json]) -> Fault:
    broken = f"the output of {definition.name} is not JSON: {reason}"
    return Fault(
        FaultKind.PARSE_ERROR,
        f"{_BROKEN_PROMISE}: {broken}" if definition.output_schema else broken,
        hint="print one JSON document to standard output, and everything else to standard error",
        details=_as_system_failure(details) if definition.output_schema else details,
    )


def explain_broken_schema(
    definition: Definition, violations: list[dict[str, Json]], details: dict[str, Json]
) -> Fault:
    """A broken promise to the client is a failure of the system, as in mcbox: a JSON-RPC error."""
    first = violations[0]
    return Fault(
        FaultKind.ENGINE_ERROR,
        clean(f"{_BROKEN_PROMISE} of {definition.name}: {first['field']}: {first['detail']}"),
        hint="correct the tool, or its output schema",
        details={**_as_system_failure(details), "violations": list(violations)},
    )


def _as_system_failure(details: dict[str, Json]) -> dict[str, Json]:
    """What was printed is told, but not as the tool's answer."""
    return {"printed" if name == "output" else name: value for name, value in details.items()}


# Python functions


def explain_raised(definition: Definition, raised: dict[str, Any], details: dict[str, Json]) -> Fault:
    return Fault(
        FaultKind.TOOL_FAILED,
        clean(f"{definition.name} raised {raised['type']}: {raised['message']}"),
        hint=_point_at(definition, raised["line"]),
        details=details
        | {
            "exception": raised["type"],
            "line": raised["line"],
            "traceback": clean(raised["traceback"], _TRACEBACK),
        },
    )


def _point_at(definition: Definition, line: int | None) -> str:
    place = f", line {line}" if line else ""
    return f"correct the arguments, or the function: {definition.source}{place}"


def explain_unwritable(definition: Definition, reason: str, details: dict[str, Json]) -> Fault:
    return Fault(
        FaultKind.ENGINE_ERROR,
        clean(f"{definition.name} returned what JSON cannot hold: {reason}"),
        hint="return text, numbers, lists, dicts or dataclasses",
        details=details,
    )


def refuse_result_size(definition: Definition, size: int, details: dict[str, Json]) -> Fault:
    return Fault(
        FaultKind.TOO_LARGE,
        f"{definition.name} returned {size} bytes of JSON",
        hint="return less, or write it to a file and return its name",
        details=details,
    )


def explain_promise(definition: Definition, value: object, details: dict[str, Json]) -> Fault:
    return Fault(
        FaultKind.ENGINE_ERROR,
        f"{definition.name} promised text and returned {type(value).__name__}",
        hint="correct the function, or its return hint",
        details=details,
    )


def explain_ended_worker(name: str, finished: Finished | None, details: dict[str, Json]) -> Fault:
    code = finished.exit_code if finished else None
    signal = finished.signal if finished else None
    how = f"was ended by {signal}" if signal else f"ended its interpreter with exit code {code}"
    return Fault(
        FaultKind.CRASH,
        f"{name} {how}",
        hint=_RUN_BY_HAND,
        details={**details, "signal": signal, "exit_code": code},
    )


def explain_garbled() -> Fault:
    return Fault(
        FaultKind.CRASH,
        "the process of a Python function wrote something else where its answer belongs",
        hint="does the function write to descriptors that it did not open?",
        details={"output": ""},
    )
