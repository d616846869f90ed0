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
from pathlib import Path
from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind, clean
from faultless.contract.text import last_line
from faultless.kit.validation import bounded_echo, invalid_params
from faultless.servers.pytest.record import make_rows, make_test_rows
from faultless.servers.pytest.results import cut_middle, show_collection_errors, show_rows, summarise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from faultless.contract import Json
    from faultless.process import Finished
    from faultless.servers.pytest.interpreter import Interpreter, Problem
    from faultless.servers.pytest.record import Record
    from faultless.servers.pytest.session import Session

INTERRUPTED, _INTERNAL_ERROR, USAGE_ERROR, NO_TESTS = 2, 3, 4, 5
_VERDICTS = frozenset({0, 1, NO_TESTS})
_FAILED = "pytest execution failed: "
_OUTPUT_LIMIT = 20_000
_NAMED_FILES = 3
_ENDED_BY_PLUGIN = re.compile(r"^\++ Timeout \++$", re.MULTILINE)
_FRAME = re.compile(r'^  File "(?P<file>.*)", line (?P<line>\d+) in (?P<function>.*)$')
_ENGINE = ("/_pytest/", "/pluggy/", "/pytest/__main__.py")
_LIBRARY = ("site-packages", "/lib/python")


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
    duration = finished.duration_seconds if finished else 0.0
    details: dict[str, Json] = {
        "exit_code": finished.exit_code if finished else None,
        "signal": finished.signal if finished and not finished.timed_out else None,
        "stdout": _bound(finished.stdout.text.replace(session.mark + "\n", ""), session) if finished else "",
        "stderr": _bound(finished.stderr.text, session) if finished else "",
        "command": list(session.job.command),
        "interpreter": session.job.interpreter.describe(),
        "duration": round(duration, 3) if finished else None,
        "collection_errors": [error.model_dump() for error in show_collection_errors(record)],
        "tests": [row.model_dump(mode="json") for row in show_rows(make_test_rows(record), verbosity).shown],
        "summary": summarise(record, make_rows(record), duration).model_dump(),
        "running": list(record.running),
        "stack": reason.stack,
    }
    return Fault(reason.kind, reason.message, hint=reason.hint, details=details)


def _find_reason(session: Session) -> _Reason | None:
    finished, record = session.finished, session.record
    if finished is None:
        return _lost(session)
    if finished.timed_out:
        return _timeout(session)
    if finished.signal is not None:
        said = f"pytest subprocess terminated with signal {finished.signal}{_while_running(record)}"
        return _Reason(FaultKind.CRASH, said, _crash_hint(record))
    code = finished.exit_code
    if record.collection_errors and not record.tests and code in {1, INTERRUPTED}:
        return _collection_error(record)
    if code == INTERRUPTED and not record.was_stopped_on_purpose:
        return _interrupted(record, record.interruption or "pytest stopped early")
    if code == _INTERNAL_ERROR:
        return _internal_error(
            _last_line(record.internal_error or finished.stderr.text),
            hint="look at data.stdout: a plugin or a conftest hook raised, or pytest itself is broken",
        )
    if code == USAGE_ERROR:
        return _usage_error(session, finished)
    if code not in {*_VERDICTS, INTERRUPTED} or record.finish is None:
        return _unexpected_exit(record, finished)
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
    stack, stuck = _read_stacks(session.stacks.decode(errors="replace"), session.job.root)
    place = f", at {stuck}" if stuck else ""
    where = _while_running(session.record) or (" while collecting tests" if session.record.worker else "")
    return _Reason(
        FaultKind.TIMEOUT,
        f"pytest execution exceeded timeout of {session.job.deadline_seconds:g} seconds{where}{place}",
        hint="look at the line named, or pass a larger timeout; data.stack has every thread",
        stack=stack,
    )


def _collection_error(record: Record) -> _Reason:
    errors = show_collection_errors(record)
    named = "; ".join(
        f"{error.file}{'' if error.line is None else f':{error.line}'}: {error.error_type}: {error.message}"
        for error in errors[:_NAMED_FILES]
    )
    more = f"; and {len(errors) - _NAMED_FILES} more" if len(errors) > _NAMED_FILES else ""
    count = f"{len(errors)} file{'s'[: len(errors) != 1]}"
    return _Reason(
        FaultKind.COLLECTION_ERROR,
        f"{_FAILED}{count} could not be collected: {clean(named, 1500)}{more}",
        hint="fix what data.collection_errors names; discover_tests lists the tests of the other files",
    )


def _interrupted(record: Record, reason: str) -> _Reason:
    told = f"{record.ended} of {len(record.planned)} planned tests had ended"
    return _Reason(
        FaultKind.INTERRUPTED,
        f"{_FAILED}Test execution was interrupted: {clean(reason, 500)}{_while_running(record)}; {told}",
        hint="run it again; the results so far are in data.tests",
    )


def _internal_error(said: str, hint: str) -> _Reason:
    return _Reason(FaultKind.ENGINE_ERROR, f"{_FAILED}pytest internal error occurred: {said}", hint)


def _usage_error(session: Session, finished: Finished) -> _Reason:
    errors = show_collection_errors(session.record)
    if errors:
        said = f"{errors[0].file} could not be imported: {errors[0].error_type}: {errors[0].message}"
        hint = f"fix {errors[0].file}"
    else:  # what pytest, or the parser of its options, calls an error
        lines = [line.strip() for line in finished.stderr.text.splitlines() if line.strip()]
        parser = [line.partition(": error: ")[2] for line in lines if ": error: " in line]
        marked = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
        said = " ".join(parser or marked) or _last_line(finished.stderr.text)
        hint = "correct the argument that pytest names, or the project's pytest configuration"
    return _Reason(
        FaultKind.USAGE_ERROR,
        f"{_FAILED}Invalid pytest arguments (validation failure): {clean(_relate(said, session), 1500)}",
        hint,
    )


def _unexpected_exit(record: Record, finished: Finished) -> _Reason:
    if _ENDED_BY_PLUGIN.search(finished.stderr.text + finished.stdout.text) and record.running:
        said = f"{_FAILED}pytest-timeout ended the whole run{_while_running(record)}"
        hint = "raise that test's time-out, or set timeout_method = signal, which ends only the test"
        return _Reason(FaultKind.TIMEOUT, said, f"{hint}; data.stderr has the stacks")
    if record.worker is None and not record.planned:
        said = _last_line(finished.stderr.text or finished.stdout.text)
        return _internal_error(
            f"it ended before a session began: {said}",
            hint="look at data.stderr: a plugin or the project's configuration keeps pytest from starting",
        )
    said = f"{_FAILED}pytest exited with unexpected code {finished.exit_code}{_while_running(record)}"
    return _Reason(FaultKind.CRASH, said, _crash_hint(record))


def _while_running(record: Record) -> str:
    running = list(record.running)
    if not running:
        return ""
    more = f" and {len(running) - 1} more" if len(running) > 1 else ""
    return f" while running {clean(running[0], 500)}{more}"


def _crash_hint(record: Record) -> str:
    if not record.running:
        return "look at data.stderr for what the interpreter said last"
    return "run the test that was running alone, or all others without it; data.tests has the results so far"


def _last_line(text: str) -> str:
    return clean(last_line(text, "it said nothing"), 500)


def _bound(text: str, session: Session) -> str:
    return cut_middle(_relate(clean(text, len(text) + 1), session), _OUTPUT_LIMIT)


def _relate(text: str, session: Session) -> str:
    """Paths as the caller names them."""
    return text.replace(f"{session.job.root}/", "")


# ---- where it hung


def _read_stacks(dump: str, root: Path) -> tuple[str | None, str | None]:
    """Every thread's stack, and the innermost line of the user's code in the thread that runs the tests."""
    threads = [block for block in dump.replace(f'"{root}/', '"').split("\n\n") if block.strip()]
    if not threads:
        return None, None
    main = next((block for block in threads if block.startswith("Current thread")), threads[-1])
    frames = [match for line in main.split("\n") if (match := _FRAME.match(line))]
    own = [
        frame
        for frame in frames
        if not Path(frame["file"]).is_absolute() and not any(mark in frame["file"] for mark in _LIBRARY)
    ]
    innermost = next(iter(own or frames), None)
    stuck = innermost and f"{innermost['file']}:{innermost['line']} in {innermost['function']}"
    return "\n\n".join(map(_leave_out_pytest, threads)), stuck


def _leave_out_pytest(thread: str) -> str:
    """What pytest itself called is the same every time."""
    lines = thread.rstrip("\n").split("\n")
    for number, line in enumerate(lines):
        if number > 1 and any(mark in line for mark in _ENGINE):
            return "\n".join([*lines[:number], "  (frames of pytest left out)"])
    return "\n".join(lines)
