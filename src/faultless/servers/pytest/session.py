"""One pytest process under supervision, and everything known about it afterwards."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections.abc import Awaitable, Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import anyio

from faultless import process
from faultless.contract import Fault, FaultKind
from faultless.process.readiness import until_readable
from faultless.servers.pytest.record import Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from faultless.contract import Json
    from faultless.process import Child, Finished
    from faultless.servers.pytest.hold import Hold
    from faultless.servers.pytest.interpreter import Interpreter

_WORKER = Path(__file__).with_name("worker")
"""On PYTHONPATH until pytest is found. Nothing else may ever lie in it: it would hide a module of that name
in the project."""
_WORKER_PACKAGE = "faultless_pytest_worker"
_WORKER_SETTINGS = "FAULTLESS_PYTEST_WORKER"
_HOLD = "FAULTLESS_PYTEST_HOLD"
_SHOWN_PATH = "FAULTLESS_PYTEST_PATH"
_HELD_SECONDS = 3600.0  # far beyond the age at which a run that nobody asked for is given up
_STACKS_SECONDS = 0.5  # between the question for the stacks and the kill
_PROGRESS_SECONDS = 0.25
_CAPTURE_BYTES = 2 << 20
_PIPE_BYTES = 1 << 20
_CHUNK = 1 << 16
_GATHER_SECONDS = 0.02  # of events per reading: tests end faster than one is worth waking up for

Text = Literal["tail", "lean", "whole"]
"""How much of what pytest prints: the summary, all but the failures, everything."""
OnProgress = Callable[[Record], Awaitable[None]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """What to run."""

    root: Path
    interpreter: Interpreter
    variables: Mapping[str, str]
    """The whole environment, as tests will see it."""
    deadline_seconds: float
    arguments: Sequence[str] = ()
    mode: Literal["run", "discover"] = "run"
    text: Text = "tail"
    last_failed: bool = False
    is_apart: bool = False
    """Whether its cache is its own."""

    @property
    def command(self) -> list[str]:
        return [str(self.interpreter.path), "-m", "pytest", *self.arguments]


@dataclass(slots=True)
class Session:
    """What came of it."""

    job: Job
    record: Record = field(default_factory=Record)
    finished: Finished | None = None
    lost: Fault | None = None
    """Why nobody knows how it ended."""
    stacks: bytes = b""
    mark: str = field(default_factory=lambda: f"[faultless {secrets.token_hex(8)}]")
    """Printed by the worker where the run ends and the summary begins."""

    def add_stacks(self, data: bytes) -> None:
        self.stacks += data


class _Pipe:
    """Both ends stay open here, so that the worker can open its own again after a test closed it.

    The report pipe of `process` would not do: there the server lets go of the command's end as soon as it has
    been handed over. Stacks have a pipe of their own, because the interpreter dumps them from C, possibly in
    the middle of an event that the stuck process was writing.
    """

    def __init__(self) -> None:
        try:
            self.reader, self.writer = os.pipe2(os.O_CLOEXEC)
        except OSError as error:
            hint = "close other programs or raise the limit on open files"
            raise Fault(FaultKind.UNAVAILABLE, error.strerror or str(error), hint=hint) from error
        os.set_blocking(self.reader, False)
        with suppress(OSError):  # only speed is lost
            fcntl.fcntl(self.writer, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    @property
    def path(self) -> str:
        return f"/proc/{os.getpid()}/fd/{self.writer}"

    def close(self) -> None:
        os.close(self.reader)
        os.close(self.writer)

    def read_now(self) -> bytes:
        try:
            return os.read(self.reader, _CHUNK)
        except BlockingIOError:
            return b""

    async def follow(self, take: Callable[[bytes], None]) -> None:
        while True:
            await until_readable(self.reader)
            data = self.read_now()
            take(data)
            if len(data) < _CHUNK:
                await anyio.sleep(_GATHER_SECONDS)

    def drain(self, take: Callable[[bytes], None]) -> None:
        while data := self.read_now():
            take(data)


async def run_session(session: Session, on_progress: OnProgress, hold: Hold | None = None) -> Session:
    """Run it to its end, whatever that is. Fault(unavailable) if it does not start."""
    job = session.job
    with closing(_Pipe()) as report, closing(_Pipe()) as stacks:
        variables, seconds = _add_worker(session, report, stacks), job.deadline_seconds + _STACKS_SECONDS
        spec = process.Spec(
            command=job.command,
            cwd=job.root,
            env=variables if hold is None else {**variables, _HOLD: str(hold.number)},
            deadline_seconds=seconds if hold is None else _HELD_SECONDS,
            capture_bytes=_CAPTURE_BYTES,
            pass_fds=(report.writer, stacks.writer, *([] if hold is None else [hold.number])),
        )
        async with process.start(spec) as child, anyio.create_task_group() as tasks:
            tasks.start_soon(report.follow, session.record.feed)
            tasks.start_soon(stacks.follow, session.add_stacks)
            tasks.start_soon(_keep_time, child, session, hold)
            tasks.start_soon(_show_progress, session.record, on_progress)
            if hold is not None:
                tasks.start_soon(hold.follow, child.process_id)
            try:
                session.finished = await child.wait()
            except Fault as lost:
                session.lost = lost
            tasks.cancel_scope.cancel()
        report.drain(session.record.feed)
        stacks.drain(session.add_stacks)
    return session


def _add_worker(session: Session, report: _Pipe, stacks: _Pipe) -> dict[str, str]:
    """What makes pytest load the worker; the worker puts everything back when it is imported."""
    job, variables = session.job, session.job.variables
    settings: dict[str, Json] = {
        "report": report.writer,
        "report_path": report.path,
        "stacks": stacks.writer,
        "stacks_path": stacks.path,
        "mode": job.mode,
        "text": job.text,
        "mark": session.mark,
        "last_failed": job.last_failed,
        "environment": {name: variables.get(name) for name in ("PYTHONPATH", "PYTEST_PLUGINS")},
    }
    shown = {_SHOWN_PATH: variables["PYTHONPATH"]} if "PYTHONPATH" in variables else {}
    return {
        **variables,
        **shown,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(_WORKER), variables.get("PYTHONPATH")])),
        "PYTEST_PLUGINS": ",".join(filter(None, [_WORKER_PACKAGE, variables.get("PYTEST_PLUGINS")])),
        _WORKER_SETTINGS: json.dumps(settings),
    }


async def _keep_time(child: Child, session: Session, hold: Hold | None) -> None:
    """At the deadline ask for the stacks. A run that began earlier has its time from when it is asked for."""
    if hold is not None:
        await hold.asked.wait()
        child.restart_clock(session.job.deadline_seconds + _STACKS_SECONDS)
    await anyio.sleep(session.job.deadline_seconds)
    if session.record.worker is not None:
        child.signal(session.record.worker["signal"])


async def _show_progress(record: Record, on_progress: OnProgress) -> None:
    shown = -1
    while True:
        await anyio.sleep(_PROGRESS_SECONDS)
        done = len(record.tests)
        if done != shown and record.is_planned:
            shown = done
            await on_progress(record)
