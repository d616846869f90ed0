"""discover_tests, and the lookup of node ids that were nearly right."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from faultless.contract import Fault, FaultKind
from faultless.contract.text import replace_surrogates
from faultless.servers.pytest.answer import show_collection_errors
from faultless.servers.pytest.command import write_discovery
from faultless.servers.pytest.faults import INTERRUPTED, USAGE_ERROR, find_fault
from faultless.servers.pytest.outputs import DiscoveredTest, Discovery
from faultless.servers.pytest.project import START_KEY, explain_interpreter
from faultless.servers.pytest.selection import resolve_path, split_node_id, suggest
from faultless.servers.pytest.session import Job, Session
from faultless.servers.pytest.warmth import run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from faultless.kit.toolset import Call
    from faultless.servers.pytest.inputs import DiscoverTests
    from faultless.servers.pytest.project import Project
    from faultless.servers.pytest.record import Record

SUGGESTION_SECONDS = 20.0


async def discover(project: Project, arguments: DiscoverTests, call: Call) -> Discovery:
    targets = [] if arguments.path is None else [resolve_path(arguments.path, project.root)]
    job = Job(
        root=project.root.path,
        interpreter=project.find_interpreter(call),
        surroundings=project.surroundings,
        arguments=write_discovery(arguments, targets),
        deadline_seconds=project.choose_timeout(None),
        mode="discover",
        pool=project.pool,
    )

    async def show(record: Record) -> None:
        await call.report_progress(len(record.planned), None, "collected")

    session = await run(job, show)
    call.meta[START_KEY] = "warm" if session.is_warm else "cold"
    if not _only_collection_failed(session):
        fault = find_fault(session, verbosity=0)
        if fault is not None:
            raise await _explain(fault, project, session)
    return _make_answer(session, arguments)


def _only_collection_failed(session: Session) -> bool:
    """Broken files are data here, a conftest too; anything else that went wrong is not."""
    finished, record = session.finished, session.record
    if finished is None or finished.timed_out or not record.collection_errors:
        return False
    return finished.exit_code == USAGE_ERROR or (finished.exit_code == INTERRUPTED and record.is_planned)


async def _explain(fault: Fault, project: Project, session: Session) -> Fault:
    if session.record.worker is None and fault.kind in {FaultKind.ENGINE_ERROR, FaultKind.USAGE_ERROR}:
        return await explain_interpreter(project, session.job.interpreter) or fault
    return fault


def _make_answer(session: Session, arguments: DiscoverTests) -> Discovery:
    found = session.record.planned
    end = arguments.offset + arguments.limit
    page = found[arguments.offset : end]
    return Discovery(
        tests=[] if arguments.compact else [_show(item) for item in page],
        node_ids=[replace_surrogates(item["node_id"]) for item in page] if arguments.compact else [],
        count=len(found),
        next_offset=end if end < len(found) else None,
        collection_errors=show_collection_errors(session.record),
    )


def _show(item: dict[str, Any]) -> DiscoveredTest:
    node_id = replace_surrogates(item["node_id"])
    path = split_node_id(node_id)[0]
    return DiscoveredTest.model_validate(
        {
            **item,
            "node_id": node_id,
            "function": replace_surrogates(item["function"]),
            "module": path.removesuffix(".py").replace("/", "."),
        }
    )


async def suggest_node_ids(job: Job, node_ids: Sequence[str]) -> list[str]:
    """Close matches for those that the files do not hold."""
    files = sorted({split_node_id(node_id)[0] for node_id in node_ids if "::" in node_id})
    if not files:
        return []
    looking = replace(
        job,
        arguments=["--collect-only", "--quiet", "--color=no", *files],
        mode="discover",
        last_failed=False,
        deadline_seconds=SUGGESTION_SECONDS,
    )

    async def keep_quiet(_record: Record) -> None:
        """The caller knows already that its run failed."""

    session = await run(looking, keep_quiet)
    known = {item["node_id"] for item in session.record.planned}
    known |= {node_id.partition("[")[0] for node_id in known}
    near: dict[str, None] = {}
    for path, names in map(split_node_id, node_ids):
        if names and path + names not in known:
            candidates = [rest for other, rest in map(split_node_id, sorted(known)) if other == path]
            near |= dict.fromkeys(path + match for match in suggest(names, candidates))
    return list(near)[:5]
