"""One pytest process under supervision, and everything known about it afterwards."""

from __future__ import annotations

import fcntl
import os
import secrets
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import anyio

from faultless import process
from faultless.contract import Fault, FaultKind
from faultless.process.readiness import until_readable
from faultless.servers.pytest.environment import add_worker, make_variables
from faultless.servers.pytest.record import Record

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
    from pathlib import Path

    from faultless.contract import Json
    from faultless.process import Child, Finished, Launcher
    from faultless.process.warm import Pool
    from faultless.servers.pytest.interpreter import Interpreter, Surroundings

STACKS_SECONDS = 0.5  # between the question for the stacks and the kill
PROGRESS_SECONDS = 0.25
CAPTURE_BYTES = 2 << 20
PIPE_BYTES = 1 << 20
CHUNK = 1 << 16
GATHER_SECONDS = 0.02  # of events per reading: tests end faster than one is worth waking up for

Text = Literal["tail", "lean", "whole"]
"""How much of what pytest prints: the summary, all but the failures, everything."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """What to run."""

    root: Path
    interpreter: Interpreter
    surroundings: Surroundings
    arguments: list[str]
    deadline_seconds: float
    mode: Literal["run", "discover"] = "run"
    text: Text = "tail"
    last_failed: bool = False
    pool: Pool | None = None
    """Of warm interpreters; None starts every run cold."""

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
    is_warm: bool = False
    mark: str = field(default_factory=lambda: f"[faultless {secrets.token_hex(8)}]")
    """Printed by the worker where the run ends and the summary begins."""

    def add_stacks(self, data: bytes) -> None:
        self.stacks += data


@dataclass(slots=True)
class Pipe:
    """Both ends stay open here, so that the worker can open its own again after a test closed it."""

    reader: int
    writer: int

    @classmethod
    def open(cls) -> Pipe:
        reader, writer = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(reader, False)
        with suppress(OSError):  # only speed is lost
            fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        return cls(reader, writer)

    @property
    def path(self) -> str:
        return f"/proc/{os.getpid()}/fd/{self.writer}"

    def close(self) -> None:
        os.close(self.reader)
        os.close(self.writer)

    def read_now(self) -> bytes:
        try:
            return os.read(self.reader, CHUNK)
        except BlockingIOError:
            return b""

    async def follow(self, take: Callable[[bytes], None]) -> None:
        while True:
            await until_readable(self.reader)
            data = self.read_now()
            take(data)
            if len(data) < CHUNK:
                await anyio.sleep(GATHER_SECONDS)

    def drain(self, take: Callable[[bytes], None]) -> None:
        while data := self.read_now():
            take(data)


async def run_session(
    job: Job, on_progress: Callable[[Record], Awaitable[None]], launcher: Launcher | None = None
) -> Session:
    """Run it to its end, whatever that is. Fault(unavailable) if it does not start."""
    session = Session(job, is_warm=launcher is not None)
    with _open_pipes() as (report, stacks):
        spec = process.Spec(
            command=job.command,
            cwd=job.root,
            env=_make_environment(session, report, stacks),
            deadline_seconds=job.deadline_seconds + STACKS_SECONDS,
            capture_bytes=CAPTURE_BYTES,
            pass_fds=(report.writer, stacks.writer),
        )
        async with _start(spec, launcher) as child, anyio.create_task_group() as tasks:
            tasks.start_soon(report.follow, session.record.feed)
            tasks.start_soon(stacks.follow, session.add_stacks)
            tasks.start_soon(_ask_for_stacks, child, session)
            tasks.start_soon(_show_progress, session.record, on_progress)
            try:
                session.finished = await child.wait()
            except Fault as lost:
                session.lost = lost
            tasks.cancel_scope.cancel()
        report.drain(session.record.feed)
        stacks.drain(session.add_stacks)
    return session


@contextmanager
def _open_pipes() -> Iterator[tuple[Pipe, Pipe]]:
    with ExitStack() as opened:
        try:
            report = Pipe.open()
            opened.callback(report.close)
            stacks = Pipe.open()
            opened.callback(stacks.close)
        except OSError as error:
            raise Fault(
                FaultKind.UNAVAILABLE,
                f"Failed to spawn pytest subprocess: {error.strerror}",
                hint="close other programs or raise the limit on open files",
            ) from error
        yield report, stacks


@asynccontextmanager
async def _start(spec: process.Spec, launcher: Launcher | None) -> AsyncIterator[Child]:
    """The child, or the seed's sentence about why there is none."""
    async with AsyncExitStack() as stack:
        try:
            child = await stack.enter_async_context(process.start(spec, launcher=launcher))
        except Fault as fault:
            raise Fault(
                fault.kind,
                f"Failed to spawn pytest subprocess: {fault.message}",
                hint=fault.hint,
                details={**fault.details, "command": list(spec.command)},
            ) from fault
        yield child


def _make_environment(session: Session, report: Pipe, stacks: Pipe) -> dict[str, str]:
    settings: dict[str, Json] = {
        "report": report.writer,
        "report_path": report.path,
        "stacks": stacks.writer,
        "stacks_path": stacks.path,
        "mode": session.job.mode,
        "text": session.job.text,
        "mark": session.mark,
        "last_failed": session.job.last_failed,
    }
    return add_worker(make_variables(session.job.interpreter, session.job.surroundings), settings)


async def _ask_for_stacks(child: Child, session: Session) -> None:
    await anyio.sleep(session.job.deadline_seconds)
    if session.record.worker is not None:
        child.signal(session.record.worker["signal"])


async def _show_progress(record: Record, on_progress: Callable[[Record], Awaitable[None]]) -> None:
    shown = -1
    while True:
        await anyio.sleep(PROGRESS_SECONDS)
        done = len(record.tests)
        if done != shown and record.is_planned:
            shown = done
            await on_progress(record)
