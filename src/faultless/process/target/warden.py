"""Fork a supervisor whenever the server asks for one, and clear up after those that were killed."""

from __future__ import annotations

import _socket
import gc
import os
import sys
import time

from . import supervisor, tree, wire
from .system import System, signal, suppress

_GOODBYE_SECONDS = 2 * wire.KILL_SECONDS
_AGAIN_SECONDS = 0.01


class _Supervisor:
    def __init__(self, run: int, control: _socket.socket) -> None:
        self.run = run
        self.control = control
        """Closed when its tree is gone, so that the server does not learn of its end too early."""


class Warden:
    def __init__(self, spawner: supervisor.Spawner, door: _socket.socket) -> None:
        self._spawner = spawner
        self._system = spawner.system
        self._door = door
        self._wake = supervisor.open_wake(self._system)
        self._supervisors: dict[int, _Supervisor] = {}
        self._lost: list[_Supervisor] = []
        self._give_up = 0.0
        self._tree = tree.make_tree(self._system)

    def serve(self) -> None:
        """Until the server hangs up or dies, and then until the last supervisor has cleared up."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)  # meant for the server; its end is ours
        door = self._door.fileno()
        while True:
            ready = self._system.wait_for_input([self._wake, door], _AGAIN_SECONDS if self._lost else None)
            if self._wake in ready or self._lost:
                supervisor.clear_wake(self._wake)
                self._reap()
            if door in ready and not self._answer():
                break
        goodbye = time.monotonic() + _GOODBYE_SECONDS
        while self._reap() and time.monotonic() < goodbye:
            self._system.wait_for_input([self._wake], _AGAIN_SECONDS)
            supervisor.clear_wake(self._wake)

    def _answer(self) -> bool:
        head, descriptors = self._system.receive(self._door, wire.FRAME.size)
        if not head:
            return False
        head += wire.receive_exactly(self._system, self._door, wire.FRAME.size - len(head))
        letter, run, _unused = wire.FRAME.unpack(head)
        if letter == wire.FORK and descriptors:
            self._fork(run, _socket.socket(fileno=descriptors[0]))
        elif letter == wire.KILL:
            for pid, handle in self._supervisors.items():
                if handle.run == run:
                    os.kill(pid, signal.SIGKILL)
        return True

    def _fork(self, run: int, control: _socket.socket) -> None:
        try:
            pid = self._system.fork()
        except OSError as error:
            with suppress(OSError):
                wire.report(self._system, control, {"refused": "fork", "errno": error.errno})
            control.close()
            return
        if pid != 0:
            self._supervisors[pid] = _Supervisor(run, control)
            wire.load_json()  # the next supervisors find it loaded
            return
        status: int | None = 1
        try:
            self._forget()
            tree.adopt_orphans()
            supervisor.serve(self._spawner, control)
            status = 0
        except supervisor.ForkedChild:
            status = None
            raise
        finally:
            if status is not None:
                os._exit(status)

    def _forget(self) -> None:
        """In a new supervisor: keep nobody else's sockets, or their ends would go unseen."""
        self._door.close()
        os.close(self._wake)
        os.close(signal.set_wakeup_fd(-1))
        for handle in (*self._supervisors.values(), *self._lost):
            handle.control.close()

    def _reap(self) -> bool:
        """Take in who ended; whether anybody is left. Children that are no supervisors outlived theirs."""
        with suppress(ChildProcessError):
            while True:
                pid, status = self._system.reap(os.WUNTRACED)
                if pid == 0:
                    break
                if os.WIFSTOPPED(status):  # a command may stop its parent, but not the clock
                    self._system.kill(pid, signal.SIGCONT)
                elif (ended := self._supervisors.pop(pid, None)) and status == 0:
                    ended.control.close()
                elif ended:
                    self._lost.append(ended)
                    self._give_up = time.monotonic() + wire.KILL_SECONDS
        if self._lost and (not self._kill_orphans() or time.monotonic() > self._give_up):
            for handle in self._lost:
                handle.control.close()
            self._lost.clear()
        return bool(self._supervisors or self._lost)

    def _kill_orphans(self) -> int:
        orphans = [pid for pid in self._tree.nearest() if pid not in self._supervisors]
        for pid in orphans:
            with suppress(OSError):  # not ours to kill: nothing else can be done here
                self._system.kill(pid, signal.SIGKILL)
        return len(orphans)


def main(system: System | None = None) -> None:
    serve(supervisor.Spawner(system or System()), _socket.socket(fileno=int(sys.argv[-1])))


def serve(spawner: supervisor.Spawner, door: _socket.socket) -> None:
    tree.adopt_orphans()
    gc.freeze()  # a collection in a fork would copy every page
    gc.disable()
    Warden(spawner, door).serve()
