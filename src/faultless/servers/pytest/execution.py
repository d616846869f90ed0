"""The two tools, from typed arguments to an answer or a fault."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from faultless.contract import Fault, FaultKind, clean
from faultless.contract.text import last_line, replace_surrogates
from faultless.kit.root import Root
from faultless.servers.pytest import command, faults, results
from faultless.servers.pytest.early import EarlyRuns
from faultless.servers.pytest.interpreter import (
    Surroundings,
    find_interpreter,
    find_problem,
    make_variables,
)
from faultless.servers.pytest.outputs import DiscoveredTest, Discovery, TestRun
from faultless.servers.pytest.record import make_rows
from faultless.servers.pytest.session import Job, Session
from faultless.servers.pytest.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from faultless.kit.toolset import Call
    from faultless.servers.pytest.inputs import DiscoverTests, ExecuteTests
    from faultless.servers.pytest.outputs import Summary
    from faultless.servers.pytest.record import Record
    from faultless.servers.pytest.results import Results
    from faultless.servers.pytest.session import OnProgress
    from faultless.servers.pytest.settings import Settings

_INTERPRETER_KEY = "faultless/interpreter"
_START_KEY = "faultless/start"
_APART_KEY = "faultless/apart"
_CACHE_FOLDER = ".pytest_cache"
_LOOKUP_SECONDS = 20.0
_PERHAPS_NO_PYTEST = frozenset(
    {FaultKind.CRASH, FaultKind.ENGINE_ERROR, FaultKind.INTERRUPTED, FaultKind.USAGE_ERROR}
)
"""What a program that is no Python, or a Python without pytest, may look like."""
_SUGGESTIONS_AT_MOST = 5


class Project:
    """The folder and the limits that every call works with."""

    def __init__(self, settings: Settings, surroundings: Surroundings | None = None) -> None:
        self.root = Root(settings.root)
        self.max_timeout_seconds = settings.max_timeout_seconds
        self.may_overlap = settings.concurrent > 1
        self._timeout_seconds = min(settings.timeout_seconds, settings.max_timeout_seconds)
        self._python = settings.python and settings.python.absolute()
        self._surroundings = surroundings or Surroundings.of_this_process()
        self.turns = Turns(
            self.root.path,
            concurrent=settings.concurrent,
            longest_wait_seconds=settings.max_timeout_seconds,
        )
        self.early_runs = EarlyRuns(is_on=not settings.no_early, idle_seconds=60.0 * settings.idle_minutes)

    def make_job(self, call: Call) -> Job:
        """What all calls have in common. An environment made since the last call counts at once."""
        try:
            interpreter = find_interpreter(self.root.path, self._python, self._surroundings)
        except Fault as reason:
            raise faults.describe_no_start(reason) from reason
        call.meta[_INTERPRETER_KEY] = interpreter.describe()
        return Job(
            root=self.root.path,
            interpreter=interpreter,
            variables=make_variables(interpreter, self._surroundings),
            deadline_seconds=self._timeout_seconds,
        )


async def execute(project: Project, arguments: ExecuteTests, call: Call) -> TestRun:
    timeout, limit = arguments.timeout, project.max_timeout_seconds
    if timeout is not None and timeout > limit:
        detail = f"value must be at most {limit}, this server's --max-timeout"
        raise faults.refuse("timeout", detail, timeout, hint=f"pass {limit} or less")
    job = project.make_job(call)
    job = replace(
        job,
        arguments=command.write_run(arguments, project.root),
        deadline_seconds=timeout or job.deadline_seconds,
        text=results.choose_text(arguments.verbosity),
        last_failed=arguments.last_failed,
    )

    async def show(record: Record) -> None:
        await call.report_progress(len(record.tests), len(record.planned), results.describe_progress(record))

    async def wait(reason: str) -> None:
        await call.report_progress(0, None, reason)

    async with project.turns.take(wait) as place:
        if project.may_overlap:
            job = _set_apart(job, place, call)
        session = await _run(project, job, show, call)
    fault = faults.find_fault(session, arguments.verbosity)
    if fault is not None:
        raise await _blame_interpreter(fault, session) or await _add_candidates(
            fault, session, project, arguments
        )
    return _make_answer(session, arguments)


def _set_apart(job: Job, place: int, call: Call) -> Job:
    """A run beside others writes nothing that they write, nor what a run typed by hand would collect."""
    folder = f"{_CACHE_FOLDER}/place-{place}"
    apart = {"COVERAGE_FILE": f"{folder}/coverage", "cache_dir": folder}
    call.meta[_APART_KEY] = dict(apart)
    return replace(
        job,
        arguments=["-o", f"cache_dir={job.root / folder}", *job.arguments],
        variables={**job.variables, "COVERAGE_FILE": str(job.root / apart["COVERAGE_FILE"])},
        is_apart=True,
    )


async def discover(project: Project, arguments: DiscoverTests, call: Call) -> Discovery:
    written = command.write_discovery(arguments, project.root)
    job = replace(project.make_job(call), arguments=written, mode="discover")

    async def show(record: Record) -> None:
        await call.report_progress(len(record.planned), None, "collected")

    session = await _run(project, job, show, call)
    fault = None if _has_only_broken_files(session) else faults.find_fault(session, verbosity=0)
    if fault is not None:
        raise await _blame_interpreter(fault, session) or fault
    found, end = session.record.planned, arguments.offset + arguments.limit
    page = found[arguments.offset : end]
    return Discovery(
        tests=[] if arguments.compact else [_show_test(item) for item in page],
        node_ids=[replace_surrogates(item["node_id"]) for item in page] if arguments.compact else [],
        count=len(found),
        next_offset=end if end < len(found) else None,
        collection_errors=results.show_collection_errors(session.record),
    )


# ---- the run


async def _run(project: Project, job: Job, on_progress: OnProgress, call: Call | None = None) -> Session:
    try:
        session, start = await project.early_runs.run(job, on_progress)
    except Fault as reason:
        raise faults.describe_no_start(reason, command=list(job.command)) from reason
    if call is not None:
        call.meta[_START_KEY] = start.describe()
    return session


async def _blame_interpreter(fault: Fault, session: Session) -> Fault | None:
    """A run that never reached pytest may be the environment's fault."""
    if session.record.worker is not None:
        return None
    if fault.kind not in _PERHAPS_NO_PYTEST:
        return None
    job = session.job
    problem = await find_problem(job.interpreter, job.root, job.variables)
    return None if problem is None else faults.describe_problem(job.interpreter, problem)


# ---- execute_tests


async def _add_candidates(fault: Fault, session: Session, project: Project, arguments: ExecuteTests) -> Fault:
    """A misspelt node id has neighbours."""
    record = session.record
    if fault.kind is not FaultKind.USAGE_ERROR or record.worker is None or record.collection_errors:
        return fault
    node_ids = arguments.node_ids or []
    if not any("::" in node_id for node_id in node_ids):
        return fault
    near = await _find_near_node_ids(project, session.job, node_ids)
    hint = faults.ask_whether(near, otherwise="discover_tests lists the tests of a path")
    return fault.copy(hint=hint)


async def _find_near_node_ids(project: Project, job: Job, node_ids: Sequence[str]) -> list[str]:
    """Close matches for those that their files do not hold."""
    lookup = replace(
        job,
        arguments=command.write_lookup(node_ids),
        mode="discover",
        last_failed=False,
        deadline_seconds=_LOOKUP_SECONDS,
    )

    async def keep_quiet(_record: Record) -> None:
        """The caller knows already that its run failed."""

    session = await _run(project, lookup, keep_quiet)
    known = {item["node_id"] for item in session.record.planned}
    known |= {node_id.partition("[")[0] for node_id in known}
    near: dict[str, None] = {}
    for path, names in map(command.split_node_id, node_ids):
        if names and path + names not in known:
            candidates = [rest for other, rest in map(command.split_node_id, sorted(known)) if other == path]
            near |= dict.fromkeys(path + match for match in command.suggest(names, candidates))
    return list(near)[:_SUGGESTIONS_AT_MOST]


def _make_answer(session: Session, arguments: ExecuteTests) -> TestRun:
    record = session.record
    rows = make_rows(record)
    shown = results.show_rows(rows, arguments.verbosity)
    summary = results.summarise(record, rows, record.finish.duration if record.finish else 0.0)
    code = session.finished.exit_code if session.finished else None
    if code is None or code == faults.INTERRUPTED:
        code = 1  # xdist interrupts itself at maxfail, where pytest reports failures
    return TestRun(
        exit_code=code,
        summary=summary,
        tests=shown.shown,
        json_report=results.write_json_report(record, summary, code) if arguments.json_report else {},
        text_output=results.show_text(session, arguments.verbosity, keeps_color=arguments.color),
        collection_errors=results.show_collection_errors(record),
        hint="; ".join(_list_hints(session, arguments, shown, summary, code)) or None,
    )


def _list_hints(
    session: Session, arguments: ExecuteTests, shown: Results, summary: Summary, code: int
) -> list[str]:
    hints: list[str] = []
    if summary.not_run:
        hints.append(f"{summary.not_run} tests did not run: the run stopped at a failure")
    if shown.tracebacks_left_out:
        count = shown.tracebacks_left_out
        hints.append(f"{count} tracebacks left out: run those node_ids alone with verbosity 2")
    if shown.rows_left_out:
        count = shown.rows_left_out
        hints.append(f"{count} more tests not listed: narrow the selection, or use verbosity 1")
    if arguments.last_failed and session.job.is_apart:
        hints.append("with --concurrent, last_failed knows only the runs that had the same cache_dir")
    if code == faults.NO_TESTS:
        hints += _explain_nothing(arguments, summary)
    elif (code == 0) == bool(summary.failed or summary.errors):
        raised = last_line(session.finished.stderr.text) if session.finished else ""
        why = clean(raised, 200) or "a plugin asked for that"
        hints.append(f"pytest exited {code} against its own results: {why}")
    if session.finished and session.finished.leftovers:
        hints.append(f"{session.finished.leftovers} processes outlived the run and were ended")
    return hints


def _explain_nothing(arguments: ExecuteTests, summary: Summary) -> list[str]:
    if arguments.last_failed:
        return [
            "nothing was run: no test in this selection failed last time; leave out last_failed to run all"
        ]
    if summary.skipped:
        return ["what was selected is skipped as a whole"]
    return [] if summary.deselected else ["no tests here: discover_tests lists them"]


# ---- discover_tests


def _has_only_broken_files(session: Session) -> bool:
    """Broken files are data here, a conftest too; anything else that went wrong is not."""
    finished, record = session.finished, session.record
    if finished is None or finished.timed_out or not record.collection_errors:
        return False
    code = finished.exit_code
    return code == faults.USAGE_ERROR or (code == faults.INTERRUPTED and record.is_planned)


def _show_test(item: dict[str, Any]) -> DiscoveredTest:
    node_id = replace_surrogates(item["node_id"])
    return DiscoveredTest.model_validate(
        {
            **item,
            "node_id": node_id,
            "function": replace_surrogates(item["function"]),
            "module": command.split_node_id(node_id)[0].removesuffix(".py").replace("/", "."),
        }
    )
