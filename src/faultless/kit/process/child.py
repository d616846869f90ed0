"""Start a command and hold on to it: the public handle of a run."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from faultless.contract import Fault, FaultKind
from faultless.kit.process import launcher as launching
from faultless.kit.process.attend import Attendance
from faultless.kit.process.lines import Lines
from faultless.kit.process.pipes import Pipes
from faultless.kit.process.refusal import describe, refuse
from faultless.kit.process.warden import wire

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from faultless.kit.process.launcher import Launcher
    from faultless.kit.process.spec import Finished, Spec


class Child:
    """A running command. `report` yields the lines of its private pipe, if the spec asked for one."""

    def __init__(self, spec: Spec, attendance: Attendance, report: Lines | None) -> None:
        self.spec = spec
        self.process_id = attendance.process_id
        self.report = report
        self._attendance = attendance

    def signal(self, number: int) -> None:
        """To the command's first process; nothing happens when it has ended."""
        self._attendance.order(wire.SIGNAL, number)

    async def wait(self) -> Finished:
        """How it ended. A deadline that passed is told, not raised."""
        return await self._attendance.wait()


async def run(spec: Spec, *, launcher: Launcher | None = None) -> Finished:
    """Run a command to its end. A deadline that passes is told, not raised; no start is a fault."""
    async with start(spec, launcher=launcher) as child:
        return await child.wait()


@asynccontextmanager
async def start(spec: Spec, *, launcher: Launcher | None = None) -> AsyncIterator[Child]:
    """A running command; leaving the block ends it with everything it started."""
    attendance, report = await _begin(spec, launcher or launching.shared)
    failure: BaseException | None = None
    try:
        async with anyio.create_task_group() as tasks:
            attendance.attend(tasks)
            try:
                yield Child(spec, attendance, report)
            except BaseException as error:  # noqa: BLE001 - raised below, where the task group cannot wrap it
                failure = error
            await attendance.end()
            tasks.cancel_scope.cancel()
    finally:
        attendance.close()
    if failure is not None:
        raise failure


async def _begin(spec: Spec, launcher: Launcher) -> tuple[Attendance, Lines | None]:
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
        await attendance.begin()
    except BaseException:
        await attendance.abandon()
        raise
    descriptor = pipes.ours.get(pipes.report)
    if descriptor is None:
        return attendance, None
    return attendance, Lines(lambda: attendance.read(descriptor), spec.report_line_bytes)


def _check(spec: Spec) -> None:
    """What the kernel cannot even be asked."""
    for text in (*spec.command, str(spec.cwd), *(spec.env or ())):
        try:
            bad = b"\0" in os.fsencode(text)
        except UnicodeEncodeError:
            bad = True
        if bad:
            raise Fault(
                FaultKind.INVALID_PARAMS,
                "a command, its folder and its environment cannot hold NUL bytes or lone surrogates",
                hint="remove them",
                details=describe(spec),
            )
