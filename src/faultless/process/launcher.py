"""The server's end of its warden: start it, ask it for supervisors, keep a few idle ones."""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import to_thread

from faultless.process.seam import Kernel
from faultless.process.warden import wire

if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence

_GOODBYE_SECONDS = 5.0
# Loaded as a package of its own name, because `faultless` itself would bring everything with it.
_PROGRAM = "import sys; sys.path.append(sys.argv[1]); from warden.serve import main; main()"
WARDEN = (sys.executable, "-I", "-S", "-c", _PROGRAM, str(Path(__file__).parent))


@dataclass(frozen=True)
class Lease:
    """A supervisor, ours for one run."""

    run: int
    control: socket.socket


class Launcher:
    """Starts the warden with the first command at the latest; shared by all threads and event loops."""

    idle_at_most = 16

    def __init__(self, kernel: Kernel | None = None, warden: Sequence[str] = WARDEN) -> None:
        self.kernel = kernel or Kernel()
        self._command = warden
        self._numbers = count(1)
        self._idle: list[Lease] = []
        self._lock = threading.Lock()
        self._warden: subprocess.Popen[bytes] | None = None
        self._door: socket.socket | None = None
        self._owner = os.getpid()

    def get_ready(self) -> None:
        """Start the warden and a supervisor while there is time. If that fails, the first command says so."""
        with contextlib.suppress(OSError):
            self._bring_up()
            self._idle.append(self._ask())

    async def hire(self) -> Lease:
        while self._owner == os.getpid() and (lease := self._pick_idle()):
            if _is_quiet(lease.control):
                return lease
            lease.control.close()
        if not self._is_up():
            await to_thread.run_sync(self._bring_up)
        try:
            return self._ask()
        except BrokenPipeError:  # it was killed a moment ago
            await to_thread.run_sync(self._replace, self._door)
            return self._ask()

    def _pick_idle(self) -> Lease | None:
        try:
            return self._idle.pop()
        except IndexError:  # asked before looked: another thread may be faster
            return None

    def release(self, lease: Lease, *, reusable: bool) -> None:
        if reusable and len(self._idle) < self.idle_at_most:
            self._idle.append(lease)
        else:
            lease.control.close()

    def kill(self, lease: Lease) -> None:
        """For a supervisor that does not answer: the warden kills it and its tree, then the stream ends."""
        with contextlib.suppress(OSError):
            if self._door:
                self.kernel.send(self._door, wire.FRAME.pack(wire.KILL, lease.run, 0), ())

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
        try:
            pages = Path(f"/proc/{self.process_id}/statm").read_text().split()[1]
        except OSError:
            return 0
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

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
                    self._warden = self.kernel.launch([*self._command, str(number)], number)
            except BaseException:
                ours.close()
                raise
            ours.setblocking(False)
            self._door = ours

    def _ask(self) -> Lease:
        ours, theirs = self.kernel.socketpair()
        try:
            with theirs:
                ours.setblocking(False)
                run = next(self._numbers) & 0xFFFF_FFFF
                self.kernel.send(self._open_door(), wire.FRAME.pack(wire.FORK, run, 0), [theirs.fileno()])
        except BaseException:
            ours.close()
            raise
        return Lease(run, ours)

    def _open_door(self) -> socket.socket:
        if self._door is None:  # closed by another thread meanwhile
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
        return self._door

    def _drop(self) -> None:
        for lease in self._idle:
            lease.control.close()
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


def _is_quiet(control: socket.socket) -> bool:
    """An idle supervisor says nothing; one that was killed is at its end."""
    try:
        control.recv(1)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


shared = Launcher()
atexit.register(shared.close)
get_ready = shared.get_ready
