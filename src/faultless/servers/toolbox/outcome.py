"""How a run ended, as an answer or as a fault that carries the tool's output."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from faultless.contract import Fault, FaultKind, Json, clean
from faultless.contract.portable import make_portable
from faultless.kit import log
from faultless.kit.toolset import Call, Output
from faultless.servers.toolbox.definition import JSON, TEXT, Definition

if TYPE_CHECKING:
    from faultless.process import Captured, Finished
    from faultless.servers.toolbox.environment import Redactor

STDERR_TAIL = 4000
FAULT_OUTPUT = 100_000
_MESSAGE_TAIL = 300


def read_run(definition: Definition, finished: Finished, call: Call, redactor: Redactor) -> Output:
    """The answer of a process that ended; raises Fault when it did not do its job."""
    shown = replace(
        finished,
        stdout=redactor.blot_captured(finished.stdout),
        stderr=redactor.blot_captured(finished.stderr),
    )
    stderr = shown.stderr.text.strip()
    _log_run(definition, finished, stderr)
    told = run_details(shown)
    name = definition.name
    if finished.timed_out:
        raise timed_out(name, deadline_of(finished), told)
    if finished.signal is not None:
        raise Fault(
            FaultKind.CRASH,
            f"{name} was ended by {finished.signal}{_last_line(stderr)}",
            hint="details.stderr holds its last words",
            details=told,
        )
    if finished.exit_code not in definition.ok_exits:
        complaint = _last_line(stderr or shown.stdout.text)
        raise Fault(
            FaultKind.ENGINE_ERROR,
            f"{name} failed with exit code {finished.exit_code}{complaint}",
            hint="output and details.stderr say what the tool found wrong",
            details=told,
        )
    if finished.exit_code:
        call.meta["exit_code"] = finished.exit_code
    return read_output(definition, finished.stdout, call, told)


def run_details(finished: Finished) -> dict[str, Json]:
    return {
        "output": shorten(finished.stdout.text),
        "exit_code": finished.exit_code,
        "signal": finished.signal,
        "stderr": clean(finished.stderr.text.strip()[-STDERR_TAIL:], STDERR_TAIL),
        "duration_seconds": round(finished.duration_seconds, 3),
    }


def shorten(text: str) -> str:
    """Both ends of output that goes into a fault."""
    if len(text) <= FAULT_OUTPUT:
        return text
    half = FAULT_OUTPUT // 2
    return f"{text[:half]}\n[{len(text) - 2 * half} characters left out]\n{text[-half:]}"


def deadline_of(finished: Finished) -> float:
    return round(finished.duration_seconds, 1)


def timed_out(name: str, seconds: float, told: dict[str, Json]) -> Fault:
    return Fault(
        FaultKind.TIMEOUT,
        f"{name} did not finish within {seconds:g} seconds and was stopped",
        hint="ask for less, or give the tool a longer @timeout",
        details={**told, "timeout_seconds": seconds},
    )


def read_output(definition: Definition, stdout: Captured, call: Call, told: dict[str, Json]) -> Output:
    if definition.output == TEXT:
        return _read_text(definition, stdout, call)
    if stdout.dropped_bytes:
        raise Fault(
            FaultKind.TOO_LARGE,
            f"{definition.name} printed {len(stdout.data) + stdout.dropped_bytes} bytes,"
            f" more than the {len(stdout.data)} that are kept of {definition.output}",
            hint="print less, or serve with a larger --output-bytes",
            details=told,
        )
    if definition.output == JSON:
        return answer_with(definition, _parse(definition, stdout, told), told)
    return Output(None, "", [_binary(definition, stdout.data)])


def answer_with(definition: Definition, value: Any, told: dict[str, Json]) -> Output:  # noqa: ANN401 - any JSON value
    """A JSON value as the answer, proved to fit the declared schema."""
    portable = make_portable(value)
    violations = definition.output_checker.find_violations(portable) if definition.output_checker else []
    if violations:
        first = violations[0]
        raise Fault(
            FaultKind.ENGINE_ERROR,
            clean(f"the output of {definition.name} breaks its schema: {first['field']}: {first['detail']}"),
            hint="correct the tool, or its output schema",
            details={**told, "violations": list(violations)},
        )
    return Output(portable if isinstance(portable, dict) else None, to_json(portable).decode())


def _read_text(definition: Definition, stdout: Captured, call: Call) -> Output:
    invalid = _count_invalid(stdout)
    if invalid:
        call.meta["invalid_utf8_bytes"] = invalid
    if stdout.dropped_bytes:
        call.meta["dropped_bytes"] = stdout.dropped_bytes
    if invalid or stdout.dropped_bytes:
        log.warn(
            "output was changed",
            tool=definition.name,
            invalid_utf8_bytes=invalid,
            dropped_bytes=stdout.dropped_bytes,
        )
    return Output(None, stdout.text.rstrip("\n"))


def _count_invalid(stdout: Captured) -> int:
    if "\ufffd" not in stdout.text:
        return 0
    text = stdout.data.decode(errors="surrogateescape")
    return sum("\udc80" <= mark <= "\udcff" for mark in text)


def _parse(definition: Definition, stdout: Captured, told: dict[str, Json]) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return json.loads(stdout.data, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as problem:
        reason = "it printed nothing" if not stdout.data.strip() else clean(str(problem), 200)
        raise Fault(
            FaultKind.PARSE_ERROR,
            f"the output of {definition.name} is not JSON: {reason}",
            hint="print one JSON document to standard output, and everything else to standard error",
            details=told,
        ) from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _binary(definition: Definition, data: bytes) -> dict[str, Json]:
    text = base64.b64encode(data).decode()
    family = definition.output.split("/", 1)[0]
    if family in {"image", "audio"}:
        return {"type": family, "data": text, "mimeType": definition.output}
    blob: dict[str, Json] = {
        "uri": f"tool://{definition.name}/output",
        "mimeType": definition.output,
        "blob": text,
    }
    return {"type": "resource", "resource": blob}


def _last_line(text: str) -> str:
    """The line that most programs put their complaint on."""
    lines = [line for line in text.splitlines() if line.strip()]
    return f": {clean(lines[-1].strip(), _MESSAGE_TAIL)}" if lines else ""


def _log_run(definition: Definition, finished: Finished, stderr: str) -> None:
    if stderr:
        log.info(
            "tool wrote to stderr", tool=definition.name, stderr=clean(stderr[-STDERR_TAIL:], STDERR_TAIL)
        )
    if finished.leftovers or finished.survivors:
        log.warn(
            "tool left processes behind",
            tool=definition.name,
            ended=finished.leftovers,
            survivors=finished.survivors,
        )
