"""The warm parent: load, check that forking is safe, say so, then serve as a warden that forks its runs.

The process of the next run is forked before it is asked for. It prewarms while nobody waits: memory is
shared with the parent until it is written to, and copying what a run writes to takes longer than the fork
itself. Then it stands by for its run request.
"""

from __future__ import annotations

import array
import contextlib
import gc
import json
import os
import runpy
import signal
import socket
import sys
import time
from typing import TYPE_CHECKING, Any

from . import fitness, supervisor, warden, warm_run, wire
from .system import System, resident_bytes

if TYPE_CHECKING:
    import _socket
    from collections.abc import Callable, Mapping, Sequence

_QUIET_SECONDS = 0.05
"""Calls that follow each other faster find a supervisor that does nothing else."""

# Holds the parent's frames: their sockets, once freed, would close numbers that are now the run's.
_kept: list[supervisor.ForkedChild] = []


def main() -> None:
    """Arguments: where this package is, a JSON object of settings, the number of the socket to the server."""
    settings, number = json.loads(sys.argv[2]), int(sys.argv[3])
    system, door = System(), socket.socket(fileno=number)
    try:
        prewarm, report = _load(settings, {number})
    except fitness.Unfit as unfit:
        wire.report(system, door, {"unfit": str(unfit)})
        return
    wire.report(system, door, report)
    gc.collect()
    try:
        warden.serve(_ForkingSpawner(system, settings["program"], prewarm), door)
    except supervisor.ForkedChild as forked:
        _kept.append(forked)
    for run in _kept:  # outside of the except block, so that no exception of a run has a context
        run.resume()


def _load(settings: dict[str, Any], expected: set[int]) -> tuple[Callable[[], None] | None, dict[str, Any]]:
    """The function to prewarm with, if the warm-up script defines one, and what there is to say."""
    started = time.monotonic()
    warm_run.remember_path()
    script = settings["warm_up"]
    defined = runpy.run_path(script, run_name="faultless_warm_up") if script else {}
    sys.stdout.flush()  # or every run would print it again
    sys.stderr.flush()
    fitness.check_process(expected)
    files = fitness.loaded_files(settings["trusted_folder"])
    for name in [name for name in sys.modules if fitness.is_ours(name)]:
        del sys.modules[name]  # a run must not see us
    return defined.get("prewarm"), {
        "ready": True,
        "files": files,
        "seconds": time.monotonic() - started,
        "resident_bytes": resident_bytes(os.getpid()),
    }


class _ForkingSpawner(supervisor.Spawner):
    """Runs `python -m PROGRAM …` by a fork of this process, everything else as usual."""

    def __init__(self, system: System, program: str, prewarm: Callable[[], None] | None) -> None:
        super().__init__(system)
        self._program = program
        self._prewarm = prewarm
        self._standby: _StandbyRun | None = None

    def prepare(self, control: _socket.socket) -> None:
        if self._standby is not None or self.system.wait_for_input([control.fileno()], _QUIET_SECONDS):
            return
        with contextlib.suppress(OSError):  # the run will say so, if it is still so then
            self._standby = self._fork_standby()

    def _fork_standby(self) -> _StandbyRun:
        ours, theirs = socket.socketpair()
        try:
            pid = self.system.fork()
        except OSError:
            ours.close()
            theirs.close()
            raise
        if pid == 0:
            raise supervisor.ForkedChild(
                lambda: warm_run.run_standby(self.system, theirs, self._program, self._prewarm)
            )
        theirs.close()
        return _StandbyRun(pid, ours)

    def close(self) -> None:
        standby, self._standby = self._standby, None
        if standby is not None:
            standby.kill()

    def spawn(
        self, path: str, command: list[str], env: Mapping[str, str], actions: Sequence[tuple[int, int, int]]
    ) -> int:
        is_ours = command[1:3] == ["-m", self._program]
        standby = self._standby
        if is_ours and standby and standby.start(command, env, actions):
            self._standby = None
            return standby.process_id
        self.close()
        if not is_ours:
            return super().spawn(path, command, env, actions)
        pid = self.system.fork()
        if pid == 0:
            warm_run.take_descriptors(actions)
            warm_run.detach()
            raise supervisor.ForkedChild(lambda: warm_run.run(self._program, command, env))
        return pid


class _StandbyRun:
    """What a supervisor knows of the process that stands by for its next run."""

    def __init__(self, process_id: int, line: socket.socket) -> None:
        self.process_id = process_id
        self._line = line

    def start(
        self, command: list[str], env: Mapping[str, str], actions: Sequence[tuple[int, int, int]]
    ) -> bool:
        """False if it is still prewarming, or gone. Then the run has not begun there and never will."""
        try:
            if self._line.recv(1, socket.MSG_DONTWAIT) != warm_run.READY:
                return False
            self._send_request(command, env, actions)
        except OSError:
            return False
        self._line.close()
        return True

    def _send_request(
        self, command: list[str], env: Mapping[str, str], actions: Sequence[tuple[int, int, int]]
    ) -> None:
        here = os.open(".", os.O_PATH)
        try:
            descriptors = array.array("i", [*(source for _kind, source, _target in actions), here])
            targets = [target for _kind, _source, target in actions]
            asked = {"command": command, "env": dict(env), "targets": targets}
            message = wire.pack_request(asked, len(descriptors))
            sent = self._line.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)])
            if sent < len(message):  # sending nothing would fail too, once all is read and the line closed
                self._line.sendall(message[sent:])
        finally:
            os.close(here)

    def kill(self) -> None:
        os.kill(self.process_id, signal.SIGKILL)
        os.waitpid(self.process_id, 0)
        self._line.close()
