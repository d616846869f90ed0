"""Start a command and hold on to it: the public handle of a run."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from faultless.contract import Fault, FaultKind
from faultless.process import launcher as launching
from faultless.process.attend import Attendance
from faultless.process.lines import Lines
from faultless.process.pipes import Pipes
from faultless.process.refusal import describe, refuse
from faultless.process.warden import wire

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from faultless.process.launcher import Launcher
    from faultless.process.spec import Finished, Spec


class Child:
    """A running command. `report` yields the lines of its private pipe, if the spec asked for one."""

    def __init__(self, spec: Spec, attendance: Attendance) -> None:
        self.spec = spec
        self.process_id = attendance.process_id
        self.report = Lines(attendance.read_report, spec.report_line_bytes) if spec.report else None
        self._attendance = attendance

    def signal(self, number: int) -> None:
        """To the command's first process; nothing happens when it has ended."""
        self._attendance.order(wire.SIGNAL, number)

    async def wait(self) -> Finished:
        """How it ended. A deadline that passed is told, not raised."""
        return await self._attendance.wait()


async def run(spec: Spec, *, launcher: Launcher | None = None) -> Finished:
    """Run a command to its end. A deadline that passes is told, not raised; no start is a fault."""
    attendance = await _begin(spec, launcher or launching.shared, announce=False)
    try:
        await attendance.drive()
        return attendance.result()
    finally:
        await attendance.end()


@asynccontextmanager
async def start(spec: Spec, *, launcher: Launcher | None = None) -> AsyncIterator[Child]:
    """A running command; leaving the block ends it with everything it started."""
    attendance = await _begin(spec, launcher or launching.shared, announce=True)
    failure: BaseException | None = None
    try:
        await attendance.started()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(attendance.drive)
            try:
                yield Child(spec, attendance)
            except BaseException as error:  # noqa: BLE001 - raised below, where the task group cannot wrap it
                failure = error
            tasks.cancel_scope.cancel()
    finally:
        await attendance.end()
    if failure is not None:
        raise failure


async def _begin(spec: Spec, launcher: Launcher, *, announce: bool) -> Attendance:
    _check(spec)
    step = "pipes"
    try:
        pipes = Pipes(launcher.kernel, spec)
        try:
            step = "supervisor"
            lease = await launcher.hire()
        except BaseException:
            pipes.close()
            raise
    except OSError as error:
        raise refuse(spec, step, error.errno) from error
    attendance = Attendance(spec, launcher, lease, pipes)
    try:
        await attendance.begin(announce=announce)
    except BaseException:
        await attendance.end()
        raise
    return attendance


def _check(spec: Spec) -> None:
    """What the kernel cannot even be asked."""
    env = spec.env or {}
    texts = (*spec.command, str(spec.cwd), *env, *env.values())
    if not all(map(_is_plain, texts)) or any("=" in name or not name for name in env):
        raise Fault(
            FaultKind.INVALID_PARAMS,
            "a command, its folder or its environment holds a NUL byte, a lone surrogate or a bad name",
            hint="remove it",
            details=describe(spec),
        )


def _is_plain(text: str) -> bool:
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False
