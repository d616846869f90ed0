"""One request, one fork of a warm parent, bounded by cores; where there is no warm parent, a new process."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from faultless import process
from faultless.contract import Fault
from faultless.kit.admission import Admission
from faultless.process.warm import Pool, Recipe
from faultless.servers.symbolic import faults, worker
from faultless.servers.symbolic.worker.faultless_symbolic_worker.protocol import (
    Progress,
    Question,
    Request,
    Told,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from faultless.kit.toolset import Call
    from faultless.servers.symbolic.settings import Settings

    OnProgress = Callable[[Progress], Awaitable[None]]

_START_SECONDS = 60.0
_KILL_GRACE_SECONDS = 1.0
_ANSWER_GRACE_SECONDS = 1.5
_RUNS_AT_MOST = 10_000
"""Runs leave nothing in the parent; it is replaced when its files change or it grows."""
_LINE_BYTES = 16 << 20
_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "TZ", "VIRTUAL_ENV", "LD_LIBRARY_PATH")


class Engine:
    def __init__(self, settings: Settings, pool: Pool | None = None) -> None:
        self._settings = settings
        self._pool = pool or Pool(runs_at_most=_RUNS_AT_MOST)
        self._recipe = make_recipe()
        self._facts: dict[str, Any] = {}
        self._lock = anyio.Lock()
        self._following: set[asyncio.Task[None]] = set()
        self._admission = Admission(settings.slots, settings.waiting)

    async def facts(self) -> dict[str, Any]:
        """Versions and isolation layers as a run finds them, and the memory the warm parent holds."""
        launcher = await self._launcher()
        if not self._facts:
            self._facts = await self._run({}, _START_SECONDS, launcher, None)
        return {**self._facts, "parent_bytes": launcher.resident_bytes() if launcher else 0}

    async def ask(
        self, question: Question, code: str, seconds: float, call: Call, *, is_static: bool = False
    ) -> dict[str, Any]:
        """The worker's answer, or its refusal as a fault. Time counts from when it can begin."""
        size, limit = len(code.encode(errors="surrogatepass")), self._settings.code_kilobytes * 1024
        if size > limit:
            raise faults.too_large(size, limit)
        request = Request(
            question=question,
            code=code,
            seconds=seconds,
            is_static=is_static,
            memory_megabytes=self._settings.memory_megabytes,
            requires_strict=self._settings.isolation == "strict",
            allow_imports=self._settings.allow_imports,
        )
        async with self._admission.slot(question.tool):
            return await self._answer(request, call)

    async def _answer(self, request: Request, call: Call) -> dict[str, Any]:
        launcher = await self._launcher()
        started = time.monotonic()

        async def report(progress: Progress) -> None:
            text = f"{progress['paths']} paths explored, {progress['inputs']} inputs tried"
            await call.report_progress(round(time.monotonic() - started, 1), request.seconds, text)

        seconds = request.seconds + (0.0 if launcher else _START_SECONDS)
        with anyio.move_on_after(seconds + _ANSWER_GRACE_SECONDS):
            answer = await self._run(request.as_json(), seconds + _KILL_GRACE_SECONDS, launcher, report)
            return {**answer, "time_seconds": round(time.monotonic() - started, 4)}
        raise faults.overdue(request.seconds)

    async def _launcher(self) -> process.Launcher | None:
        async with self._lock:
            return await self._pool.wait_for(self._recipe, _START_SECONDS)

    async def _run(
        self,
        request: dict[str, Any],
        seconds: float,
        launcher: process.Launcher | None,
        on_progress: OnProgress | None,
    ) -> dict[str, Any]:
        spec = process.Spec(
            command=[str(self._recipe.interpreter), "-m", worker.PROGRAM],
            cwd=self._recipe.root,
            env=self._recipe.env,
            stdin=json.dumps(request).encode(),
            deadline_seconds=seconds,
            grace_seconds=0.0,
            report=True,
            report_line_bytes=_LINE_BYTES,
        )
        heard: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        following = asyncio.create_task(_follow(spec, launcher, heard, on_progress))
        self._following.add(following)
        following.add_done_callback(self._following.discard)
        try:
            return await heard
        finally:
            # Reap after answering: reaping a large process is slow.
            if heard.cancelled():
                following.cancel()
                with anyio.CancelScope(shield=True):
                    await asyncio.wait([following])


async def _follow(
    spec: process.Spec,
    launcher: process.Launcher | None,
    heard: asyncio.Future[dict[str, Any]],
    on_progress: OnProgress | None,
) -> None:
    """Sees the run to its end; what it says is told to `heard` before that."""
    try:
        async with process.start(spec, launcher=launcher) as run:
            answer = await _listen(run, on_progress)
            if answer is not None:
                heard.set_result(answer)
                return
            finished = await run.wait()
        raise faults.ended_without_answer(finished, spec.deadline_seconds)
    except Fault as fault:
        if not heard.done():
            heard.set_exception(fault)


async def _listen(run: process.Child, on_progress: OnProgress | None) -> dict[str, Any] | None:
    assert run.report is not None  # noqa: S101 - the spec asks for it
    async for line in run.report:
        message: Told = json.loads(line)
        if "answer" in message:
            return message["answer"]
        if "fault" in message:
            raise faults.refused(message["fault"])
        if on_progress is not None:
            await on_progress(message["progress"])
    return None


def make_recipe() -> Recipe:
    kept = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    fixed = {
        "PYTHONDONTWRITEBYTECODE": "1",
        # CrossHair must see the same order of sets each time it runs a path.
        "PYTHONHASHSEED": "0",
        "PYTHONNOUSERSITE": "1",
        "PYTHONPATH": str(worker.FOLDER),
        "PYTHONSAFEPATH": "1",
    }
    return Recipe(
        interpreter=Path(sys.executable),
        root=Path("/"),
        program=worker.PROGRAM,
        env={**kept, **fixed},
        warm_up=Path(__file__).with_name("warm_up.py"),
        trusted_folder=worker.FOLDER,
    )
