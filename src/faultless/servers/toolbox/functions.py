"""Calling Python functions in workers, and reading what becomes of the call."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio

from faultless.contract import Fault, FaultKind, Json, clean
from faultless.contract.text import replace_surrogates
from faultless.kit import log
from faultless.kit.toolset import Output
from faultless.servers.toolbox.outcome import STDERR_TAIL, answer_with, timed_out
from faultless.servers.toolbox.workers import Pool, Worker, WorkerEndedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from anyio.abc import TaskGroup

    from faultless.servers.toolbox.definition import Definition, PythonFunction
    from faultless.servers.toolbox.environment import Redactor


class Functions:
    """The pools of a folder's Python files.

    While a session runs, `tasks` outlives the calls and workers stay; without it every call is a cold one.
    """

    def __init__(self, open_pool: Callable[[Path], Pool]) -> None:
        self._open_pool = open_pool
        self._pools: dict[Path, Pool] = {}
        self.tasks: TaskGroup | None = None

    async def describe(self, path: Path) -> dict[str, Any]:
        """What the file says it holds, or `broken` with the reason; the worker stays, warm."""
        async with self._worker(path) as worker:
            return worker.description

    async def renew(self) -> None:
        """Files changed: nothing that was imported before may answer again."""
        pools, self._pools = self._pools, {}
        for pool in pools.values():
            await pool.close()

    def abandon(self) -> None:
        """The session ends, and its task group ends the workers."""
        self.tasks = None
        for pool in self._pools.values():
            pool.abandon()
        self._pools.clear()

    async def call(
        self,
        definition: Definition,
        action: PythonFunction,
        arguments: dict[str, Any],
        *,
        seconds: float,
        redactor: Redactor,
    ) -> Output:
        async with self._worker(action.path) as worker:
            try:
                with anyio.fail_after(seconds):
                    answer = await worker.exchange({"function": action.function, "arguments": arguments})
            except TimeoutError:
                await worker.stop()
                raise timed_out(definition.name, seconds, _last_words(worker, redactor)) from None
            except WorkerEndedError:
                await worker.stop()
                raise _crashed(definition, worker, redactor) from None
            if answer["children"]:
                log.warn("tool left processes behind", tool=definition.name)
                await worker.stop()
        blot = redactor.blot_end if answer["printed_is_cut"] else redactor.blot
        printed = blot(answer["printed"])
        if printed:
            log.info("tool printed", tool=definition.name, printed=clean(printed, STDERR_TAIL))
        return _read_answer(definition, action, answer, {"output": printed}, redactor)

    @asynccontextmanager
    async def _worker(self, path: Path) -> AsyncIterator[Worker]:
        """A worker for one call; whoever leaves early leaves a dead one."""
        if self.tasks is not None:
            async with self._hired(path, self.tasks) as worker:
                yield worker
            return
        failure: BaseException | None = None
        async with anyio.create_task_group() as tasks:
            try:
                async with self._hired(path, tasks) as worker:
                    yield worker
            except BaseException as error:  # noqa: BLE001 - raised below, where the task group cannot wrap it
                failure = error
            await self.renew()
        if failure is not None:
            raise failure

    @asynccontextmanager
    async def _hired(self, path: Path, tasks: TaskGroup) -> AsyncIterator[Worker]:
        if path not in self._pools:
            self._pools[path] = self._open_pool(path)
        pool = self._pools[path]
        try:
            worker = await pool.hire(tasks)
        except TimeoutError:
            raise Fault(
                FaultKind.TIMEOUT, "its import did not end in time", hint=f"import less in {path.name}"
            ) from None
        except WorkerEndedError:
            raise Fault(
                FaultKind.UNAVAILABLE,
                "its import ended the interpreter",
                hint=f"does {path.name} leave while it is imported?",
            ) from None
        try:
            yield worker
        except BaseException:
            await pool.dismiss(worker)
            raise
        await pool.release(worker)


def _read_answer(
    definition: Definition,
    action: PythonFunction,
    answer: dict[str, Any],
    told: dict[str, Json],
    redactor: Redactor,
) -> Output:
    if "raised" in answer:
        raise _raised(definition, answer["raised"], told, redactor)
    if "unwritable" in answer:
        raise Fault(
            FaultKind.ENGINE_ERROR,
            clean(f"{definition.name} returned what JSON cannot hold: {answer['unwritable']}"),
            hint="return text, numbers, lists, dicts or dataclasses",
            details=told,
        )
    if "too_large" in answer:
        raise Fault(
            FaultKind.TOO_LARGE,
            f"{definition.name} returned {answer['too_large']} bytes of JSON",
            hint="return less, or write it to a file and return its name",
            details=told,
        )
    value = answer["returned"]
    if action.returns_text or isinstance(value, str):
        return _answer_text(definition, value, told)
    if value is None and not action.wraps_result:
        return Output(None, "")
    return answer_with(definition, {"result": value} if action.wraps_result else value, told)


def _raised(
    definition: Definition, raised: dict[str, Any], told: dict[str, Json], redactor: Redactor
) -> Fault:
    blot = redactor.blot_beginning if raised["is_cut"] else redactor.blot
    return Fault(
        FaultKind.ENGINE_ERROR,
        clean(f"{definition.name} raised {raised['type']}: {blot(raised['message'])}"),
        hint="details.traceback shows where",
        details=told
        | {
            "exception": raised["type"],
            "line": raised["line"],
            "traceback": clean(redactor.blot(raised["traceback"]), 20_000),
        },
    )


def _answer_text(definition: Definition, value: object, told: dict[str, Json]) -> Output:
    if definition.output_schema is not None:
        return answer_with(definition, {"result": value}, told)
    if not isinstance(value, str):
        raise Fault(
            FaultKind.ENGINE_ERROR,
            f"{definition.name} promised text and returned {type(value).__name__}",
            hint="correct the function, or its return hint",
            details=told,
        )
    return Output(None, replace_surrogates(value))


def _last_words(worker: Worker, redactor: Redactor) -> dict[str, Json]:
    words = worker.last_words(redactor)
    return {"output": "", "stderr": clean(words.strip()[-STDERR_TAIL:], STDERR_TAIL)}


def _crashed(definition: Definition, worker: Worker, redactor: Redactor) -> Fault:
    finished = worker.finished
    code = finished.exit_code if finished else None
    name = finished.signal if finished else None
    how = f"was ended by {name}" if name else f"ended its interpreter with exit code {code}"
    return Fault(
        FaultKind.CRASH,
        f"{definition.name} {how}",
        hint="details.stderr holds its last words",
        details={**_last_words(worker, redactor), "signal": name, "exit_code": code},
    )
