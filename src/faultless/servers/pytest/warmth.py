"""Whether a run starts as a fork of a warm interpreter or as a new process; its answer is the same."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind
from faultless.kit import log
from faultless.process.warm import Recipe
from faultless.servers.pytest.session import WORKER, Session, run_session

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from faultless.process import Launcher
    from faultless.process.warm import Pool
    from faultless.servers.pytest.record import Record
    from faultless.servers.pytest.session import Job

_WARM_UP = Path(__file__).with_name("warm_up.py")
_STARTS_MEASURING = frozenset({"COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG", "COV_CORE_DATAFILE"})
"""With these set an interpreter measures coverage from its first instruction, which a fork is long past."""
_NOT_REWRITTEN = re.compile(r"Module already imported so cannot be rewritten: ([\w.]+)")
_QUIET_EXITS = frozenset({0, 1, 5})


async def run(job: Job, on_progress: Callable[[Record], Awaitable[None]]) -> Session:
    """Warm where a parent is ready. A warm run that got nowhere is run again cold; no test runs twice."""
    recipe = _make_recipe(job)
    if job.pool is None or recipe is None:
        return await run_session(job, on_progress)
    launcher = job.pool.find(recipe)
    session = await _run_warm(job, on_progress, launcher) if launcher is not None else None
    if session is None or _must_be_checked(session, job.pool, recipe):
        session = await _run_cold(job, on_progress, session, recipe)
    _record_imports(job.pool, recipe, session)
    job.pool.prepare(recipe)
    return session


def _make_recipe(job: Job) -> Recipe | None:
    """None where a fork would not be like a new process."""
    if _STARTS_MEASURING & set(job.variables):
        return None
    return Recipe(
        interpreter=job.interpreter.path,
        root=job.root,
        program="pytest",
        env=job.variables,
        warm_up=_WARM_UP,
        trusted_folder=WORKER,
    )


async def _run_warm(
    job: Job, on_progress: Callable[[Record], Awaitable[None]], launcher: Launcher
) -> Session | None:
    """None if it came to nothing before any test: then nothing has happened yet."""
    try:
        session = await run_session(job, on_progress, launcher)
    except Fault as fault:
        if fault.kind is not FaultKind.UNAVAILABLE:
            raise
        log.info("warm parent lost, running cold", reason=fault.message)
        return None
    if session.lost is not None and not session.record.has_started:
        log.info("warm run lost before its first test, running cold", reason=session.lost.message)
        return None
    return session


def _must_be_checked(session: Session, pool: Pool, recipe: Recipe) -> bool:
    """A first bad start with learned modules may be their doing; only a new process can tell."""
    if session.record.has_started or session.finished is None or session.finished.timed_out:
        return False
    went_wrong = bool(session.record.collection_errors) or session.finished.exit_code not in _QUIET_EXITS
    return went_wrong and pool.needs_confirmation(recipe)


async def _run_cold(
    job: Job, on_progress: Callable[[Record], Awaitable[None]], warm: Session | None, recipe: Recipe
) -> Session:
    cold = await run_session(job, on_progress)
    if warm is not None and job.pool is not None:
        if _outline(warm) == _outline(cold):
            job.pool.confirm_preload(recipe)
        else:
            log.warn("a preloaded module changed a run; nothing learned is preloaded any more")
            job.pool.ban_modules(recipe)
    return cold


def _outline(session: Session) -> tuple[object, ...]:
    """What must be equal in two starts of one run."""
    errors = sorted(str(error.get("file")) for error in session.record.collection_errors)
    return (session.finished and session.finished.exit_code, errors, session.record.has_started)


def _record_imports(pool: Pool, recipe: Recipe, session: Session) -> None:
    pool.record_modules(recipe, session.record.modules)
    spoiled = [
        found.group(1)
        for warning in session.record.warnings
        if (found := _NOT_REWRITTEN.search(str(warning.get("message"))))
    ]
    if spoiled:
        pool.ban_modules(recipe, spoiled)
