"""When there is no verdict: which fault, in which words.

what happened                               kind              message begins
an argument that cannot be right            invalid_params    Invalid params: FIELD: …
pytest could not be started                 unavailable       Failed to spawn pytest subprocess: …
deadline passed                             timeout           pytest execution exceeded timeout of N seconds
ended by a signal                           crash             pytest subprocess terminated with signal NAME
files could not be collected (exit 1, 2)    collection_error  pytest execution failed: N files could not be …
exit 2                                      interrupted       … Test execution was interrupted
exit 3                                      engine_error      … pytest internal error occurred
exit 4                                      usage_error       … Invalid pytest arguments (validation failure)
exit 6 and above, or no end of the session  crash             … pytest exited with unexpected code N
the same by pytest-timeout                  timeout           … pytest-timeout ended the whole run
exit 0, 1 or 5, planned tests never ended   interrupted       … Test execution was interrupted
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind, clean
from faultless.contract.text import last_line
from faultless.kit.validation import bounded_echo, invalid_params
from faultless.servers.pytest.places import (
    leave_out_engine,
    read_stack_of_pytest_timeout,
    read_stacks,
    read_traceback,
)
from faultless.servers.pytest.printed import leave_out_exception, leave_out_session
from faultless.servers.pytest.record import make_rows, make_test_rows
from faultless.servers.pytest.results import WHOLE, cut_middle, show_collection_errors, show_rows, summarise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from faultless.contract import Json
    from faultless.process import Finished
    from faultless.servers.pytest.interpreter import Interpreter, Problem
    from faultless.servers.pytest.outputs import CollectionError
    from faultless.servers.pytest.record import Record
    from faultless.servers.pytest.session import Session

INTERRUPTED, _INTERNAL_ERROR, USAGE_ERROR, NO_TESTS = 2, 3, 4, 5
_VERDICTS = frozenset({0, 1, NO_TESTS})
_FAILED = "pytest execution failed: "
_OUTPUT_LIMIT = 20_000
_NAMED_FILES = 3
_ENDED_BY_PLUGIN = re.compile(r"^\++ Timeout \++$", re.MULTILINE)
_NO_MATCH = "(no match in any of ["
_BROKEN_CONFTEST = "ImportError while loading conftest "


# ---- before pytest


def refuse(field: str, detail: str, value: object, hint: str | None = None) -> Fault:
    violation: dict[str, Json] = {"field": field, "detail": detail, "received_value": bounded_echo(value)}
    return invalid_params([violation], hint=hint or ask_whether([]))


def ask_whether(near: Sequence[str], otherwise: str = "discover_tests lists what there is") -> str:
    """The hint for a name that is not there."""
    return f"did you mean {' or '.join(near)}?" if near else otherwise


def describe_no_start(reason: Fault, **details: Json) -> Fault:
    """Why there is no process, in the words callers know."""
    message = f"Failed to spawn pytest subprocess: {reason.message}"
    return Fault(reason.kind, message, hint=reason.hint, details={**reason.details, **details})


def describe_problem(interpreter: Interpreter, problem: Problem) -> Fault:
    """A process was there, but no pytest in it."""
    said = f"{interpreter.path} ({interpreter.reason}): {problem.text}"
    reason = Fault(FaultKind.UNAVAILABLE, said, hint=problem.fix)
    return describe_no_start(reason, interpreter=interpreter.describe())


# ---- after it


@dataclass(frozen=True, slots=True)
class _Reason:
    kind: FaultKind
    message: str
    hint: str | None
    stack: str | None = None


def find_fault(session: Session, verbosity: int) -> Fault | None:
    """The reason why this session proves nothing; None when its results can be believed."""
    reason = _find_reason(session)
    if reason is None:
        return None
    finished, record = session.finished, session.record
    details: dict[str, Json] = {
        "exit_code": finished.exit_code if finished else None,
        "signal": finished.signal if finished and not finished.timed_out else None,
        **_tell_output(session, reason, verbosity),
        "command": [_relate(word, session) for word in session.job.command],
        "duration": round(finished.duration_seconds, 3) if finished else None,
        "collection_errors": _tell_errors(record, verbosity),
    }
    return Fault(
        reason.kind,
        reason.message,
        hint=reason.hint,
        details=details
        | _tell_results(session, verbosity)
        | ({"stack": reason.stack} if reason.stack else {}),
    )


def _tell_output(session: Session, reason: _Reason, verbosity: int) -> dict[str, Json]:
    """What was printed; below verbosity 2 without what the fault says already."""
    if session.finished is None:
        return {"stdout": "", "stderr": ""}
    stdout, stderr = (
        session.finished.stdout.text.replace(session.mark + "\n", ""),
        session.finished.stderr.text,
    )
    if verbosity < WHOLE:
        stdout = leave_out_session(clean(stdout, len(stdout) + 1))
        stderr = "" if _is_told(stderr, reason, session) else leave_out_engine(stderr)
    return {"stdout": _bound(stdout, session), "stderr": _bound(stderr, session)}


def _is_told(stderr: str, reason: _Reason, session: Session) -> bool:
    """Whether the message, or a collection error, holds all of it."""
    if stderr.startswith(_BROKEN_CONFTEST):
        return bool(session.record.collection_errors)
    lines = [line for line in _relate(stderr, session).splitlines() if not line.startswith(_NO_MATCH)]
    return all(line.removeprefix("ERROR: ").strip() in reason.message for line in lines)


def _tell_errors(record: Record, verbosity: int) -> list[Json]:
    errors = show_collection_errors(record)
    for error in errors if verbosity < WHOLE else ():
        exception = f"{error.error_type}: {error.message}"
        error.traceback = error.traceback and leave_out_exception(error.traceback, exception)
    return [error.model_dump() for error in errors]


def _tell_results(session: Session, verbosity: int) -> dict[str, Json]:
    """Of the tests that ran, if any did."""
    record, finished = session.record, session.finished
    if not record.tests and not record.running:
        return {}
    duration = finished.duration_seconds if finished else 0.0
    return {
        "tests": [row.model_dump(mode="json") for row in show_rows(make_test_rows(record), verbosity).shown],
        "summary": summarise(record, make_rows(record), duration).model_dump(),
        "running": list(record.running),
    }


def _find_reason(session: Session) -> _Reason | None:
    finished, record = session.finished, session.record
    if finished is None:
        return _lost(session)
    if finished.timed_out:
        return _timeout(session)
    if finished.signal is not None:
        return _crash(session, finished, f"pytest subprocess terminated with signal {finished.signal}")
    code = finished.exit_code
    if record.collection_errors and not record.tests and code in {1, INTERRUPTED}:
        return _collection_error(session)
    if code == INTERRUPTED and not record.was_stopped_on_purpose:
        return _interrupted(record, record.interruption or "pytest stopped early")
    if code == _INTERNAL_ERROR:
        return _internal_error(session, finished)
    if code == USAGE_ERROR:
        return _usage_error(session, finished)
    if code not in {*_VERDICTS, INTERRUPTED} or record.finish is None:
        return _unexpected_exit(session, finished)
    is_short = session.job.mode == "run" and record.ended < len(record.planned)
    if is_short and not record.was_stopped_on_purpose:
        return _interrupted(record, "pytest ended before all planned tests had run")
    return None


def _lost(session: Session) -> _Reason:
    kind, said, hint = FaultKind.CRASH, "its fate is not known", None
    if session.lost is not None:
        kind, said, hint = session.lost.kind, session.lost.message, session.lost.hint
    where = _while_running(session.record).replace(" while", ", while", 1)
    return _Reason(kind, f"{_FAILED}{said}{where}", hint)


def _timeout(session: Session) -> _Reason:
    stack, stuck = read_stacks(session.stacks.decode(errors="replace"), session.job.root)
    where = _while_running(session.record) or (" while collecting tests" if session.record.worker else "")
    said = f"pytest execution exceeded timeout of {session.job.deadline_seconds:g} seconds{where}"
    return _Reason(
        FaultKind.TIMEOUT,
        f"{said}{f', at {stuck}' if stuck else ''}{_failures_before(session.record)}",
        hint="find out why it waits there, or pass a larger timeout"
        if stuck
        else "pass a larger timeout, or fewer tests",
        stack=stack,
    )


def _collection_error(session: Session) -> _Reason:
    errors = show_collection_errors(session.record)
    named = "; ".join(_tell_error(error, session) for error in errors[:_NAMED_FILES])
    more = f"; and {len(errors) - _NAMED_FILES} more" if len(errors) > _NAMED_FILES else ""
    count = f"{len(errors)} file{'s'[: len(errors) != 1]}"
    return _Reason(
        FaultKind.COLLECTION_ERROR,
        f"{_FAILED}{count} could not be collected: {clean(named, 1500)}{more}",
        hint=_mend(errors)
        + ("; tests of other files run if node_ids names them" if session.record.planned else ""),
    )


def _tell_error(error: CollectionError, session: Session) -> str:
    file = error.file if error.line is None else f"{error.file}:{error.line}"
    return f"{file}: {_tell_cause(error, session, file)}"


def _tell_cause(error: CollectionError, session: Session, told: str) -> str:
    """What is wrong, and the line that is: often not one of the file that could not be collected."""
    place = read_traceback(error.traceback or "", session.job.root)
    where = "" if place is None or f"{place.file}:{place.line}" == told else f", raised at {place}"
    return f"{error.error_type}: {error.message}{where}"


def _mend(errors: Sequence[CollectionError]) -> str:
    if all(error.error_type == "ModuleNotFoundError" for error in errors):
        return "install it, or correct the import or pythonpath"
    if all(error.error_type == "CollectionError" for error in errors):
        return "do what pytest says there"
    return "correct that line" if len(errors) == 1 else "correct those lines"


def _interrupted(record: Record, reason: str) -> _Reason:
    told = f"{record.ended} of {len(record.planned)} planned tests had ended{_failures_before(record)}"
    return _Reason(
        FaultKind.INTERRUPTED,
        f"{_FAILED}Test execution was interrupted: {clean(reason, 500)}{_while_running(record)}; {told}",
        hint="remove what stops it, or run it again",
    )


def _internal_error(session: Session, finished: Finished) -> _Reason:
    raised = session.record.internal_error
    place = read_traceback(raised or "", session.job.root)
    said = f"pytest internal error occurred: {_last_line(raised or finished.stderr.text)}"
    return _Reason(
        FaultKind.ENGINE_ERROR,
        f"{_FAILED}{said}{f', raised at {place}' if place else ''}",
        hint="correct the code there"
        if place is not None and place.is_own
        else "update the plugin that raised it, or disable it with -p no:NAME in addopts",
    )


def _usage_error(session: Session, finished: Finished) -> _Reason:
    errors = show_collection_errors(session.record)
    if errors:
        said = f"{errors[0].file} could not be imported: {_tell_cause(errors[0], session, errors[0].file)}"
        hint = _mend(errors[:1])
    else:  # what pytest, or the parser of its options, calls an error
        lines = [line.strip() for line in finished.stderr.text.splitlines() if line.strip()]
        parser = [line.partition(": error: ")[2] for line in lines if ": error: " in line]
        parser += [f"({line})" for line in lines if parser and line.startswith("inifile: ")]
        marked = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
        said = " ".join(parser or marked) or _last_line(finished.stderr.text)
        hint = "correct the argument that pytest names, or the project's pytest configuration"
    return _Reason(
        FaultKind.USAGE_ERROR,
        f"{_FAILED}Invalid pytest arguments (validation failure): {clean(_relate(said, session), 1500)}",
        hint,
    )


def _unexpected_exit(session: Session, finished: Finished) -> _Reason:
    record, printed = session.record, finished.stderr.text + finished.stdout.text
    if _ENDED_BY_PLUGIN.search(printed) and record.running:
        stuck = read_stack_of_pytest_timeout(printed, session.job.root)
        said = f"{_FAILED}pytest-timeout ended the whole run{_while_running(record)}"
        return _Reason(
            FaultKind.TIMEOUT,
            f"{said}{f', at {stuck}' if stuck else ''}{_failures_before(record)}",
            hint="raise that test's time-out, or set timeout_method = signal, which ends only the test",
        )
    if record.worker is None and not record.planned:
        said = _last_line(finished.stderr.text or finished.stdout.text)
        return _Reason(
            FaultKind.ENGINE_ERROR,
            f"{_FAILED}pytest internal error occurred: it ended before a session began: {said}",
            hint="correct the plugin or the configuration that keeps pytest from starting",
        )
    return _crash(session, finished, f"{_FAILED}pytest exited with unexpected code {finished.exit_code}")


def _crash(session: Session, finished: Finished, said: str) -> _Reason:
    record, errors = session.record, finished.stderr.text
    _, place = read_stacks(errors, session.job.root)
    last = f": {_last_line(errors)}" if errors.strip() and not record.running and place is None else ""
    return _Reason(
        FaultKind.CRASH,
        f"{said}{_while_running(record)}{f', at {place}' if place else last}{_failures_before(record)}",
        hint="run that test alone, or the others without it"
        if record.running
        else "run one file at a time to find what ends it",
    )


def _while_running(record: Record) -> str:
    running = list(record.running)
    if not running:
        return ""
    more = f" and {len(running) - 1} more" if len(running) > 1 else ""
    return f" while running {clean(running[0], 500)}{more}"


def _failures_before(record: Record) -> str:
    """Bad news that had come already, for readers of the message alone."""
    failed = [test.node_id for test in record.tests if test.has_failed]
    if not failed:
        return ""
    more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
    return f"; failed before: {clean(failed[0], 200)}{more}"


def _last_line(text: str) -> str:
    return clean(last_line(text, "it said nothing"), 500)


def _bound(text: str, session: Session) -> str:
    return cut_middle(_relate(clean(text, len(text) + 1), session), _OUTPUT_LIMIT)


def _relate(text: str, session: Session) -> str:
    """Paths as the caller names them."""
    return text.replace(f"{session.job.root}/", "")
