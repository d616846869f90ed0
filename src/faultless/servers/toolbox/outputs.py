"""What the answer of a call is: from what a process printed, or from what a function returned."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from faultless.contract import Json, clean
from faultless.contract.portable import make_portable
from faultless.contract.text import replace_surrogates
from faultless.kit import log
from faultless.kit.toolset import Call, Output
from faultless.servers.toolbox import faults
from faultless.servers.toolbox.definition import JSON, TEXT, Definition, PythonFunction
from faultless.servers.toolbox.workplace import hide_captured

if TYPE_CHECKING:
    from faultless.contract.redaction import Redactor
    from faultless.process import Captured, Finished


def read_run(definition: Definition, finished: Finished, call: Call, redactor: Redactor) -> Output:
    """The answer of a process that ended; raises Fault when it did not do its job."""
    shown = replace(
        finished,
        stdout=hide_captured(redactor, finished.stdout),
        stderr=hide_captured(redactor, finished.stderr),
    )
    _log_run(definition, shown)
    details = faults.describe_run(shown)
    if fault := faults.find_fault(definition, shown, details):
        raise fault
    if finished.exit_code:
        call.meta["exit_code"] = finished.exit_code
    stdout = finished.stdout
    if definition.output == TEXT:
        return _read_text(definition, stdout, call)
    if stdout.dropped_bytes:
        raise faults.refuse_output_size(definition, len(stdout.data), stdout.dropped_bytes, details)
    if definition.output == JSON:
        return _answer_with(definition, _parse(definition, stdout.data, details), details)
    return Output(None, "", [_make_content(definition, stdout.data)])


def read_return(
    definition: Definition,
    action: PythonFunction,
    answer: dict[str, Any],
    details: dict[str, Json],
    redactor: Redactor,
) -> Output:
    """The answer of a function that ended; raises Fault when it did not return what it should."""
    if raised := answer.get("raised"):
        hide_message = redactor.hide_beginning if raised["is_cut"] else redactor.hide_text
        shown = {
            "message": hide_message(raised["message"]),
            "traceback": redactor.hide_text(raised["traceback"]),
        }
        raise faults.explain_raised(definition, raised | shown, details)
    if "unwritable" in answer:
        raise faults.explain_unwritable(definition, answer["unwritable"], details)
    if "too_large" in answer:
        raise faults.refuse_result_size(definition, answer["too_large"], details)
    value = answer["returned"]
    if action.returns_text or isinstance(value, str):
        if definition.output_schema is not None:
            return _answer_with(definition, {"result": value}, details)
        if not isinstance(value, str):
            raise faults.explain_promise(definition, value, details)
        return Output(None, replace_surrogates(value))
    if value is None and not action.wraps_result:
        return Output(None, "")
    return _answer_with(definition, {"result": value} if action.wraps_result else value, details)


def _answer_with(definition: Definition, value: Any, details: dict[str, Json]) -> Output:  # noqa: ANN401 - any JSON value
    """A JSON value as the answer, proved to fit the declared schema."""
    portable = make_portable(value)
    violations = definition.output_checker.find_violations(portable) if definition.output_checker else []
    if violations:
        raise faults.explain_broken_schema(definition, violations, details)
    return Output(portable if isinstance(portable, dict) else None, to_json(portable).decode())


def _read_text(definition: Definition, stdout: Captured, call: Call) -> Output:
    invalid = 0
    if "\ufffd" in stdout.text:
        text = stdout.data.decode(errors="surrogateescape")
        invalid = sum("\udc80" <= mark <= "\udcff" for mark in text)
    changes = {"invalid_utf8_bytes": invalid, "dropped_bytes": stdout.dropped_bytes}
    if any(changes.values()):
        call.meta.update({name: count for name, count in changes.items() if count})
        log.warn("output was changed", tool=definition.name, **changes)
    return Output(None, stdout.text.rstrip("\n"))


def _parse(definition: Definition, data: bytes, details: dict[str, Json]) -> Any:  # noqa: ANN401 - any JSON value
    def refuse_constant(name: str) -> None:
        raise ValueError(f"{name} is not JSON")

    try:
        return json.loads(data, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as problem:
        reason = "it printed nothing" if not data.strip() else clean(str(problem), 200)
        raise faults.explain_unparsable(definition, reason, details) from None


def _make_content(definition: Definition, data: bytes) -> dict[str, Json]:
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


_LEVEL = re.compile(r"^\[(TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\] ", re.MULTILINE)


def _log_run(definition: Definition, finished: Finished) -> None:
    """What a tool says keeps the level it was said at, if it says so as mcbox's `log_error` does."""
    stderr = finished.stderr.text.strip()[-faults.STDERR_TAIL :]
    if stderr:
        said = max((log.Level[name] for name in _LEVEL.findall(stderr)), default=log.Level.INFO)
        attributes = {"tool": definition.name, "stderr": clean(stderr, faults.STDERR_TAIL)}
        log.emit(said, "tool wrote to stderr", attributes)
    if finished.leftovers or finished.survivors:
        log.warn(
            "tool left processes behind",
            tool=definition.name,
            ended=finished.leftovers,
            survivors=finished.survivors,
        )
