"""execute_tests, from typed arguments to a verdict or a fault."""

from __future__ import annotations

from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind
from faultless.servers.pytest import answer
from faultless.servers.pytest.command import write_run
from faultless.servers.pytest.discovery import suggest_node_ids
from faultless.servers.pytest.faults import INTERRUPTED, NO_TESTS, find_fault
from faultless.servers.pytest.json_report import write_json_report
from faultless.servers.pytest.outputs import TestRun
from faultless.servers.pytest.project import START_KEY, explain_interpreter
from faultless.servers.pytest.rows import BAD, make_rows
from faultless.servers.pytest.selection import refuse, resolve_node_ids
from faultless.servers.pytest.session import Job, Session
from faultless.servers.pytest.warmth import run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from faultless.kit.toolset import Call
    from faultless.servers.pytest.answer import Results
    from faultless.servers.pytest.inputs import ExecuteTests
    from faultless.servers.pytest.outputs import Summary
    from faultless.servers.pytest.project import Project
    from faultless.servers.pytest.record import Record
    from faultless.servers.pytest.rows import Row


async def execute(project: Project, arguments: ExecuteTests, call: Call) -> TestRun:
    job = _make_job(project, arguments, call)

    async def show(record: Record) -> None:
        await call.report_progress(len(record.tests), len(record.planned), _describe_progress(record))

    session = await run(job, show)
    call.meta[START_KEY] = "warm" if session.is_warm else "cold"
    fault = find_fault(session, arguments.verbosity)
    if fault is not None:
        raise await _improve(fault, project, session, arguments)
    return _make_answer(session, arguments)


def _make_job(project: Project, arguments: ExecuteTests, call: Call) -> Job:
    timeout = arguments.timeout
    if timeout is not None and timeout > project.max_timeout_seconds:
        limit = f"value must be at most {project.max_timeout_seconds}, this server's --max-timeout"
        raise refuse("timeout", limit, timeout, hint=f"pass {project.max_timeout_seconds} or less")
    return Job(
        root=project.root.path,
        interpreter=project.find_interpreter(call),
        surroundings=project.surroundings,
        arguments=write_run(arguments, resolve_node_ids(arguments.node_ids or [], project.root)),
        deadline_seconds=project.choose_timeout(timeout),
        text=answer.choose_text(arguments.verbosity),
        last_failed=arguments.last_failed,
        pool=project.pool,
    )


async def _improve(fault: Fault, project: Project, session: Session, arguments: ExecuteTests) -> Fault:
    """A run that never reached pytest is the environment's fault; a misspelt node id has neighbours."""
    if session.record.worker is None and fault.kind in {FaultKind.ENGINE_ERROR, FaultKind.USAGE_ERROR}:
        return await explain_interpreter(project, session.job.interpreter) or fault
    if fault.kind is FaultKind.USAGE_ERROR and not session.record.collection_errors:
        node_ids = arguments.node_ids or []
        near = await suggest_node_ids(session.job, node_ids)
        if near or any("::" in node_id for node_id in node_ids):
            hint = (
                f"did you mean {' or '.join(near)}?" if near else "discover_tests lists the tests of a path"
            )
            return Fault(
                fault.kind, fault.message, hint=hint, details={**fault.details, "candidates": list(near)}
            )
    return fault


def _make_answer(session: Session, arguments: ExecuteTests) -> TestRun:
    record = session.record
    rows = make_rows(record)
    results = answer.show_rows(rows, arguments.verbosity)
    duration = record.finish.duration if record.finish else 0.0
    summary = answer.summarise(record, rows, duration)
    exit_code = _find_exit_code(session)
    return TestRun(
        exit_code=exit_code,
        summary=summary,
        tests=results.shown,
        json_report=write_json_report(record, summary, exit_code) if arguments.json_report else {},
        text_output=answer.show_text(session, arguments.verbosity, keeps_color=arguments.color),
        collection_errors=answer.show_collection_errors(record),
        hint=_find_hint(session, arguments, results, summary, rows),
    )


def _find_exit_code(session: Session) -> int:
    """Pytest's own, but for xdist: it interrupts itself at maxfail where pytest reports failures."""
    code = session.finished.exit_code if session.finished else None
    return 1 if code is None or code == INTERRUPTED else code


def _find_hint(
    session: Session, arguments: ExecuteTests, results: Results, summary: Summary, rows: Sequence[Row]
) -> str | None:
    hints: list[str] = []
    if summary.not_run:
        hints.append(f"{summary.not_run} tests did not run: the run stopped at a failure")
    if results.tracebacks_left_out:
        hints.append(
            f"{results.tracebacks_left_out} tracebacks left out: run those node_ids alone with verbosity 2"
        )
    if results.rows_left_out:
        hints.append(
            f"{results.rows_left_out} more tests not listed: narrow the selection, or use verbosity 1"
        )
    if _find_exit_code(session) == NO_TESTS:
        hints.append(_explain_nothing(arguments, summary))
    elif (_find_exit_code(session) == 0) == any(row.outcome in BAD for row in rows):
        hints.append(
            f"pytest exited {_find_exit_code(session)} against its own results: a plugin asked for that"
        )
    if session.finished and session.finished.leftovers:
        hints.append(f"{session.finished.leftovers} processes outlived the run and were ended")
    return "; ".join(hints) or None


def _explain_nothing(arguments: ExecuteTests, summary: Summary) -> str:
    if arguments.last_failed:
        return "nothing was run: no test in this selection failed last time; leave out last_failed to run all"
    if summary.deselected:
        return f"no tests ran: markers and keywords left none of the {summary.deselected} collected"
    if summary.skipped:
        return "no tests ran: what was selected is skipped as a whole"
    return "no tests were collected: discover_tests lists what there is"


def _describe_progress(record: Record) -> str:
    bad = sum(test.has_failed for test in record.tests)
    current = next(iter(record.running), None)
    failures = f"{bad} failed" if bad else "no failures"
    return f"{failures}; running {current}" if current else failures
