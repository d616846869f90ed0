"""Runs that begin before they are asked: one at a time, for the selection that was run last.

It is an ordinary run in a process of its own, held where `worker/faultless_pytest_start` says, and used
once. A call that wants exactly this run lets it go on if nothing it has consumed has changed; else it is
killed, and the call's run starts as any other. What is compared: the command, the environment, what is
installed, the project's files (`snapshot`) and, by the run itself, every file it opened and folder it listed.
"""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread

from faultless.contract import Fault
from faultless.kit import log
from faultless.process import resident_bytes
from faultless.process.warm.launcher import fingerprint
from faultless.servers.pytest.hold import Hold
from faultless.servers.pytest.session import Session, run_session
from faultless.servers.pytest.snapshot import Snapshot, take_snapshot

if TYPE_CHECKING:
    from faultless.contract import Json
    from faultless.servers.pytest.record import Record
    from faultless.servers.pytest.session import Job, OnProgress

_IDLE = "nobody called for a long time"
_QUIET_SECONDS = 0.05  # calls that follow each other faster have the machine for themselves
_PREPARING_SECONDS = 60.0
_AGE_SECONDS = 60.0
_MEMORY_BYTES = 1 << 30
_CHEAP_SECONDS = 3.0  # what took longer is not begun again only because it has grown old
_EDITED_AT_MOST = 50
_EDITED_SECONDS = 1800.0
_STARTS_MEASURING = frozenset({"COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG", "COV_CORE_DATAFILE"})
_CUSTOMISING = ("sitecustomize", "usercustomize")
TOO_MANY_FILES = "the project has too many files to look at before every run"
_ENDED = "it ended before it was asked for"


@dataclass(frozen=True, slots=True)
class _Start:
    """How a run started, for the answer's `_meta`."""

    way: str
    age_seconds: float | None = None
    stopped_before: str | None = None
    why_not_better: str | None = None

    def describe(self) -> dict[str, Json]:
        return {
            "way": self.way,
            "age_seconds": None if self.age_seconds is None else round(self.age_seconds, 3),
            "stopped_before": self.stopped_before,
            "why_not_better": self.why_not_better,
        }


def _make_key(job: Job) -> tuple[object, ...]:
    return (tuple(job.command), job.root, job.variables, job.mode, job.text, job.last_failed)


class _EarlyRun:
    """A run nobody has asked for yet."""

    def __init__(self, job: Job, seen: Snapshot, edited: list[str]) -> None:
        self.job = job
        self.seen = seen
        self.installed = fingerprint(job.interpreter.path)
        self.began = time.monotonic()
        self.hold = Hold(edited)
        self.taken = anyio.Event()
        self.session = Session(job)
        self._edited = frozenset(edited)
        self._on_progress: OnProgress | None = None
        self._prepared_seconds: float | None = None
        self.task = asyncio.create_task(self._run())

    async def _run(self) -> Session:
        try:
            return await run_session(self.session, self._show, self.hold)
        finally:
            self.hold.stopped.set()
            self.hold.answered.set()
            self.hold.close()

    async def _show(self, record: Record) -> None:
        if self._on_progress is not None:
            await self._on_progress(record)

    @property
    def may_be_repeated(self) -> bool:
        """It has only grown old, and beginning it costs little."""
        return self._prepared_seconds is not None and self._prepared_seconds < _CHEAP_SECONDS

    async def wait(self, seconds: float) -> str:
        """Until it is taken; or why it is of no use any more."""
        with anyio.move_on_after(_PREPARING_SECONDS):
            await self.hold.stopped.wait()
        if self.taken.is_set():
            return ""
        if not self.hold.stopped.is_set():
            return f"it had not stopped anywhere after {_PREPARING_SECONDS:g} seconds"
        if self.hold.before is None:
            return _ENDED
        if resident_bytes(self.hold.process_id) > _MEMORY_BYTES:
            return f"it held more than {_MEMORY_BYTES >> 20} MiB"
        log.info("a run has begun early and is held", before=self.hold.before)
        prepared = time.monotonic() - self.began
        with anyio.move_on_after(seconds - prepared):
            await self.taken.wait()
        self._prepared_seconds = prepared
        return f"it was older than {_AGE_SECONDS:g} seconds"

    def describe_start(self, age_seconds: float) -> _Start:
        before = self.hold.before
        return _Start("early", age_seconds, before and before.replace(f"{self.job.root}/", ""))

    def find_difference(self, job: Job, now: Snapshot | None) -> str | None:
        """What makes it another run than the one asked for, as far as it can be seen from here."""
        if _make_key(self.job) != _make_key(job):
            return "the run before was another selection"
        if self.task.done():
            return _ENDED
        if fingerprint(job.interpreter.path) != self.installed:
            return "what is installed has changed"
        for path in self.seen.list_changes(now) if now else ():
            is_source = now is not None and self.seen.has_source(path) and now.has_source(path)
            if path not in self._edited or not is_source:
                return f"{_relate(path, job.root)} has changed"
        return None

    async def go_on(self, job: Job, now: Snapshot, on_progress: OnProgress) -> Session | str:
        """What came of the run, or why it may not go on; then it is gone, with nothing done."""
        self.session.job = job
        self._on_progress = on_progress
        self.hold.ask(self.seen.list_changes(now))
        try:
            await self.hold.answered.wait()
            if self.hold.has_gone_on:
                await asyncio.wait([self.task])
                return self.task.result()
        finally:
            await self.kill()
        if self.hold.change is not None:
            return f"{_relate(self.hold.change, job.root)} has changed"
        return _ENDED

    async def kill(self) -> None:
        """Nothing happens to a run that is over."""
        if not self.task.done():
            self.task.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait([self.task])
        with suppress(asyncio.CancelledError, Fault):
            self.task.exception()  # or it would be called unheard


class EarlyRuns:
    """Every run of a project goes through here."""

    def __init__(self, *, is_on: bool, idle_seconds: float) -> None:
        self._is_on = is_on
        self._idle_seconds = idle_seconds
        self._current: _EarlyRun | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._last_seen: Snapshot | None = None
        self._edited: dict[str, float] = {}
        self._why_not = "nothing has been run yet"

    async def run(self, job: Job, on_progress: OnProgress) -> tuple[Session, _Start]:
        reason = self._find_obstacle(job)
        if reason is None:
            early, self._current = self._current, None
            if early is None and self._keeping is not None:
                self._keeping.cancel()  # it would only be in the way
            went = self._why_not if early is None else await self._let_go_on(early, job, on_progress)
            if not isinstance(went, str):
                self._begin_next(went[0])
                return went
            reason = went
        session = await run_session(Session(job), on_progress)
        self._begin_next(session)
        return session, _Start("cold", why_not_better=reason)

    def _find_obstacle(self, job: Job) -> str | None:
        if not self._is_on:
            return "--no-early"
        return "only runs of tests begin early" if job.mode != "run" else find_obstacle(job)

    async def _let_go_on(
        self, early: _EarlyRun, job: Job, on_progress: OnProgress
    ) -> tuple[Session, _Start] | str:
        """What came of it, or why it was not what is wanted; then it is gone."""
        early.taken.set()
        try:
            now = await _look(job)
            self._note_edits(now)
            reason = early.find_difference(job, now)
            if reason is not None or now is None:
                return reason or TOO_MANY_FILES
            age_seconds = time.monotonic() - early.began
            went = await early.go_on(job, now, on_progress)
            return went if isinstance(went, str) else (went, early.describe_start(age_seconds))
        finally:
            await early.kill()

    def _note_edits(self, now: Snapshot | None) -> None:
        """Files that were edited are likely to be edited again: the next run stops before them."""
        before, self._last_seen = self._last_seen, now
        if before is None or now is None:
            return
        for path in before.list_changes(now):
            if now.has_source(path):
                self._edited.pop(path, None)
                self._edited[path] = time.monotonic()

    def _list_edited(self) -> list[str]:
        oldest = time.monotonic() - _EDITED_SECONDS
        self._edited = {path: edited for path, edited in self._edited.items() if edited > oldest}
        return list(self._edited)[-_EDITED_AT_MOST:]

    # ---- the next one

    def _begin_next(self, session: Session) -> None:
        if self._find_obstacle(session.job) is not None:
            return
        reason = _judge_run(session)
        self._why_not = reason or "the run before has only just ended"
        if reason is None:
            if self._keeping is not None:
                self._keeping.cancel()
            self._keeping = asyncio.create_task(self._keep(session.job))

    async def _keep(self, job: Job) -> None:
        """Have one ready until it is taken or nobody has called for long."""
        await anyio.sleep(_QUIET_SECONDS)
        ends = time.monotonic() + self._idle_seconds
        while time.monotonic() < ends:
            seen = await _look(job)
            if seen is None:
                self._why_not = TOO_MANY_FILES
                return
            if self._last_seen is None:
                self._last_seen = seen
            early = self._current = _EarlyRun(job, seen, self._list_edited())
            try:
                reason = await early.wait(min(_AGE_SECONDS, max(0.0, ends - time.monotonic())))
                self._why_not = reason if time.monotonic() < ends else _IDLE  # before anybody sees it gone
            finally:
                if not early.taken.is_set():
                    self._current = None
                    await early.kill()
            if early.taken.is_set():
                return
            if not early.may_be_repeated:
                log.info("no run begins early", reason=reason)
                return
        self._why_not = _IDLE


async def _look(job: Job) -> Snapshot | None:
    return await to_thread.run_sync(take_snapshot, job.root, job.variables)


def find_obstacle(job: Job) -> str | None:
    """Why runs of this project never begin early, as far as it shows without running anything."""
    if _STARTS_MEASURING & set(job.variables):
        return "the interpreter measures coverage from its first instruction"
    if any(_find_modules(job.root, "pytest")):
        return "the project holds a module called pytest"
    places = [Path(entry) for entry in job.variables.get("PYTHONPATH", "").split(os.pathsep)]
    for name in _CUSTOMISING:
        if any(path for place in places for path in _find_modules(job.root / place, name)):
            return f"{name} is run before a run can be watched"
    return None


def _find_modules(folder: Path, name: str) -> list[Path]:
    return [path for path in (folder / name, folder / f"{name}.py") if path.exists()]


def _judge_run(session: Session) -> str | None:
    """Why a run like this one is not begun again."""
    finished, worker = session.finished, session.record.worker
    if finished is None or finished.timed_out:
        return "the run before did not end by itself"
    if worker is None:
        return "pytest did not start in the run before"
    return None if worker.get("can_be_held") else "our worker was not the first thing that pytest loaded"


def _relate(path: str, root: Path) -> str:
    """As the caller names it; of a file elsewhere only its name."""
    return path.removeprefix(f"{root}/") if path.startswith(f"{root}/") else Path(path).name
