"""The server's side of one run: hand it to a supervisor, keep its streams moving, learn how it ended."""

from __future__ import annotations

import errno
import json
import os
import selectors
import socket
from contextlib import suppress
from enum import IntEnum, auto
from typing import TYPE_CHECKING, Any

import anyio

from faultless.process.capture import Capture, Captured
from faultless.process.forks import let_go_in_forks
from faultless.process.lines import LineSplitter
from faultless.process.outcome import finish, lose, lose_touch, refuse
from faultless.process.readiness import until_readable, until_writable
from faultless.process.target import wire

if TYPE_CHECKING:
    from collections.abc import Callable

    from faultless.contract import Fault
    from faultless.process.launcher import Kernel, Launcher, SupervisorHandle
    from faultless.process.outcome import Finished
    from faultless.process.spec import Spec

STDIN, STDOUT, STDERR = 0, 1, 2
_CANCEL_GRACE_SECONDS = (
    0.5  # nobody waits for the answer any more, and the server may have to stop within 2 s
)
_MILLISECONDS_AT_MOST = 0xFFFF_FFFF
_START_SECONDS = 20.0  # a supervisor that has not answered by then never will
_MARGIN_SECONDS = wire.SETTLE_SECONDS + wire.KILL_SECONDS + 5.0
_EVENT_BYTES = 4096
_CHUNK = 1 << 16
_SMALL_READ_BYTES = 1 << 12
_SMALL_READS_AT_ONCE = 8
_GATHER_SECONDS = 0.01
_DRAIN_CHUNKS = 64  # more than any pipe holds
_AGAIN = BlockingIOError, InterruptedError
_NOTHING = Captured("", 0)


class Pipes:
    """The pipes of one run: our ends, the command's ends, each closed exactly once."""

    def __init__(self, kernel: Kernel, spec: Spec) -> None:
        self._kernel = kernel
        self._open: set[int] = set()
        let_go_in_forks(self)
        self.ours: dict[int, int] = {}
        """By the number the other end has in the command."""
        self.theirs: dict[int, int] = {}
        self.ready = kernel.selector()
        """Becomes readable when any of ours has something to do: one wait, one task."""
        try:
            if spec.stdin or spec.streaming:
                self._pipe(STDIN)
            else:
                self.theirs[STDIN] = kernel.open_null()
                self._open.add(self.theirs[STDIN])
            self._pipe(STDOUT)
            self._pipe(STDERR)
            if spec.report:
                self._pipe(spec.report_number)
        except BaseException:
            self.close()
            raise

    def _pipe(self, number: int) -> None:
        ends = self._kernel.pipe()
        self._open.update(ends)
        ours, theirs = reversed(ends) if number == STDIN else ends
        os.set_blocking(ours, False)
        self.ours[number], self.theirs[number] = ours, theirs

    def list_descriptors(self) -> set[int]:
        return self._open

    def close_theirs(self) -> None:
        for descriptor in self.theirs.values():
            self.drop(descriptor)

    def close(self) -> None:
        self.ready.close()
        for descriptor in tuple(self._open):
            self.drop(descriptor)

    def drop(self, descriptor: int) -> None:
        if descriptor in self._open:
            self._open.remove(descriptor)
            with suppress(OSError):  # it is closed all the same
                self._kernel.close(descriptor)


class RunState(IntEnum):
    """A run only ever moves down this list."""

    NEW = auto()
    ASKED = auto()
    """The supervisor has the request."""
    ORDERED = auto()
    """And at least one order after it."""
    LOST = auto()
    """Nothing more can be heard of the supervisor."""
    ENDED = auto()
    """The supervisor said so, and is free for another run."""
    ABANDONED = auto()
    """Over, and its supervisor must not be used again."""
    CLOSED = auto()


class RunSession:
    """Driven by one task at a time; any `await` may be cancelled, and another task may drive on."""

    def __init__(self, spec: Spec, launcher: Launcher, supervisor: SupervisorHandle, pipes: Pipes) -> None:
        self.pipes = pipes
        self.process_id = 0
        self.on_stderr: Callable[[bytes], None] | None = None
        self.exited = anyio.Event()
        """The first process has ended, if it is talked with, or else the whole run."""
        self.wait_status: int | None = None
        """How the first process ended, if that was told."""
        self._spec = spec
        self._launcher = launcher
        self._kernel = launcher.kernel
        self._supervisor = supervisor
        self._control = supervisor.control.fileno()
        self._events = LineSplitter(_EVENT_BYTES)
        self._unfed = memoryview(spec.stdin)
        captured = (STDERR,) if spec.streaming else (STDOUT, STDERR)
        self._captures = {pipes.ours[stream]: Capture(spec.capture_bytes) for stream in captured}
        self._ready = pipes.ready
        self._small_reads = 0
        self._reader: anyio.CancelScope | None = None
        self._end: dict[str, Any] | None = None
        self._fault: Fault | None = None
        self._state = RunState.NEW
        self._done = anyio.Event()
        self._deadline_seconds = spec.deadline_seconds
        self._backstop: anyio.CancelScope | None = None

    def _last_resort(self) -> float:
        """When a supervisor that has not ended the run by then never will."""
        return anyio.current_time() + self._deadline_seconds + self._spec.grace_seconds + _MARGIN_SECONDS

    def _move_on(self, state: RunState) -> None:
        self._state = max(self._state, state)

    async def begin(self, request: dict[str, Any]) -> None:
        """Ask for the run."""
        theirs = self.pipes.theirs | {number: number for number in self._spec.pass_fds}
        message = memoryview(wire.pack_request({**request, "targets": list(theirs)}, len(theirs)))
        try:
            message = message[self._kernel.send(self._supervisor.control, message, list(theirs.values())) :]
            with anyio.fail_after(_START_SECONDS):
                while message:
                    await until_writable(self._control)
                    with suppress(*_AGAIN):
                        message = message[self._kernel.write(self._control, message) :]
            self._move_on(RunState.ASKED)
            self.pipes.close_theirs()
            self._ready.register(self._control, selectors.EVENT_READ, self._hear)
            for descriptor in self._captures:
                self._ready.register(descriptor, selectors.EVENT_READ, self._collect)
            if self._unfed:
                stdin = self.pipes.ours[STDIN]
                self._ready.register(stdin, selectors.EVENT_WRITE, self._feed)
                with suppress(*_AGAIN):  # what fits into the empty pipe needs no wait
                    self._feed(stdin)
        except OSError as error:  # TimeoutError is one
            raise refuse(self._spec, "supervisor", error.errno or errno.ETIMEDOUT) from error

    async def started(self) -> None:
        """Returns when the command runs; raises Fault when it does not."""
        with anyio.move_on_after(_START_SECONDS):
            while not self.process_id and self._state < RunState.LOST:
                await self._step()
        if not self.process_id:
            raise self._fault or refuse(self._spec, "supervisor", None)

    async def drive(self) -> None:
        """Until the run is over: the supervisor says that the tree is gone, or can say nothing any more."""
        with anyio.CancelScope(deadline=self._last_resort()) as self._backstop:
            while self._state < RunState.LOST:
                if self._small_reads > _SMALL_READS_AT_ONCE and not self._unfed:
                    # A command that prints by the character must not wake us for each; its end still does.
                    with anyio.move_on_after(_GATHER_SECONDS):
                        await until_readable(self._control)
                await self._step()
        if self._state < RunState.ENDED:
            await self._hang_up()
        self._drain()
        if self._reader is not None:
            self._reader.cancel()
        self._done.set()
        self.exited.set()

    async def _step(self) -> None:
        await until_readable(self._ready.fileno())
        for key, _events in self._ready.select(0):
            if key.fd not in self._ready.get_map():  # drained a moment ago
                continue
            try:
                key.data(key.fd)
            except _AGAIN:
                continue
            except OSError as error:
                self._ready.unregister(key.fd)
                self._fail(error)
                if key.fd == self._control:
                    self._move_on(RunState.LOST)

    def _hear(self, control: int) -> None:
        try:
            data = self._kernel.read(control, _CHUNK)
        except ConnectionResetError:  # it ended without reading all we said
            nothing_ran = self._state < RunState.ORDERED  # for then it was the request that it did not read
            self._fault = refuse(self._spec, "supervisor", None) if nothing_ran else lose(self._spec)
            data = b""
        if not data:
            self._move_on(RunState.LOST)
        for line in self._events.feed(data):
            self._take_in(json.loads(line.data))

    def _take_in(self, event: dict[str, Any]) -> None:
        if "started" in event:
            self.process_id = event["started"]
        elif "exited" in event:
            self._drain()  # so that its last words are known when its end is
            self.wait_status = event["exited"]
            self.exited.set()
        elif "refused" in event:
            self._fault = refuse(self._spec, event["refused"], event["errno"])
            self._move_on(RunState.ABANDONED if event["refused"] == "fork" else RunState.ENDED)
        else:
            self._end = event
            self._move_on(RunState.ABANDONED if event["survivors"] else RunState.ENDED)

    def _collect(self, descriptor: int) -> bool:
        data = self._kernel.read(descriptor, _CHUNK)
        self._captures[descriptor].feed(data)
        self._small_reads = self._small_reads + 1 if len(data) < _SMALL_READ_BYTES else 0
        if not data:
            self._ready.unregister(descriptor)
        elif self.on_stderr is not None and descriptor == self.pipes.ours[STDERR]:
            self.on_stderr(data)
        return bool(data)

    def _drain(self) -> None:
        """Read what is there now, without waiting: a stranger who was handed a pipe may hold it for ever."""
        for descriptor in self._captures.keys() & self._ready.get_map().keys():
            for _chunk in range(_DRAIN_CHUNKS):
                try:
                    if not self._collect(descriptor):
                        break
                except InterruptedError:
                    continue
                except BlockingIOError:
                    break
                except OSError as error:
                    self._fail(error)
                    break

    def _feed(self, descriptor: int) -> None:
        with suppress(BrokenPipeError):
            self._unfed = self._unfed[self._kernel.write(descriptor, self._unfed[:_CHUNK]) :]
            if self._unfed:
                return
        self._ready.unregister(descriptor)  # all is written, or the command does not want the rest
        self.pipes.drop(descriptor)

    async def read_report(self) -> bytes:
        """The next bytes; b"" at the stream's end, or when the run is over and the pipe is empty."""
        descriptor = self.pipes.ours[self._spec.report_number]
        while self._state < RunState.CLOSED:
            running = not self._done.is_set()
            with anyio.CancelScope() as self._reader:
                if running:
                    await until_readable(descriptor)
            self._reader = None
            try:
                return self._kernel.read(descriptor, _CHUNK)
            except InterruptedError:
                continue
            except BlockingIOError:
                if not running:
                    return b""
            except OSError as error:
                raise lose_touch(self._spec, error) from error
        return b""

    def read_stderr(self) -> Captured:
        """What it has written so far."""
        if self._state < RunState.CLOSED:
            self._drain()
        return self._captures[self.pipes.ours[STDERR]].result()

    async def wait(self) -> Finished:
        await self._done.wait()
        return self.result()

    def result(self) -> Finished:
        if self._fault:
            raise self._fault
        if self._end is None:
            raise lose(self._spec)
        captured = {descriptor: capture.result() for descriptor, capture in self._captures.items()}
        stdout, stderr = (captured.get(self.pipes.ours[stream], _NOTHING) for stream in (STDOUT, STDERR))
        return finish(self._spec, self._end, stdout, stderr)

    def signal(self, number: int) -> None:
        self._order(wire.SIGNAL, number)

    def stop(self, grace_seconds: float) -> None:
        """Ask the whole tree to end, and have killed what is left after the grace."""
        self._order(wire.STOP, min(round(grace_seconds * 1000), _MILLISECONDS_AT_MOST))

    def restart_clock(self, deadline_seconds: float) -> None:
        """The run's time begins now."""
        self._deadline_seconds = deadline_seconds
        if self._backstop is not None:
            self._backstop.deadline = self._last_resort()
        self._order(wire.DEADLINE, min(round(deadline_seconds * 1000), _MILLISECONDS_AT_MOST))

    def _order(self, letter: bytes, number: int) -> None:
        """A frame to the supervisor; if it cannot be said, hanging up says the strongest thing."""
        if self._state >= RunState.LOST:
            return
        self._move_on(RunState.ORDERED)
        frame = wire.FRAME.pack(letter, number, 0)
        try:
            sent = self._kernel.write(self._control, frame)
        except OSError:
            sent = 0
        if sent != len(frame):
            self._shut()

    async def end(self) -> None:
        """Nothing of the run is left after this, whether it was over or not."""
        try:
            if RunState.ASKED <= self._state < RunState.LOST:
                self.stop(_CANCEL_GRACE_SECONDS)
                with anyio.move_on_after(_CANCEL_GRACE_SECONDS + _MARGIN_SECONDS, shield=True):
                    await self.drive()
            if self._state < RunState.ENDED:
                await self._hang_up()
        finally:
            is_reusable = self._state is RunState.ENDED
            self._move_on(RunState.CLOSED)
            self._done.set()
            self.exited.set()
            self.pipes.close()
            self._launcher.release(self._supervisor, reusable=is_reusable)

    async def _hang_up(self) -> None:
        """The last resort: the supervisor kills at the end of its stream, the warden kills the supervisor."""
        self._move_on(RunState.ABANDONED)
        self._shut()
        for _attempt in ("the supervisor", "the warden"):
            with anyio.move_on_after(_MARGIN_SECONDS, shield=True), suppress(OSError):
                await until_readable(self._control)
                while self._kernel.read(self._control, _CHUNK):
                    await until_readable(self._control)
                return
            self._launcher.kill(self._supervisor)

    def _shut(self) -> None:
        with suppress(OSError):
            self._supervisor.control.shutdown(socket.SHUT_WR)

    def _fail(self, error: OSError) -> None:
        self._fault = self._fault or lose_touch(self._spec, error)
        self.stop(_CANCEL_GRACE_SECONDS)
