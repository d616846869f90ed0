"""Runs that begin before they are asked: one for each of the last two selections.

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
    from collections.abc import Callable

    from faultless.contract import Json
    from faultless.servers.pytest.record import Record
    from faultless.servers.pytest.session import Job, OnProgress

_IDLE = "nobody called for a long time"
_QUIET_SECONDS = 0.05  # calls that follow each other faster have the machine for themselves
_PREPARING_SECONDS = 60.0
_AGE_SECONDS = 60.0
_SELECTIONS_AT_MOST = 2
_MEMORY_BYTES = 1 << 30
_OTHER_MEMORY_BYTES = 1 << 28  # of a selection that was not the last
_CHEAP_SECONDS = 3.0  # what took longer is not begun again only because it has grown old
_EDITED_AT_MOST = 50
_EDITED_SECONDS = 1800.0
_STARTS_MEASURING = frozenset({"COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG", "COV_CORE_DATAFILE"})
_CUSTOMISING = ("sitecustomize", "usercustomize")
_ANOTHER_SELECTION = f"none of the last {_SELECTIONS_AT_MOST} runs was of this selection"
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
    variables = frozenset(job.variables.items())
    return (tuple(job.command), job.root, variables, job.mode, job.text, job.last_failed)


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
        self.prepared_seconds: float | None = None
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
    def is_cheap(self) -> bool:
        return self.prepared_seconds is not None and self.prepared_seconds < _CHEAP_SECONDS

    async def prepare(self) -> str | None:
        """Until it is held or taken; or why it is of no use."""
        with anyio.move_on_after(_PREPARING_SECONDS):
            await self.hold.stopped.wait()
        if self.taken.is_set():
            return None
        if not self.hold.stopped.is_set():
            return f"it had not stopped anywhere after {_PREPARING_SECONDS:g} seconds"
        if self.hold.before is None:
            return self.hold.unfit or _ENDED
        if self.resident_bytes > _MEMORY_BYTES:
            return f"it held more than {_MEMORY_BYTES >> 20} MiB"
        log.info("a run has begun early and is held", before=self.hold.before)
        self.prepared_seconds = time.monotonic() - self.began
        return None

    @property
    def resident_bytes(self) -> int:
        return resident_bytes(self.hold.process_id)

    def describe_start(self, age_seconds: float) -> _Start:
        before = self.hold.before
        return _Start("early", age_seconds, before and before.replace(f"{self.job.root}/", ""))

    def find_difference(self, job: Job, now: Snapshot | None) -> str | None:
        """What makes it another run than the one asked for, as far as it can be seen from here."""
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


class _Edits:
    """Files that were edited are likely to be edited again: the next runs stop before them."""

    def __init__(self) -> None:
        self._last_seen: Snapshot | None = None
        self._edited: dict[str, float] = {}

    def note(self, now: Snapshot | None) -> None:
        before, self._last_seen = self._last_seen, now
        if before is None or now is None:
            return
        for path in before.list_changes(now):
            if now.has_source(path):
                self._edited.pop(path, None)
                self._edited[path] = time.monotonic()

    def list_recent(self, seen: Snapshot) -> list[str]:
        if self._last_seen is None:
            self._last_seen = seen
        oldest = time.monotonic() - _EDITED_SECONDS
        self._edited = {path: edited for path, edited in self._edited.items() if edited > oldest}
        return list(self._edited)[-_EDITED_AT_MOST:]


class _Selection:
    """Has a run of one selection begun, until it is taken or nobody has called for long."""

    def __init__(self, edits: _Edits, idle_seconds: float) -> None:
        self.current: _EarlyRun | None = None
        self.keeping: asyncio.Task[None] | None = None
        self.why_not = "the run before has only just ended"
        self._edits = edits
        self._idle_seconds = idle_seconds

    def keep(self, job: Job, on_held: Callable[[Snapshot], None]) -> None:
        self.stop()
        self.keeping = asyncio.create_task(self._keep(job, on_held))

    def stop(self) -> None:
        """The run is given back, unless it has been taken."""
        self.current = None
        if self.keeping is not None:
            self.keeping.cancel()

    def take(self) -> _EarlyRun | None:
        early, self.current = self.current, None
        if early is None:
            self.stop()  # it would only be in the way
        else:
            early.taken.set()
            self.why_not = "another call has taken the run that had begun"
        return early

    async def _keep(self, job: Job, on_held: Callable[[Snapshot], None]) -> None:
        await anyio.sleep(_QUIET_SECONDS)
        ends = time.monotonic() + self._idle_seconds
        while time.monotonic() < ends:
            seen = await _look(job)
            if seen is None:
                self.why_not = TOO_MANY_FILES
                return
            early = self.current = _EarlyRun(job, seen, self._edits.list_recent(seen))
            try:
                reason = await early.prepare()
                if reason is None and not early.taken.is_set():
                    on_held(seen)
                    reason = await self._wait(early, ends)
                if not early.taken.is_set():
                    self.why_not = reason or _ENDED  # before anybody sees it gone
            finally:
                if self.current is early:
                    self.current = None
                if not early.taken.is_set():
                    await early.kill()
            if early.taken.is_set():
                return
            if not early.is_cheap:
                log.info("no run begins early", reason=self.why_not)
                return
        self.why_not = _IDLE

    async def _wait(self, early: _EarlyRun, ends: float) -> str:
        """Until it is taken; or why it is given up."""
        with anyio.move_on_after(min(early.began + _AGE_SECONDS, ends) - time.monotonic()):
            await early.taken.wait()
        return _IDLE if time.monotonic() >= ends else f"it was older than {_AGE_SECONDS:g} seconds"


class EarlyRuns:
    """Every run of a project goes through here."""

    def __init__(self, *, is_on: bool, idle_seconds: float) -> None:
        self._is_on = is_on
        self._idle_seconds = idle_seconds
        self._selections: dict[tuple[object, ...], _Selection] = {}
        """The last one last."""
        self._edits = _Edits()

    async def run(self, job: Job, on_progress: OnProgress) -> tuple[Session, _Start]:
        reason = self._find_obstacle(job)
        if reason is None:
            went = await self._let_go_on(self._selections.get(_make_key(job)), job, on_progress)
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
        self, selection: _Selection | None, job: Job, on_progress: OnProgress
    ) -> tuple[Session, _Start] | str:
        """What came of it, or why it was not what is wanted; then it is gone."""
        if selection is None:
            return _ANOTHER_SELECTION if self._selections else "nothing has been run yet"
        early = selection.take()
        if early is None:
            return selection.why_not
        try:
            now = await _look(job)
            self._edits.note(now)
            reason = early.find_difference(job, now)
            if reason is not None or now is None:
                return reason or TOO_MANY_FILES
            age_seconds = time.monotonic() - early.began
            went = await early.go_on(job, now, on_progress)
            return went if isinstance(went, str) else (went, early.describe_start(age_seconds))
        finally:
            await early.kill()

    # ---- the next one

    def _begin_next(self, session: Session) -> None:
        job = session.job
        if self._find_obstacle(job) is not None:
            return
        key = _make_key(job)
        selection = self._selections.pop(key, None) or _Selection(self._edits, self._idle_seconds)
        while len(self._selections) >= _SELECTIONS_AT_MOST:
            self._selections.pop(next(iter(self._selections))).stop()
        self._selections[key] = selection
        reason = _judge_run(session)
        selection.why_not = reason or "the run before has only just ended"
        if reason is None:
            selection.keep(job, self._renew_others)

    def _renew_others(self, seen: Snapshot) -> None:
        """The last selection's run is held: those of the others begin again if they are out of date."""
        for selection in list(self._selections.values())[:-1]:
            early = selection.current
            if early is None or early.prepared_seconds is None:
                continue
            if early.resident_bytes > _OTHER_MEMORY_BYTES:
                selection.why_not = f"it held more than {_OTHER_MEMORY_BYTES >> 20} MiB"
                selection.stop()
            elif early.is_cheap and early.seen.list_changes(seen):
                selection.why_not = "files have changed, and it has only just been begun again"
                selection.keep(early.job, _be_content)


def _be_content(_seen: Snapshot) -> None:
    """Nothing follows from a run that was renewed."""


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
