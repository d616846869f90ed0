"""Warm processes that run Python functions: one call each at a time, killed when a call must end."""

from __future__ import annotations

import json
import re
import signal
import socket
from collections import deque
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from faultless import process
from faultless.contract import Fault, FaultKind, Json, clean
from faultless.kit import log
from faultless.process.lines import Line, LineSplitter
from faultless.process.readiness import until_readable, until_writable
from faultless.servers.toolbox.faults import STDERR_TAIL, explain_ended_worker, explain_garbled, time_out
from faultless.servers.toolbox.outputs import read_return
from faultless.servers.toolbox.python_file import read_module_env
from faultless.servers.toolbox.workplace import hide_captured

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Container

    from anyio.abc import TaskGroup, TaskStatus

    from faultless.contract.redaction import Redactor
    from faultless.kit.toolset import Output
    from faultless.servers.toolbox.definition import Definition, PythonFunction
    from faultless.servers.toolbox.workplace import Workplace

WORKER_FOLDER = Path(__file__).parent / "worker"
# Under a name of its own, for the owner's file may import a `worker` too.
_PROGRAM = (
    "import sys, importlib.util as u; n = '_faultless_worker';"
    "d = sys.argv[1];"
    "s = u.spec_from_file_location(n, d + '/__init__.py', submodule_search_locations=[d]);"
    "sys.modules[n] = u.module_from_spec(s);"
    "from _faultless_worker.serving import main; main(int(sys.argv[2]), sys.argv[3])"
)
_LONGEST_LINE_BYTES = 64 * 1024 * 1024
"""The worker itself keeps far below."""
_READ_BYTES = 1 << 18
_STDERR_BYTES = 64 * 1024
_LIFE_SECONDS = 7 * 24 * 3600.0
"""A worker that has been there for so long is replaced by the next call."""
_LONGEST_IMPORT_SECONDS = 20.0
_END_SECONDS = 10.0
_IDLE_AT_MOST = 16
_IDLE_SECONDS = 60.0
"""A worker that nobody has needed for so long is let go, unless it is the last."""
_AT_ONCE = 4
"""So many workers are started without hesitation."""
_PATIENCE_SECONDS = 0.05
"""After that one that is busy may well be free before another could have been started."""
_MARK = "\x1e\n"
_FOLDER_IN_FRAME = re.compile(r'(?<=^  )File "[^"\n]*/', re.MULTILINE)
_OUR_FRAMES = (f'File "{WORKER_FOLDER}', 'File "<string>"')


class WorkerEndedError(Exception):
    """The process ended before it answered."""


@dataclass
class Worker:
    """One process, spoken to in lines of JSON."""

    channel: socket.socket
    child: process.Child | None = None
    finished: process.Finished | None = None
    ended: anyio.Event = field(default_factory=anyio.Event)
    _splitter: LineSplitter = field(default_factory=lambda: LineSplitter(_LONGEST_LINE_BYTES))
    _lines: deque[Line] = field(default_factory=deque)

    async def exchange(self, request: dict[str, Any]) -> dict[str, Any]:
        rest = memoryview(json.dumps(request).encode() + b"\n")
        try:
            while rest:
                try:
                    rest = rest[self.channel.send(rest) :]
                except BlockingIOError:
                    await until_writable(self.channel)
        except (BrokenPipeError, ConnectionResetError):
            raise WorkerEndedError from None
        return await self.receive()

    async def receive(self) -> dict[str, Any]:
        while not self._lines:
            try:
                data = self.channel.recv(_READ_BYTES)
            except BlockingIOError:
                await until_readable(self.channel)
                continue
            except ConnectionResetError:
                data = b""
            if not data:
                raise WorkerEndedError
            self._lines.extend(self._splitter.feed(data))
            if self._splitter.is_over:
                raise explain_garbled()
        try:
            message: dict[str, Any] = json.loads(self._lines.popleft().data)
        except ValueError:
            raise explain_garbled() from None
        return message

    async def stop(self) -> None:
        """Kill it with everything it started; afterwards `finished` is known."""
        with anyio.move_on_after(_END_SECONDS, shield=True):
            if self.child is not None and not self.ended.is_set():
                self.child.signal(signal.SIGKILL)
            await self.ended.wait()
        self.channel.close()

    def describe_end(self, redactor: Redactor) -> dict[str, Json]:
        """What was printed since the last call began, without the frames of our own code in a crash dump."""
        printed = hide_captured(redactor, self.finished.stderr).text if self.finished else ""
        words = printed.rsplit(_MARK, 1)[-1]
        lines = [line for line in words.splitlines() if not line.lstrip().startswith(_OUR_FRAMES)]
        shown = _FOLDER_IN_FRAME.sub('File "', "\n".join(lines)).strip()
        return {"output": "", "stderr": clean(shown[-STDERR_TAIL:], STDERR_TAIL)}


class Pool:
    """The workers of one Python file."""

    def __init__(self, path: Path, workplace: Workplace) -> None:
        self._path = path
        self._workplace = workplace
        self._idle: list[tuple[Worker, float]] = []
        self._busy = 0
        self._freed = anyio.Event()
        self._closed = False
        self.description: dict[str, Any] | None = None
        """What the file says it holds."""
        self.files = {str(path)}
        """What its workers were seen to have imported from the folder."""

    async def acquire(self, tasks: TaskGroup) -> Worker:
        patience = anyio.current_time() + _PATIENCE_SECONDS
        while not self._idle and self._busy >= _AT_ONCE and anyio.current_time() < patience:
            with anyio.move_on_after(patience - anyio.current_time()):
                await self._freed.wait()
        self._busy += 1
        try:
            while self._idle:
                worker, _ = self._idle.pop()
                if not worker.ended.is_set():
                    return worker
                await worker.stop()
            return await self._start(tasks)
        except BaseException:
            self._busy -= 1
            raise

    def take(self, message: dict[str, Any]) -> None:
        """Look at what a worker says for what concerns all of them."""
        self.files.update(message.get("files", ()))
        if self.description is None:
            self.description = message

    async def release(self, worker: Worker) -> None:
        self._busy -= 1
        if self._closed or len(self._idle) >= _IDLE_AT_MOST or worker.ended.is_set():
            await worker.stop()
        else:
            self._idle.append((worker, anyio.current_time()))
        self._freed.set()
        self._freed = anyio.Event()
        if len(self._idle) > 1 and self._idle[0][1] < anyio.current_time() - _IDLE_SECONDS:
            await self._idle.pop(0)[0].stop()

    async def discard(self, worker: Worker) -> None:
        """After a call that must end now."""
        self._busy -= 1
        await worker.stop()

    async def close(self) -> None:
        """End the idle ones; a busy one ends when its call does."""
        self._closed = True
        while self._idle:
            await self._idle.pop()[0].stop()

    def abandon(self) -> None:
        """The task group that keeps the processes is ending, and them with it."""
        self._closed = True
        while self._idle:
            self._idle.pop()[0].channel.close()

    async def _start(self, tasks: TaskGroup) -> Worker:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        worker = Worker(ours)
        number = theirs.fileno()
        try:
            with theirs:
                spec = self._workplace.make_spec(
                    [
                        self._workplace.python,
                        "-c",
                        _PROGRAM,
                        str(WORKER_FOLDER),
                        str(number),
                        str(self._path),
                    ],
                    self._workplace.pick_variables(read_module_env(self._path)),
                    pass_fds=(number,),
                    deadline_seconds=_LIFE_SECONDS,
                    capture_bytes=_STDERR_BYTES,
                )
                await tasks.start(_keep, worker, spec)
            with anyio.fail_after(min(self._workplace.settings.timeout_seconds, _LONGEST_IMPORT_SECONDS)):
                self.take(await worker.receive())
        except BaseException:
            await worker.stop() if worker.child else ours.close()
            raise
        return worker


async def _keep(worker: Worker, spec: process.Spec, *, task_status: TaskStatus[None]) -> None:
    """A worker's whole life; cancelling it ends the process."""
    try:
        async with process.start(spec) as child:
            worker.child = child
            task_status.started()
            worker.finished = await child.wait()
    except Fault as fault:
        if worker.child is None:
            raise
        log.warn("lost touch with a Python worker", reason=fault.message)
    finally:
        worker.ended.set()


class Workers:
    """The pools of a folder's Python files.

    While a session runs, `tasks` outlives the calls and workers stay; without it every call is a cold one.
    """

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace
        self._pools: dict[Path, Pool] = {}
        self.tasks: TaskGroup | None = None

    async def describe(self, path: Path) -> dict[str, Any]:
        """What the file says it holds, or `broken` with the reason; the worker stays, warm."""
        if path in self._pools and (known := self._pools[path].description):
            return known
        async with self._worker(path) as pool_and_worker:
            return pool_and_worker[0].description or {}

    @property
    def files(self) -> set[str]:
        """Everything that was imported from the folder."""
        return {file for pool in self._pools.values() for file in pool.files}

    async def renew(self, changed: Container[str] | None = None) -> None:
        """Nothing that was imported from a file that changed may answer again; None is all of them."""
        for path, pool in list(self._pools.items()):
            if changed is None or any(file in changed for file in pool.files):
                del self._pools[path]
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
        async with self._worker(action.path) as (pool, worker):
            try:
                with anyio.fail_after(seconds):
                    answer = await worker.exchange({"function": action.function, "arguments": arguments})
            except TimeoutError:
                await worker.stop()
                raise time_out(definition.name, seconds, worker.describe_end(redactor)) from None
            except WorkerEndedError:
                await worker.stop()
                details = worker.describe_end(redactor)
                raise explain_ended_worker(definition.name, worker.finished, details) from None
            pool.take(answer)
            if answer["children"]:
                log.warn("tool left processes behind", tool=definition.name)
                await worker.stop()
        hide = redactor.hide_end if answer["printed_is_cut"] else redactor.hide_text
        printed = hide(answer["printed"])
        if printed:
            log.info("tool printed", tool=definition.name, printed=clean(printed, STDERR_TAIL))
        return read_return(definition, action, answer, {"output": printed}, redactor)

    @asynccontextmanager
    async def _worker(self, path: Path) -> AsyncIterator[tuple[Pool, Worker]]:
        """A worker for one call; whoever leaves early leaves a dead one."""
        if self.tasks is not None:
            async with self._acquired(path, self.tasks) as acquired:
                yield acquired
            return
        failure: BaseException | None = None
        async with anyio.create_task_group() as tasks:
            try:
                async with self._acquired(path, tasks) as acquired:
                    yield acquired
            except BaseException as error:  # noqa: BLE001 - raised below, where the task group cannot wrap it
                failure = error
            await self.renew()
        if failure is not None:
            raise failure

    @asynccontextmanager
    async def _acquired(self, path: Path, tasks: TaskGroup) -> AsyncIterator[tuple[Pool, Worker]]:
        if path not in self._pools:
            self._pools[path] = Pool(path, self._workplace)
        pool = self._pools[path]
        try:
            worker = await pool.acquire(tasks)
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
            yield pool, worker
        except BaseException:
            await pool.discard(worker)
            raise
        await pool.release(worker)
