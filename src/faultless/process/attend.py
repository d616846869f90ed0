"""The server's side of one run: hand it to a supervisor, keep its streams moving, learn how it ended."""

from __future__ import annotations

import errno
import json
import os
import selectors
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio

from faultless.process.capture import Capture
from faultless.process.ending import finish, lose, lose_touch
from faultless.process.pipes import STDERR, STDIN, STDOUT, Pipes
from faultless.process.readiness import until_readable, until_writable
from faultless.process.refusal import refuse
from faultless.process.warden import supervise, wire

if TYPE_CHECKING:
    from faultless.contract import Fault
    from faultless.process.launcher import Launcher, Lease
    from faultless.process.spec import Finished, Spec

REPORT_FD_VARIABLE = "FAULTLESS_REPORT_FD"
_CANCEL_GRACE_MILLISECONDS = (
    500  # nobody waits for the answer any more, and the server may have to stop within 2 s
)
_START_SECONDS = 20.0  # a supervisor that has not answered by then never will
_MARGIN_SECONDS = supervise.SETTLE_SECONDS + supervise.KILL_SECONDS + 5.0
_CHUNK = 1 << 16
_SIP_BYTES = 1 << 12
_SIPS_AT_ONCE = 8
_SIP_SECONDS = 0.01
_DRAIN_CHUNKS = 64  # more than any pipe holds
_AGAIN = BlockingIOError, InterruptedError


class Attendance:
    """Driven by one task at a time; any `await` may be cancelled, and another task may drive on."""

    def __init__(self, spec: Spec, launcher: Launcher, lease: Lease, pipes: Pipes) -> None:
        self.process_id = 0
        self._spec = spec
        self._launcher = launcher
        self._kernel = launcher.kernel
        self._lease = lease
        self._control = lease.control.fileno()
        self._pipes = pipes
        self._heard = b""
        self._unfed = memoryview(spec.stdin)
        self._captures = {pipes.ours[stream]: Capture(spec.capture_bytes) for stream in (STDOUT, STDERR)}
        self._ready = pipes.ready
        self._sips = 0
        self._reader: anyio.CancelScope | None = None
        self._end: dict[str, Any] | None = None
        self._fault: Fault | None = None
        self._asked = False
        self._ordered = False
        self._deaf = False
        self._over = False
        self._closed = False
        self._reusable = False
        self._done = anyio.Event()

    async def begin(self, *, announce: bool) -> None:
        """Ask for the run; with `announce` the supervisor says when the command runs."""
        try:
            await self._send_request(announce=announce)
            self._asked = True
            self._pipes.close_theirs()
            self._watch_streams()
            self._feed_at_once()
        except OSError as error:  # TimeoutError is one
            raise refuse(self._spec, "supervisor", error.errno or errno.ETIMEDOUT) from error

    def _watch_streams(self) -> None:
        self._ready.register(self._control, selectors.EVENT_READ, self._hear)
        for descriptor in self._captures:
            self._ready.register(descriptor, selectors.EVENT_READ, self._collect)
        if self._unfed:
            self._ready.register(self._pipes.ours[STDIN], selectors.EVENT_WRITE, self._feed)

    def _feed_at_once(self) -> None:
        """What fits into the empty pipe needs no wait."""
        if self._unfed:
            with suppress(*_AGAIN):
                self._feed(self._pipes.ours[STDIN])

    async def _send_request(self, *, announce: bool) -> None:
        theirs = self._pipes.theirs | {number: number for number in self._spec.pass_fds}
        env = dict(os.environ if self._spec.env is None else self._spec.env)
        if self._spec.report:
            env[REPORT_FD_VARIABLE] = str(self._pipes.report)
        request = {
            "command": list(self._spec.command),
            "cwd": str(self._spec.cwd.absolute()),
            "env": env,
            "deadline_seconds": self._spec.deadline_seconds,
            "grace_seconds": self._spec.grace_seconds,
            "targets": list(theirs),
            "announce": announce,
        }
        message = memoryview(wire.pack_request(request, len(theirs)))
        sent = self._kernel.send(self._lease.control, message, list(theirs.values()))
        if sent < len(message):
            with anyio.fail_after(_START_SECONDS):
                await self._send_rest(message[sent:])

    async def _send_rest(self, message: memoryview) -> None:
        while message:
            await until_writable(self._control)
            with suppress(*_AGAIN):
                message = message[self._kernel.write(self._control, message) :]

    async def started(self) -> None:
        """Returns when the command runs; raises Fault when it does not."""
        with anyio.move_on_after(_START_SECONDS):
            while not (self.process_id or self._over or self._deaf):
                await self._step()
        if not self.process_id:
            raise self._fault or refuse(self._spec, "supervisor", None)

    async def drive(self) -> None:
        """Until the run is over: the supervisor says that the tree is gone, or can say nothing any more."""
        with anyio.move_on_after(self._spec.deadline_seconds + self._spec.grace_seconds + _MARGIN_SECONDS):
            while not (self._over or self._deaf):
                if self._sips > _SIPS_AT_ONCE and not self._unfed:
                    await self._let_gather()
                await self._step()
        if not self._over:
            await self._hang_up()
        self._drain()
        if self._reader is not None:
            self._reader.cancel()
        self._done.set()

    async def _step(self) -> None:
        await until_readable(self._ready.fileno())
        for key, _events in self._ready.select(0):
            try:
                key.data(key.fd)
            except _AGAIN:
                continue
            except OSError as error:
                self._ready.unregister(key.fd)
                self._deaf = self._deaf or key.fd == self._control
                self._fail(error)

    async def _let_gather(self) -> None:
        """A command that prints by the character must not wake us for each; its end still does."""
        with anyio.move_on_after(_SIP_SECONDS):
            await until_readable(self._control)

    def _hear(self, control: int) -> None:
        try:
            data = self._kernel.read(control, _CHUNK)
        except (
            ConnectionResetError
        ):  # it ended without reading all we said; if that was the request, nothing ran
            self._fault = lose(self._spec) if self._ordered else refuse(self._spec, "supervisor", None)
            data = b""
        self._deaf = not data
        *lines, self._heard = (self._heard + data).split(b"\n")
        for line in lines:
            event = json.loads(line)
            if "started" in event:
                self.process_id = event["started"]
            elif "refused" in event:
                self._fault = refuse(self._spec, event["refused"], event["errno"])
                self._over = True
                self._reusable = event["refused"] != "fork"
            else:
                self._end = event
                self._over = True
                self._reusable = not event["survivors"]

    def _collect(self, descriptor: int) -> bool:
        data = self._kernel.read(descriptor, _CHUNK)
        self._captures[descriptor].feed(data)
        self._sips = self._sips + 1 if len(data) < _SIP_BYTES else 0
        if not data:
            self._ready.unregister(descriptor)
        return bool(data)

    def _drain(self) -> None:
        """What is in the pipes now is all there will be; a stranger who was handed one may still hold it."""
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
        self._pipes.drop(descriptor)

    async def read_report(self) -> bytes:
        """The next bytes; b"" at the stream's end, or when the run is over and the pipe is empty."""
        descriptor = self._pipes.ours[self._pipes.report]
        while not self._closed:
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

    async def wait(self) -> Finished:
        await self._done.wait()
        return self.result()

    def result(self) -> Finished:
        if self._fault:
            raise self._fault
        if self._end is None:
            raise lose(self._spec)
        stdout, stderr = (capture.result() for capture in self._captures.values())
        return finish(self._spec, self._end, stdout, stderr)

    def order(self, letter: bytes, number: int) -> None:
        """A frame to the supervisor; if it cannot be said, hanging up says the strongest thing."""
        if self._over:
            return
        self._ordered = True
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
            if self._asked and not self._over:
                self.order(wire.STOP, _CANCEL_GRACE_MILLISECONDS)
                with anyio.move_on_after(_CANCEL_GRACE_MILLISECONDS / 1000 + _MARGIN_SECONDS, shield=True):
                    await self.drive()
            if not self._over:
                await self._hang_up()
        finally:
            self._close()

    async def _hang_up(self) -> None:
        """The last resort: the supervisor kills at the end of its stream, the warden kills the supervisor."""
        self._over = True
        self._reusable = False
        self._shut()
        for _attempt in ("the supervisor", "the warden"):
            with anyio.move_on_after(_MARGIN_SECONDS, shield=True), suppress(OSError):
                await until_readable(self._control)
                while self._kernel.read(self._control, _CHUNK):
                    await until_readable(self._control)
                return
            self._launcher.kill(self._lease)

    def _shut(self) -> None:
        with suppress(OSError):
            self._lease.control.shutdown(socket.SHUT_WR)

    def _close(self) -> None:
        self._over = self._closed = True
        self._done.set()
        self._pipes.close()
        self._launcher.release(self._lease, reusable=self._reusable)

    def _fail(self, error: OSError) -> None:
        self._fault = self._fault or lose_touch(self._spec, error)
        self.order(wire.STOP, _CANCEL_GRACE_MILLISECONDS)
