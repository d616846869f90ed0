"""The server's side of one run: hand it to a supervisor, keep its streams moving, learn how it ended."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio

from faultless.contract import Fault, FaultKind
from faultless.kit.process.capture import Capture
from faultless.kit.process.pipes import STDERR, STDIN, STDOUT, Pipes
from faultless.kit.process.refusal import describe, refuse, show_program
from faultless.kit.process.spec import Finished, Spec
from faultless.kit.process.warden import supervise, wire

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyio.abc import TaskGroup

    from faultless.kit.process.launcher import Launcher, Lease

REPORT_FD_VARIABLE = "FAULTLESS_REPORT_FD"
_CANCEL_GRACE_SECONDS = (
    0.5  # nobody waits for the answer any more, and the server may have to stop within 2 s
)
_START_SECONDS = 20.0  # a supervisor that has not answered by then never will
_MARGIN_SECONDS = supervise.SETTLE_SECONDS + supervise.KILL_SECONDS + 5.0
_CHUNK = 1 << 16
_DRAIN_CHUNKS = 64  # more than any pipe holds
_AGAIN = BlockingIOError, InterruptedError


class Attendance:
    def __init__(self, spec: Spec, launcher: Launcher, lease: Lease, pipes: Pipes) -> None:
        self.process_id = 0
        self._spec = spec
        self._launcher = launcher
        self._kernel = launcher.kernel
        self._lease = lease
        self._control = lease.control.fileno()
        self._pipes = pipes
        self._received = b""
        self._captures = {STDOUT: Capture(spec.capture_bytes), STDERR: Capture(spec.capture_bytes)}
        self._waiting: set[anyio.CancelScope] = set()
        self._end: dict[str, Any] | None = None
        self._fault: Fault | None = None
        self._over = False
        self._drained_chunks = 0
        self._busy = 0
        self._idle = anyio.Event()

    async def begin(self) -> None:
        """Returns when the command runs; raises Fault when it does not."""
        try:
            with anyio.fail_after(_START_SECONDS):
                await self._send_request()
                self._pipes.close_theirs()
                event = await self._next_event()
        except (OSError, TimeoutError) as error:
            raise refuse(self._spec, "supervisor", error.errno or errno.ETIMEDOUT) from error
        if event is None:
            raise refuse(self._spec, "supervisor", errno.EPIPE)
        if "refused" in event:
            self._over, self._end = True, {"survivors": 0}
            raise refuse(self._spec, event["refused"], event["errno"])
        self.process_id = event["started"]

    async def _send_request(self) -> None:
        theirs = self._pipes.theirs | {number: number for number in self._spec.pass_fds}
        env = dict(os.environ if self._spec.env is None else self._spec.env)
        if self._spec.report:
            env[REPORT_FD_VARIABLE] = str(self._pipes.report)
        request = {
            "command": list(self._spec.command),
            "cwd": str(self._spec.cwd),
            "env": env,
            "deadline_seconds": self._spec.deadline_seconds,
            "grace_seconds": self._spec.grace_seconds,
            "targets": list(theirs),
        }
        body = json.dumps(request).encode()
        message = memoryview(wire.FRAME.pack(wire.REQUEST, len(body), len(theirs)) + body)
        sent = self._kernel.send(self._lease.control, bytes(message), list(theirs.values()))
        while sent < len(message):
            await anyio.wait_writable(self._control)
            with suppress(*_AGAIN):
                sent += self._kernel.write(self._control, message[sent:])

    def attend(self, tasks: TaskGroup) -> None:
        """Keep everything moving in the background until the run is over."""
        duties = [self._watch, lambda: self._collect(STDOUT), lambda: self._collect(STDERR)]
        if self._spec.stdin:
            duties.append(self._feed)
        self._busy = len(duties)
        for duty in duties:
            tasks.start_soon(self._perform, duty)

    async def _perform(self, duty: Callable[[], Any]) -> None:
        try:
            await duty()
        except OSError as error:
            self._fail(error)
        finally:
            self._busy -= 1
            if not self._busy:
                self._idle.set()

    async def _watch(self) -> None:
        """Until the supervisor says that the tree is gone, or cannot say anything any more."""
        patience = self._spec.deadline_seconds + self._spec.grace_seconds + _MARGIN_SECONDS
        try:
            with anyio.move_on_after(patience):
                while (event := await self._next_event()) is not None:
                    if "survivors" in event:
                        self._end = event
                        return
            await self.hang_up()
        finally:
            self._over = True
            for scope in self._waiting:
                scope.cancel()

    async def _collect(self, stream: int) -> None:
        descriptor = self._pipes.ours[stream]
        while data := await self.read(descriptor):
            self._captures[stream].feed(data)

    async def _feed(self) -> None:
        descriptor = self._pipes.ours[STDIN]
        rest = memoryview(self._spec.stdin)
        try:
            while rest and await self._until(anyio.wait_writable, descriptor):
                with suppress(*_AGAIN):
                    rest = rest[self._kernel.write(descriptor, rest[:_CHUNK]) :]
        except BrokenPipeError:
            pass  # the command does not want the rest
        finally:
            self._pipes.drop(descriptor)

    async def read(self, descriptor: int) -> bytes:
        """The next bytes; b"" at the stream's end, or when the run is over and the pipe is empty.

        Everybody who could write is gone by then; only a stranger who was handed the pipe may still hold it.
        """
        while True:
            running = await self._until(anyio.wait_readable, descriptor)
            try:
                data = self._kernel.read(descriptor, _CHUNK)
            except InterruptedError:
                continue
            except BlockingIOError:
                if running:
                    continue
                return b""
            self._drained_chunks += not running
            return data if self._drained_chunks < _DRAIN_CHUNKS else b""

    async def _until(self, ready: Callable[[int], Any], descriptor: int) -> bool:
        """Wait for a descriptor; false when the run is over."""
        if self._over:
            return False
        with anyio.CancelScope() as scope:
            self._waiting.add(scope)
            try:
                await ready(descriptor)
            finally:
                self._waiting.remove(scope)
        return not scope.cancelled_caught

    async def _next_event(self) -> dict[str, Any] | None:
        """What the supervisor says next; None when it is gone."""
        while b"\n" not in self._received:
            await anyio.wait_readable(self._control)
            try:
                data = self._kernel.read(self._control, _CHUNK)
            except _AGAIN:
                continue
            except ConnectionResetError:
                return None
            if not data:
                return None
            self._received += data
        line, self._received = self._received.split(b"\n", 1)
        event: dict[str, Any] = json.loads(line)
        return event

    async def wait(self) -> Finished:
        await self._idle.wait()
        if self._fault:
            raise self._fault
        if self._end is None:
            raise self._lost()
        code = os.waitstatus_to_exitcode(self._end["ended"]) if "ended" in self._end else None
        return Finished(
            exit_code=code if code is None or code >= 0 else None,
            signal=_name_signal(-code) if code is not None and code < 0 else None,
            stdout=self._captures[STDOUT].result(),
            stderr=self._captures[STDERR].result(),
            duration_seconds=self._end.get("seconds", self._spec.deadline_seconds),
            timed_out=self._end["timed_out"],
            leftovers=self._end["leftovers"],
            survivors=self._end["survivors"],
        )

    def order(self, letter: bytes, number: int) -> None:
        """A frame to the supervisor; if it cannot be said, hanging up says the strongest thing."""
        if self._over:
            return
        frame = wire.FRAME.pack(letter, number, 0)
        try:
            sent = self._kernel.write(self._control, frame)
        except OSError:
            sent = 0
        if sent != len(frame):
            self._shut()

    async def end(self) -> None:
        """Nothing of the run is left after this, whether it was over or not."""
        if self._over:
            return
        self.order(wire.STOP, int(_CANCEL_GRACE_SECONDS * 1000))
        with anyio.move_on_after(_CANCEL_GRACE_SECONDS + _MARGIN_SECONDS, shield=True):
            await self._idle.wait()
            return
        await self.hang_up()

    async def abandon(self) -> None:
        """After a start that failed, at whatever point."""
        if not self._over:
            await self.hang_up()
        self.close()

    async def hang_up(self) -> None:
        """The last resort: the supervisor kills at the end of its stream, the warden kills the supervisor."""
        self._over = True
        self._shut()
        for _attempt in ("by itself", "by the warden"):
            with anyio.move_on_after(_MARGIN_SECONDS, shield=True), suppress(OSError):
                while await self._next_event() is not None:
                    pass
                return
            self._launcher.kill(self._lease)

    def _shut(self) -> None:
        with suppress(OSError):
            self._lease.control.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self._over = True
        self._pipes.close()
        reusable = self._end is not None and not self._end["survivors"] and not self._received
        self._launcher.release(self._lease, reusable=reusable)

    def _fail(self, error: OSError) -> None:
        self._fault = self._fault or Fault(
            FaultKind.ENGINE_ERROR,
            f"lost touch with {show_program(self._spec)}: {os.strerror(error.errno or 0).lower()}",
            hint="it was stopped, but part of its work may be done",
            details=describe(self._spec) | {"errno": errno.errorcode.get(error.errno or 0)},
        )
        self.order(wire.STOP, int(_CANCEL_GRACE_SECONDS * 1000))

    def _lost(self) -> Fault:
        return Fault(
            FaultKind.CRASH,
            f"the process that supervised {show_program(self._spec)} was killed, so its fate is not known",
            hint="does the command kill its parent? It was stopped, but part of its work may be done",
            details=describe(self._spec),
        )


def _name_signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # the real-time signals between the first and the last
        return f"SIGRTMIN+{number - signal.SIGRTMIN}"
