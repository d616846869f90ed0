"""Warm processes that run Python functions: one call each at a time, killed when a call must end."""

from __future__ import annotations

import json
import re
import signal
import socket
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from faultless import process
from faultless.contract import Fault
from faultless.kit import log
from faultless.process.readiness import until_readable, until_writable

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyio.abc import TaskGroup, TaskStatus

    from faultless.servers.toolbox.environment import Redactor

FOLDER = Path(__file__).parent / "worker"
# Under a name of its own, for the owner's file may import a `worker` too.
_PROGRAM = (
    "import sys, importlib.util as u; n = '_faultless_worker';"
    "d = sys.argv[1];"
    "s = u.spec_from_file_location(n, d + '/__init__.py', submodule_search_locations=[d]);"
    "sys.modules[n] = u.module_from_spec(s);"
    "from _faultless_worker.serving import main; main(int(sys.argv[2]), sys.argv[3])"
)
_LENGTH = struct.Struct("!I")
LIFE_SECONDS = 7 * 24 * 3600.0
"""A worker that has been there for so long is replaced by the next call."""
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
_OUR_FRAMES = (f'File "{FOLDER}', 'File "<string>"')


class WorkerEndedError(Exception):
    """The process ended before it answered."""


@dataclass
class Worker:
    """One process. `description` is what it said about its file when it had imported it."""

    channel: socket.socket
    child: process.Child | None = None
    description: dict[str, Any] = field(default_factory=dict)
    finished: process.Finished | None = None
    ended: anyio.Event = field(default_factory=anyio.Event)

    async def exchange(self, request: dict[str, Any]) -> dict[str, Any]:
        data = json.dumps(request).encode()
        await self._send(memoryview(_LENGTH.pack(len(data)) + data))
        return await self.receive()

    async def receive(self) -> dict[str, Any]:
        (size,) = _LENGTH.unpack(await self._receive_exactly(_LENGTH.size))
        message: dict[str, Any] = json.loads(await self._receive_exactly(size))
        return message

    async def stop(self) -> None:
        """Kill it with everything it started; afterwards `finished` is known."""
        with anyio.move_on_after(_END_SECONDS, shield=True):
            if self.child is not None and not self.ended.is_set():
                self.child.signal(signal.SIGKILL)
            await self.ended.wait()
        self.channel.close()

    def last_words(self, redactor: Redactor) -> str:
        """What was printed since the last call began, without the frames of our own code in a crash dump."""
        printed = redactor.blot_captured(self.finished.stderr).text if self.finished else ""
        words = printed.rsplit(_MARK, 1)[-1]
        lines = [line for line in words.splitlines() if not line.lstrip().startswith(_OUR_FRAMES)]
        return _FOLDER_IN_FRAME.sub('File "', "\n".join(lines))

    async def _send(self, rest: memoryview) -> None:
        try:
            while rest:
                try:
                    rest = rest[self.channel.send(rest) :]
                except BlockingIOError:
                    await until_writable(self.channel)
        except (BrokenPipeError, ConnectionResetError):
            raise WorkerEndedError from None

    async def _receive_exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            try:
                part = self.channel.recv(min(size - len(data), 1 << 20))
            except BlockingIOError:
                await until_readable(self.channel)
                continue
            except ConnectionResetError:
                part = b""
            if not part:
                raise WorkerEndedError
            data += part
        return bytes(data)


class Pool:
    """The workers of one Python file."""

    def __init__(
        self,
        path: Path,
        make_spec: Callable[[list[str], int], process.Spec],
        python: str,
        import_seconds: float,
    ) -> None:
        self._import_seconds = import_seconds
        self._path = path
        self._make_spec = make_spec
        self._python = python
        self._idle: list[tuple[Worker, float]] = []
        self._busy = 0
        self._freed = anyio.Event()
        self._closed = False

    async def hire(self, tasks: TaskGroup) -> Worker:
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

    async def dismiss(self, worker: Worker) -> None:
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
        words = [self._python, "-c", _PROGRAM, str(FOLDER), str(theirs.fileno()), str(self._path)]
        try:
            with theirs:
                await tasks.start(_keep, worker, self._make_spec(words, theirs.fileno()))
            with anyio.fail_after(self._import_seconds):
                worker.description = await worker.receive()
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
