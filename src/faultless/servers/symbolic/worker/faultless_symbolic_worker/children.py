"""The supervisor's hold on its sandboxed children: started by fork, heard through a pipe, killed by id."""

from __future__ import annotations

import contextlib
import gc
import os
import secrets
import select
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import sandbox
from .events import Event, Gone, Isolated, Reader, Replayed, TamperedError, Writer
from .protocol import KERNEL_LAYERS, STRICT, Refusal, level_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from .roles import Task

CRASHED = 70
_MEGABYTE = 1 << 20
_CPU_GRACE_SECONDS = 5
# A child lives for seconds; Python's own thresholds cost an exploration a tenth of its time.
_COLLECT_AFTER = (20_000, 50, 50)


@dataclass(frozen=True)
class Limits:
    memory_megabytes: int
    seconds: float
    requires_strict: bool


class Child:
    """`last_heard` is when the child last said anything; `origin` the engine whose claim it checks,
    `confirmed` the result.
    """

    def __init__(self, task: Task, pid: int, reader: Reader) -> None:
        self.task = task
        self.pid = pid
        self.reader = reader
        self.started = self.last_heard = time.monotonic()
        self.is_alive = True
        self.is_paused = False
        self.status = 0
        self.origin = ""
        self.confirmed: Replayed | None = None

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def reap(self) -> None:
        if self.is_alive:
            self.is_alive = False
            _, self.status = os.waitpid(self.pid, 0)
            os.close(self.reader.descriptor)

    def pause(self, *, paused: bool) -> None:
        """A paused engine leaves the processors to a replay."""
        if self.is_paused != paused:
            self.is_paused = paused
            self.last_heard = time.monotonic()
            os.kill(self.pid, signal.SIGSTOP if paused else signal.SIGCONT)


class Children:
    """All children of one request. `isolation` is what the first one reported to stand under."""

    def __init__(
        self,
        perform: Callable[[Task, Callable[[Event], None]], None],
        limits: Limits,
    ) -> None:
        self._perform = perform
        self._limits = limits
        self.alive: list[Child] = []
        self._dying: list[Child] = []
        self.isolation: list[str] | None = None

    def start(self, task: Task) -> Child:
        secret = secrets.token_hex(16)
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            self._become_child(task, writing, secret)
        os.close(writing)
        child = Child(task, pid, Reader(reading, secret))
        self.alive.append(child)
        return child

    def _become_child(self, task: Task, descriptor: int, secret: str) -> None:
        """Never returns. Whatever goes wrong here must not run the supervisor's code a second time."""
        try:
            sandbox.die_with_parent()
            gc.set_threshold(*_COLLECT_AFTER)
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            sandbox.silence()
            sandbox.close_all_but(descriptor)
            writer = Writer(descriptor, secret)
            layers = sandbox.enter(
                self._limits.memory_megabytes * _MEGABYTE, int(self._limits.seconds) + _CPU_GRACE_SECONDS
            )
            writer.emit(Isolated(layers))
            if self._limits.requires_strict and level_of(layers) != STRICT:
                os._exit(0)
            self._perform(task, writer.emit)
            os._exit(0)
        except BaseException:  # noqa: BLE001 - a fork that escapes would be a second supervisor
            os._exit(CRASHED)

    def hear(self, seconds: float) -> list[tuple[Child, Event | Gone]]:
        """Wait for events; the last one of a child whose pipe ends is `Gone`."""
        descriptors = {child.reader.descriptor: child for child in self.alive}
        poller = select.poll()
        for descriptor in descriptors:
            poller.register(descriptor, select.POLLIN | select.POLLHUP)
        heard: list[tuple[Child, Event | Gone]] = []
        for descriptor, _ in poller.poll(max(0, int(seconds * 1000))):
            heard.extend(self._hear_one(descriptors[descriptor]))
        return heard

    def _hear_one(self, child: Child) -> list[tuple[Child, Event | Gone]]:
        try:
            events = child.reader.read()
        except TamperedError as error:
            self.stop(child)
            raise Refusal(
                "permission_denied",
                f"Blocked: the code interfered with the channel of its analysis ({error})",
            ) from None
        if events is None:
            self.stop(child)
            self.reap()
            return [(child, Gone(child.status))]
        child.last_heard = time.monotonic()
        heard: list[tuple[Child, Event | Gone]] = []
        for event in events:
            if isinstance(event, Isolated):
                self._note_isolation(event.layers)
            else:
                heard.append((child, event))
        return heard

    def _note_isolation(self, layers: list[str]) -> None:
        self.isolation = (
            layers if self.isolation is None else [name for name in self.isolation if name in layers]
        )
        if self._limits.requires_strict and level_of(layers) != STRICT:
            missing = ", ".join(name for name in KERNEL_LAYERS if name not in layers)
            raise Refusal(
                "permission_denied",
                f"Strict isolation is required and this system does not give it: {missing} missing",
                hint="run on a system with these layers, or start the server with --require-isolation none",
            )

    def stop(self, child: Child) -> None:
        """The kill takes effect at once; reaping a large process is slow, and left for later."""
        if child in self.alive:
            self.alive.remove(child)
            self._dying.append(child)
            child.kill()

    def stop_all(self) -> None:
        for child in list(self.alive):
            self.stop(child)

    def reap(self) -> None:
        for child in self._dying:
            child.reap()
        self._dying.clear()
