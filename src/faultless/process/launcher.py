"""The server's end of its warden: start it, ask it for supervisors, keep a few idle ones."""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import selectors
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import to_thread

from faultless.process.forks import let_go_in_forks
from faultless.process.target import wire
from faultless.process.target.system import resident_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_GOODBYE_SECONDS = 5.0
TARGET_PATH = str(Path(__file__).with_name("target"))
# A package of its own name: `faultless` itself would bring everything with it. `sys.path` stays as it is.
LOAD_TARGET = """
import sys
package = sys.modules["faultless_target"] = type(sys)("faultless_target")
package.__path__ = [sys.argv[1]]
"""
_PROGRAM = f"{LOAD_TARGET}from faultless_target.warden import main; main()"
_WARDEN = (sys.executable, "-I", "-S", "-c", _PROGRAM, TARGET_PATH)


class Kernel:
    """Every call to the operating system that can fail, on the server's side: where tests plant faults."""

    def launch(
        self, command: Sequence[str], door: int, env: Mapping[str, str] | None
    ) -> subprocess.Popen[bytes]:
        """The warden: a session of its own, so that a terminal's Ctrl-C reaches only the server."""
        return subprocess.Popen(
            command,
            cwd="/",
            env=env,
            pass_fds=(door,),
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def pipe(self) -> tuple[int, int]:
        return os.pipe()

    def selector(self) -> selectors.DefaultSelector:
        return selectors.DefaultSelector()

    def open_null(self) -> int:
        return os.open(os.devnull, os.O_RDONLY)

    def socketpair(self) -> tuple[socket.socket, socket.socket]:
        return socket.socketpair()

    def send(self, target: socket.socket, data: bytes | memoryview, descriptors: Sequence[int]) -> int:
        return socket.send_fds(target, [data], descriptors)

    def read(self, descriptor: int, size: int) -> bytes:
        return os.read(descriptor, size)

    def write(self, descriptor: int, data: bytes | memoryview) -> int:
        return os.write(descriptor, data)

    def close(self, descriptor: int) -> None:
        os.close(descriptor)


@dataclass(frozen=True)
class SupervisorHandle:
    """A supervisor, ours for one run."""

    run: int
    control: socket.socket

    def __post_init__(self) -> None:
        let_go_in_forks(self)

    def list_descriptors(self) -> list[int]:
        return _list_open(self.control)

    def is_quiet(self) -> bool:
        """An idle supervisor says nothing; one that was killed is at its end."""
        try:
            self.control.recv(1)
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False


def _list_open(held: socket.socket | None) -> list[int]:
    number = held.fileno() if held is not None else -1
    return [number] if number >= 0 else []


class Launcher:
    """Starts the warden with the first command at the latest; shared by all threads and event loops."""

    idle_at_most = 16

    def __init__(
        self,
        kernel: Kernel | None = None,
        warden: Sequence[str] = _WARDEN,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.kernel = kernel or Kernel()
        self._command = warden
        self._env = env
        self._numbers = count(1)
        self._idle: list[SupervisorHandle] = []
        self._lock = threading.Lock()
        self._warden: subprocess.Popen[bytes] | None = None
        self._door: socket.socket | None = None
        self._owner = os.getpid()
        let_go_in_forks(self)

    def list_descriptors(self) -> list[int]:
        return _list_open(self._door)

    def get_ready(self) -> None:
        """Start the warden and a supervisor while there is time. If that fails, the first command says so."""
        with contextlib.suppress(OSError):
            self._bring_up()
            self._idle.append(self._ask())

    async def acquire_supervisor(self) -> SupervisorHandle:
        while self._owner == os.getpid() and (idle := self._pick_idle()):
            if idle.is_quiet():
                return idle
            idle.control.close()
        if not self._is_up():
            await to_thread.run_sync(self._bring_up)
        door = self._door
        try:
            return self._ask()
        except BrokenPipeError:  # it was killed a moment ago
            await to_thread.run_sync(self._replace, door)
            return self._ask()

    def _pick_idle(self) -> SupervisorHandle | None:
        try:
            return self._idle.pop()
        except IndexError:  # asked before looked: another thread may be faster
            return None

    def release(self, handle: SupervisorHandle, *, reusable: bool) -> None:
        if reusable and len(self._idle) < self.idle_at_most:
            self._idle.append(handle)
        else:
            handle.control.close()

    def kill(self, handle: SupervisorHandle) -> None:
        """For a supervisor that does not answer: the warden kills it and its tree, then the stream ends."""
        with contextlib.suppress(OSError):
            if self._door:
                self.kernel.send(self._door, wire.FRAME.pack(wire.KILL, handle.run, 0), ())

    def close(self) -> None:
        """End the warden and what it may still be running."""
        with self._lock:
            self._drop()

    def hang_up(self) -> None:
        """The same without waiting: runs that are under way go on, then the warden ends."""
        with self._lock:
            warden, self._warden = self._warden, None
            self._drop()
        if warden is not None:
            threading.Thread(target=warden.wait, daemon=True).start()  # so that no zombie stays

    @property
    def process_id(self) -> int | None:
        return self._warden.pid if self._warden else None

    def resident_bytes(self) -> int:
        """Memory of the warden itself, 0 where that cannot be told."""
        return resident_bytes(self.process_id) if self.process_id else 0

    def _is_up(self) -> bool:
        return self._warden is not None and self._owner == os.getpid() and self._warden.poll() is None

    def _replace(self, broken: socket.socket | None) -> None:
        with self._lock:
            if self._door is broken:
                self._drop()
        self._bring_up()

    def _bring_up(self) -> None:
        with self._lock:
            if self._is_up():
                return
            self._drop()
            ours, theirs = self.kernel.socketpair()
            try:
                with theirs:
                    number = theirs.fileno()
                    self._warden = self.kernel.launch([*self._command, str(number)], number, self._env)
            except BaseException:
                ours.close()
                raise
            ours.setblocking(False)
            self._door = ours

    def _ask(self) -> SupervisorHandle:
        door = self._door
        if door is None:  # closed by another thread meanwhile
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
        ours, theirs = self.kernel.socketpair()
        try:
            with theirs:
                ours.setblocking(False)
                run = next(self._numbers) & 0xFFFF_FFFF
                self.kernel.send(door, wire.FRAME.pack(wire.FORK, run, 0), [theirs.fileno()])
        except BaseException:
            ours.close()
            raise
        return SupervisorHandle(run, ours)

    def _drop(self) -> None:
        for handle in self._idle:
            handle.control.close()
        self._idle.clear()
        if self._door is not None:
            self._door.close()
            self._door = None
        if self._warden is not None and self._owner == os.getpid():
            try:
                self._warden.wait(_GOODBYE_SECONDS)
            except subprocess.TimeoutExpired:
                self._warden.kill()
                self._warden.wait()
        self._warden = None
        self._owner = os.getpid()


shared = Launcher()
atexit.register(shared.close)
get_ready = shared.get_ready
