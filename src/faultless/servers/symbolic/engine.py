"""One request, one fork of a warm parent, bounded by cores; where there is no warm parent, a new process."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from faultless import process
from faultless.contract import Fault, FaultKind
from faultless.contract.text import clean
from faultless.process.warm import Pool, Recipe

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    OnProgress = Callable[[dict[str, Any]], Awaitable[None]]

PROGRAM = "faultless.servers.symbolic.worker"
START_SECONDS = 60.0
KILL_GRACE_SECONDS = 1.0
ANSWER_GRACE_SECONDS = 1.5
RUNS_AT_MOST = 10_000
"""Runs leave nothing in the parent; it is replaced when its files change or it grows."""
_LINE_BYTES = 16 << 20
_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "TZ", "VIRTUAL_ENV", "LD_LIBRARY_PATH")


@dataclass(frozen=True)
class Question:
    tool: str
    function: str
    other: str = ""
    exception: str = ""


@dataclass(frozen=True)
class Settings:
    """The server's flags that reach the engine."""

    memory_megabytes: int = 2048
    code_kilobytes: int = 64
    requires_strict: bool = False
    allow_imports: tuple[str, ...] = ()
    concurrent: int = 0

    @property
    def slots(self) -> int:
        """Each request runs two engines; more requests than this would only slow each other down."""
        return self.concurrent or max(4, 2 * (os.cpu_count() or 1))


class Engine:
    def __init__(self, settings: Settings, pool: Pool | None = None) -> None:
        self.settings = settings
        self._pool = pool or Pool(runs_at_most=RUNS_AT_MOST)
        self._recipe = _make_recipe()
        self._facts: dict[str, Any] = {}
        self._lock = anyio.Lock()
        self._attending: set[asyncio.Task[None]] = set()
        self._slots = anyio.CapacityLimiter(settings.slots)

    async def facts(self) -> dict[str, Any]:
        """Versions and isolation layers as a run finds them, and the warm parent's process id."""
        launcher = await self._launcher()
        if not self._facts:
            self._facts = await self._run({}, START_SECONDS, launcher, None)
        return {**self._facts, "pid": launcher.process_id if launcher else None}

    async def ask(
        self,
        question: Question,
        code: str,
        seconds: float,
        *,
        is_static: bool = False,
        on_progress: OnProgress | None = None,
    ) -> dict[str, Any]:
        """The worker's answer, or its refusal as a fault. Waiting for a free slot counts as time."""
        self._refuse_large(code)
        launcher = await self._launcher()
        start = 0.0 if launcher else START_SECONDS
        deadline = time.monotonic() + seconds
        with anyio.move_on_after(seconds + ANSWER_GRACE_SECONDS + start):
            async with self._slots:
                left = deadline - time.monotonic()
                if left > 0:
                    request = self._request(question, code, left, is_static=is_static)
                    return await self._run(request, left + KILL_GRACE_SECONDS + start, launcher, on_progress)
        raise _overdue(seconds)

    async def _launcher(self) -> process.Launcher | None:
        async with self._lock:
            return await self._pool.wait_for(self._recipe, START_SECONDS)

    def _request(self, question: Question, code: str, seconds: float, *, is_static: bool) -> dict[str, Any]:
        return {
            "question": asdict(question),
            "code": code,
            "seconds": seconds,
            "is_static": is_static,
            "memory_megabytes": self.settings.memory_megabytes,
            "requires_strict": self.settings.requires_strict,
            "allow_imports": list(self.settings.allow_imports),
        }

    def _refuse_large(self, code: str) -> None:
        size = len(code.encode(errors="surrogatepass"))
        limit = self.settings.code_kilobytes * 1024
        if size > limit:
            raise Fault(
                FaultKind.TOO_LARGE,
                f"The code is {size} bytes; the limit is {limit}",
                hint="Send only the function and what it needs, or start the server with a larger "
                "--max-code-kb",
            )

    async def _run(
        self,
        request: dict[str, Any],
        seconds: float,
        launcher: process.Launcher | None,
        on_progress: OnProgress | None,
    ) -> dict[str, Any]:
        spec = process.Spec(
            command=[str(self._recipe.interpreter), "-m", PROGRAM],
            cwd=self._recipe.root,
            env=self._recipe.env,
            stdin=json.dumps(request).encode(),
            deadline_seconds=seconds,
            grace_seconds=0.0,
            report=True,
            report_line_bytes=_LINE_BYTES,
        )
        heard: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        attending = asyncio.create_task(_attend(spec, launcher, heard, on_progress))
        self._attending.add(attending)
        attending.add_done_callback(self._attending.discard)
        try:
            return await heard
        finally:
            # Nobody should wait for dead processes to be buried once the answer is known.
            if heard.cancelled():
                attending.cancel()
                with anyio.CancelScope(shield=True):
                    await asyncio.wait([attending])


async def _attend(
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
        raise _overdue(spec.deadline_seconds) if finished.timed_out else _lost(finished)
    except Fault as fault:
        if not heard.done():
            heard.set_exception(fault)


async def _listen(run: process.Child, on_progress: OnProgress | None) -> dict[str, Any] | None:
    assert run.report is not None  # noqa: S101 - the spec asks for it
    async for line in run.report:
        message: dict[str, Any] = json.loads(line)
        if "answer" in message:
            answer: dict[str, Any] = message["answer"]
            return answer
        if "fault" in message:
            raise _fault_from(message["fault"])
        if on_progress is not None:
            await on_progress(message["progress"])
    return None


def _make_recipe() -> Recipe:
    # The seed is fixed: CrossHair must see the same order of sets each time it runs a path.
    kept = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    fixed = {"PYTHONHASHSEED": "0", "PYTHONNOUSERSITE": "1", "PYTHONSAFEPATH": "1"}
    home = Path(__file__).parents[2]
    return Recipe(
        interpreter=Path(sys.executable),
        root=Path("/"),
        program=PROGRAM,
        env={**kept, **fixed, "PYTHONDONTWRITEBYTECODE": "1"},
        warm_up=home / "servers" / "symbolic" / "worker" / "warm_up.py",
        trusted_folder=home,
    )


def _lost(finished: process.Finished) -> Fault:
    if "ModuleNotFoundError" in finished.stderr.text:
        return Fault(
            FaultKind.UNAVAILABLE,
            "The symbolic engine will not start",
            hint="Install it with: pip install 'faultless[symbolic]'; then run: faultless doctor",
        )
    return Fault(
        FaultKind.CRASH,
        "The process that analysed the code died",
        hint="Most often memory: raise --memory-mb, or analyse a smaller function",
    )


def _overdue(seconds: float) -> Fault:
    return Fault(
        FaultKind.TIMEOUT,
        f"No answer within {seconds:g} seconds",
        hint="Ask again with a larger timeout_seconds, or when fewer analyses run at once",
    )


def _fault_from(data: dict[str, Any]) -> Fault:
    return Fault(
        FaultKind(data["kind"]),
        clean(data["message"]),
        hint=data.get("hint"),
        details=data.get("details") or {},
    )
