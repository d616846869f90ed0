"""Start a command and hold on to it: the public handle of a run.

`session` is the run as seen from here, `launcher` gives it a supervisor, and `target.supervisor` is the other
end, where a deadline or a stop order ends the command and everything it started.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from faultless.process import launcher as launching
from faultless.process.lines import Lines
from faultless.process.outcome import read_status, refuse
from faultless.process.session import STDIN, STDOUT, Pipes, RunSession
from faultless.process.spec import make_request

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from faultless.process.capture import Captured
    from faultless.process.launcher import Launcher
    from faultless.process.outcome import Finished
    from faultless.process.spec import Spec

_CLOSED = -1


class Child:
    """A running command.

    `report` yields the lines of its private pipe, if the spec asked for one. If it asked for streaming,
    `stdin` and `stdout` are non-blocking descriptors; they are closed when the block is left.
    """

    def __init__(self, spec: Spec, session: RunSession) -> None:
        self.spec = spec
        self.process_id = session.process_id
        self.report = Lines(session.read_report, spec.report_line_bytes) if spec.report else None
        self.exited = session.exited
        """Set when its first process has ended, whoever of its tree still lives; only when streaming."""
        self.stdin, self.stdout = (
            session.pipes.ours[stream] if spec.streaming else _CLOSED for stream in (STDIN, STDOUT)
        )
        self._session = session

    def signal(self, number: int) -> None:
        """To the command's first process; nothing happens when it has ended."""
        self._session.signal(number)

    def restart_clock(self, deadline_seconds: float) -> None:
        """For a command that was started ahead of its time: its deadline and its duration count from now."""
        self._session.restart_clock(deadline_seconds)

    def stop(self, grace_seconds: float) -> None:
        """SIGTERM to everybody now, SIGKILL after the grace to who is left; `wait` until all are gone."""
        self._session.stop(grace_seconds)

    def close_stdin(self) -> None:
        self._session.pipes.drop(self.stdin)
        self.stdin = _CLOSED

    def read_stderr(self) -> Captured:
        """What it has written so far."""
        return self._session.read_stderr()

    @property
    def status(self) -> tuple[int | None, str | None]:
        """The exit code or the signal of the first process, as soon as it has ended; only when streaming."""
        wait_status = self._session.wait_status
        return (None, None) if wait_status is None else read_status(wait_status)

    async def wait(self) -> Finished:
        """How it ended, once its whole tree is gone. A deadline that passed is told, not raised."""
        return await self._session.wait()


async def run(spec: Spec, *, launcher: Launcher | None = None) -> Finished:
    """Run a command to its end. A deadline that passes is told, not raised; no start is a fault."""
    session = await _begin(spec, launcher or launching.shared, announces_start=False)
    try:
        await session.drive()
        return session.result()
    finally:
        await session.end()


@asynccontextmanager
async def start(
    spec: Spec, *, launcher: Launcher | None = None, on_stderr: Callable[[bytes], None] | None = None
) -> AsyncIterator[Child]:
    """A running command; leaving the block ends it with everything it started."""
    session = await _begin(spec, launcher or launching.shared, announces_start=True)
    session.on_stderr = on_stderr
    failure: BaseException | None = None
    try:
        await session.started()
        async with anyio.create_task_group() as tasks:
            driving = anyio.CancelScope(shield=True)  # a block that is cancelled may still wait for the end
            tasks.start_soon(_drive, session, driving)
            try:
                yield Child(spec, session)
            except BaseException as error:  # noqa: BLE001 - raised below, where the task group cannot wrap it
                failure = error
            driving.cancel()
    finally:
        await session.end()
    if failure is not None:
        raise failure


async def _drive(session: RunSession, driving: anyio.CancelScope) -> None:
    with driving:
        await session.drive()


async def _begin(spec: Spec, launcher: Launcher, *, announces_start: bool) -> RunSession:
    step = "cwd"
    try:
        request = make_request(spec, announces_start=announces_start)
        step = "pipes"
        pipes = Pipes(launcher.kernel, spec)
        try:
            step = "supervisor"
            supervisor = await launcher.acquire_supervisor()
        except BaseException:
            pipes.close()
            raise
    except OSError as error:
        raise refuse(spec, step, error.errno) from error
    session = RunSession(spec, launcher, supervisor, pipes)
    try:
        await session.begin(request)
    except BaseException:
        await session.end()
        raise
    return session
