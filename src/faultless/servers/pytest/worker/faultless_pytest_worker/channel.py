"""The way out of a test process that tests do their best to break. PYTEST_DONT_REWRITE

The functions of the operating system are bound to instances at the start: tests replace those of modules.
"""

from __future__ import annotations

import faulthandler
import fcntl
import json
import os
import signal
from typing import Any

_STARTED = '{{"event":"started","test":{}}}'
_PASSED = '{{"event":"passed","test":{},"node":{},"durations":[{:.6f},{:.6f},{:.6f}]}}'
_LOWEST_DESCRIPTOR = 200  # out of the way of tests that count on low numbers


def choose_stack_signal() -> int:
    """A real-time signal: nobody's default, and hardly any test's choice."""
    return signal.SIGRTMAX - 2 if hasattr(signal, "SIGRTMAX") else signal.SIGUSR2


class Channel:
    """A descriptor that only this process writes to, found again if a test closed or reused it."""

    def __init__(self, descriptor: int, path: str) -> None:
        self._open, self._write, self._stat, self._own_id = os.open, os.write, os.fstat, os.getpid
        self._move, self._close = fcntl.fcntl, os.close
        self._path = path
        self._owner = os.getpid()
        self.descriptor = self._take(descriptor)
        self._identity = self._identify()

    def is_owner(self) -> bool:
        return self._own_id() == self._owner

    def send(self, data: bytes) -> None:
        if not self.is_owner() or not self.restore():
            return
        while data:
            data = data[self._write(self.descriptor, data) :]

    def restore(self) -> bool:
        """Whether the descriptor still leads to the server; reopened by its path when it does not."""
        if self._identify() == self._identity:
            return True
        try:
            opened = self._open(self._path, os.O_WRONLY)
        except OSError:
            return False
        self.descriptor = self._take(opened)
        return self._identify() == self._identity

    def _take(self, descriptor: int) -> int:
        try:
            moved = self._move(descriptor, fcntl.F_DUPFD_CLOEXEC, _LOWEST_DESCRIPTOR)
        except OSError:  # fewer descriptors allowed than that
            os.set_inheritable(descriptor, False)
            return descriptor
        self._close(descriptor)
        return moved

    def _identify(self) -> tuple[int, int] | None:
        try:
            status = self._stat(self.descriptor)
        except OSError:
            return None
        return status.st_dev, status.st_ino


class Reporter:
    """Encodes events; those that can wait are written with the next that cannot."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._encode = json.JSONEncoder(separators=(",", ":"), default=repr).encode
        self._quote = json.encoder.encode_basestring_ascii
        self._waiting: list[str] = []

    def send(self, event: str, **fields: Any) -> None:
        self.defer(event, **fields)
        self._flush()

    def defer(self, event: str, **fields: Any) -> None:
        fields["event"] = event
        self._waiting.append(self._encode(fields))

    # The two events of nearly every test, written without the encoder's detours.

    def send_started(self, name: str) -> None:
        self._waiting.append(_STARTED.format(self._quote(name)))
        self._flush()

    def defer_passed(self, name: str, node: str | None, durations: list[float]) -> None:
        test, place = self._quote(name), "null" if node is None else self._quote(node)
        self._waiting.append(_PASSED.format(test, place, *durations))

    def _flush(self) -> None:
        lines, self._waiting = self._waiting, []
        self._channel.send(("\n".join(lines) + "\n").encode("ascii"))


class Stacks:
    """Has the interpreter dump every thread's stack on a signal, from C: it works with the GIL held."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._signal = choose_stack_signal()
        self._registered: int | None = None

    def arm(self) -> None:
        if not self._channel.restore() or self._registered == self._channel.descriptor:
            return
        faulthandler.register(self._signal, file=self._channel.descriptor, all_threads=True, chain=False)
        self._registered = self._channel.descriptor
