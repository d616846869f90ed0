"""When a run is no verdict: which fault, in which words.

what happened                               kind              message begins
deadline passed                             timeout           pytest execution exceeded timeout of N seconds
ended by a signal                           crash             pytest subprocess terminated with signal NAME
files could not be collected (exit 1, 2)    collection_error  pytest execution failed: N files could not be …
exit 2                                      interrupted       … Test execution was interrupted
exit 3                                      engine_error      … pytest internal error occurred
exit 4                                      usage_error       … Invalid pytest arguments (validation failure)
exit 6 and above, or no end of the session  crash             … pytest exited with unexpected code N
exit 0, 1 or 5, planned tests never ended   interrupted       … Test execution was interrupted
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind, clean
from faultless.servers.pytest import answer
from faultless.servers.pytest.rows import make_rows, make_test_rows
from faultless.servers.pytest.stacks import Stacks, read_stacks

if TYPE_CHECKING:
    from faultless.contract import Json
    from faultless.process import Finished
    from faultless.servers.pytest.record import Record
    from faultless.servers.pytest.session import Session

FAILED = "pytest execution failed: "
OUTPUT_LIMIT = 20_000
INTERRUPTED, INTERNAL_ERROR, USAGE_ERROR, NO_TESTS = 2, 3, 4, 5
VERDICTS = frozenset({0, 1, NO_TESTS})


def find_fault(session: Session, verbosity: int) -> Fault | None:
    """The reason why this session proves nothing; None when its results can be believed."""
    finished = session.finished
    if finished is None:
        return _lost(session, verbosity)
    if finished.timed_out:
        return _timeout(session, verbosity)
    if finished.signal is not None:
        message = (
            f"pytest subprocess terminated with signal {finished.signal}{_while_running(session.record)}"
        )
        return _fault(FaultKind.CRASH, message, session, verbosity, hint=_crash_hint(session.record))
    return _judge_exit(session, finished, verbosity)


def _judge_exit(session: Session, finished: Finished, verbosity: int) -> Fault | None:
    record, code = session.record, finished.exit_code
    if record.collection_errors and not record.tests and code in {1, INTERRUPTED}:
        return _collection_error(session, verbosity)
    if code == INTERRUPTED and not stopped_on_purpose(record):
        return _interrupted(session, record.interruption or "pytest stopped early", verbosity)
    if code == INTERNAL_ERROR:
        said = _last_line(record.internal_error or finished.stderr.text)
        return _fault(
            FaultKind.ENGINE_ERROR,
            f"{FAILED}pytest internal error occurred: {said}",
            session,
            verbosity,
            hint="look at data.stdout: a plugin or a conftest hook raised, or pytest itself is broken",
        )
    if code == USAGE_ERROR:
        return _usage_error(session, finished, verbosity)
    if code not in {*VERDICTS, INTERRUPTED} or record.finish is None:
        return _unexpected_exit(session, finished, verbosity)
    is_short = session.job.mode == "run" and record.unreported
    if is_short and not stopped_on_purpose(record):
        return _interrupted(session, "pytest ended before all planned tests had run", verbosity)
    return None


def stopped_on_purpose(record: Record) -> bool:
    """By failfast or maxfail, here or in the project's own options."""
    stop = record.finish.stop if record.finish else None
    return stop is not None and stop.startswith("stopping after")


def _timeout(session: Session, verbosity: int) -> Fault:
    stacks = read_stacks(session.stacks.decode(errors="replace"), session.job.root)
    place = f", at {stacks.stuck}" if stacks and stacks.stuck else ""
    where = _while_running(session.record) or (" while collecting tests" if session.record.worker else "")
    message = f"pytest execution exceeded timeout of {session.job.deadline_seconds:g} seconds{where}{place}"
    return _fault(
        FaultKind.TIMEOUT,
        message,
        session,
        verbosity,
        hint="look at the line named, or pass a larger timeout; data.stack has every thread",
        stacks=stacks,
    )


def _collection_error(session: Session, verbosity: int) -> Fault:
    errors = answer.show_collection_errors(session.record)
    named = "; ".join(
        f"{error.file}{'' if error.line is None else f':{error.line}'}: {error.error_type}: {error.message}"
        for error in errors[:3]
    )
    more = f"; and {len(errors) - 3} more" if len(errors) > 3 else ""  # noqa: PLR2004 - as many as were named
    count = f"{len(errors)} file{'s'[: len(errors) != 1]}"
    return _fault(
        FaultKind.COLLECTION_ERROR,
        f"{FAILED}{count} could not be collected: {clean(named, 1500)}{more}",
        session,
        verbosity,
        hint="fix what data.collection_errors names; discover_tests lists the tests of the other files",
    )


def _interrupted(session: Session, reason: str, verbosity: int) -> Fault:
    record = session.record
    told = f"{record.ended} of {len(record.planned)} planned tests had ended"
    return _fault(
        FaultKind.INTERRUPTED,
        f"{FAILED}Test execution was interrupted: {clean(reason, 500)}{_while_running(record)}; {told}",
        session,
        verbosity,
        hint="run it again; the results so far are in data.tests",
    )


def _usage_error(session: Session, finished: Finished, verbosity: int) -> Fault:
    errors = answer.show_collection_errors(session.record)
    if errors:
        said = f"{errors[0].file} could not be imported: {errors[0].error_type}: {errors[0].message}"
        hint = f"fix {errors[0].file}"
    else:
        said = _find_complaint(finished.stderr.text)
        hint = "correct the argument that pytest names, or the project's pytest configuration"
    return _fault(
        FaultKind.USAGE_ERROR,
        f"{FAILED}Invalid pytest arguments (validation failure): {clean(_relate(said, session), 1500)}",
        session,
        verbosity,
        hint=hint,
    )


def _find_complaint(text: str) -> str:
    """What pytest, or the parser of its options, calls an error."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    parser = [line.partition(": error: ")[2] for line in lines if ": error: " in line]
    marked = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return " ".join(parser or marked) or _last_line(text)


def _unexpected_exit(session: Session, finished: Finished, verbosity: int) -> Fault:
    record = session.record
    if record.worker is None and not record.planned:
        said = _last_line(finished.stderr.text or finished.stdout.text)
        message = f"{FAILED}pytest internal error occurred: it ended before a session began: {said}"
        hint = "look at data.stderr: a plugin or the project's configuration keeps pytest from starting"
        return _fault(FaultKind.ENGINE_ERROR, message, session, verbosity, hint=hint)
    where = _while_running(record)
    message = f"{FAILED}pytest exited with unexpected code {finished.exit_code}{where}"
    return _fault(FaultKind.CRASH, message, session, verbosity, hint=_crash_hint(record))


def _lost(session: Session, verbosity: int) -> Fault:
    lost = session.lost
    said = lost.message if lost else "its fate is not known"
    return _fault(
        lost.kind if lost else FaultKind.CRASH,
        f"{FAILED}{said}{_while_running(session.record).replace(' while', ', while', 1)}",
        session,
        verbosity,
        hint=lost.hint if lost else None,
    )


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
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return clean(lines[-1], 500) if lines else "it said nothing"


def _fault(
    kind: FaultKind,
    message: str,
    session: Session,
    verbosity: int,
    *,
    hint: str | None,
    stacks: Stacks | None = None,
) -> Fault:
    finished, record = session.finished, session.record
    duration = finished.duration_seconds if finished else 0.0
    results = answer.show_rows(make_test_rows(record), verbosity)
    details: dict[str, Json] = {
        "exit_code": finished.exit_code if finished else None,
        "signal": finished.signal if finished and not finished.timed_out else None,
        "stdout": _bound(finished.stdout.text.replace(session.mark + "\n", ""), session) if finished else "",
        "stderr": _bound(finished.stderr.text, session) if finished else "",
        "command": list(session.job.command),
        "interpreter": session.job.interpreter.describe(),
        "duration": round(duration, 3) if finished else None,
        "collection_errors": [error.model_dump() for error in answer.show_collection_errors(record)],
        "tests": [row.model_dump(mode="json") for row in results.shown],
        "summary": answer.summarise(record, make_rows(record), duration).model_dump(),
        "running": list(record.running),
        "stack": stacks.text if stacks else None,
    }
    return Fault(kind, message, hint=hint, details=details)


def _bound(text: str, session: Session) -> str:
    return answer.cut_middle(_relate(clean(text, len(text) + 1), session), OUTPUT_LIMIT)


def _relate(text: str, session: Session) -> str:
    """Paths as the caller names them."""
    return text.replace(f"{session.job.root}/", "")
