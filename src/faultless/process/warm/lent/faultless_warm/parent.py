"""The warm parent: load, check that forking is safe, say so, then serve as a warden that forks."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import runpy
import socket
import sys
import time
from typing import TYPE_CHECKING, Any

from . import checks, child, preload
from .understudy import Understudy, perform

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from faultless.process.warden import serve, tree
    from faultless.process.warden.system import Departed, System
else:  # lent to the target's interpreter, which knows nothing of faultless
    from warden import serve, tree
    from warden.system import Departed, System


# Holds the parent's frames: their sockets, once freed, would close numbers that are now the run's.
_kept: list[Departed] = []


QUIET_SECONDS = 0.05
"""Calls that follow each other faster find a supervisor that does nothing else."""


class ForkingSystem(System):
    """Runs `python -m PROGRAM …` by a fork of this process, everything else as usual."""

    def __init__(self, program: str, rehearse: Callable[[], None] | None) -> None:
        self._program = program
        self._rehearse = rehearse
        self._understudy: Understudy | None = None

    def stand_by(self, control: socket.socket) -> None:
        if self._understudy is not None or self.wait_for_input([control.fileno()], QUIET_SECONDS):
            return
        with contextlib.suppress(OSError):  # the run will say so, if it is still so then
            self._understudy = self._fork_understudy()

    def _fork_understudy(self) -> Understudy:
        ours, theirs = socket.socketpair()
        try:
            pid = self.fork()
        except OSError:
            ours.close()
            theirs.close()
            raise
        if pid == 0:
            raise Departed(lambda: perform(self, theirs, self._program, self._rehearse))
        theirs.close()
        return Understudy(pid, ours)

    def stand_down(self) -> None:
        understudy, self._understudy = self._understudy, None
        if understudy is not None:
            understudy.dismiss()

    def spawn(
        self,
        path: str,
        command: list[str],
        env: Mapping[str, str],
        actions: Sequence[tuple[int, int, int]],
        defaults: Sequence[int],
    ) -> int:
        is_ours = command[1:3] == ["-m", self._program]
        understudy = self._understudy
        if is_ours and understudy and understudy.takes(command, env, actions):
            self._understudy = None
            return understudy.process_id
        self.stand_down()
        if not is_ours:
            return super().spawn(path, command, env, actions, defaults)
        pid = self.fork()
        if pid == 0:
            child.take_descriptors(actions)
            child.detach()
            raise Departed(lambda: child.run(self._program, command, env))
        return pid


def main() -> None:
    """Arguments: a JSON object of settings, and the number of the socket to the server."""
    settings, number = json.loads(sys.argv[1]), int(sys.argv[2])
    door = socket.socket(fileno=number)
    try:
        rehearse, report = _load(settings, {number})
    except checks.Unfit as unfit:
        _say(door, {"unfit": str(unfit), "module": unfit.module})
        return
    _say(door, report)
    try:
        _serve(ForkingSystem(settings["program"], rehearse), door)
    except Departed as departed:
        _kept.append(departed)
    for run in _kept:  # outside of the except block, so that no exception of a run has a context
        run.go_on()


def _serve(system: ForkingSystem, door: socket.socket) -> None:
    tree.adopt_orphans()
    gc.collect()
    gc.freeze()  # a collection in a fork would copy every page
    gc.disable()
    serve.Warden(system, door).serve()


def _load(settings: dict[str, Any], expected: set[int]) -> tuple[Callable[[], None] | None, dict[str, Any]]:
    """What to rehearse, if the warm-up script defines that, and what there is to say."""
    started = time.monotonic()
    child.remember_path()
    script = settings["warm_up"]
    defined = runpy.run_path(script, run_name="faultless_warm_up") if script else {}
    preload.load(settings["preload"], settings["preload_seconds"], settings["preload_bytes"])
    sys.stdout.flush()  # or every run would print it again
    sys.stderr.flush()
    checks.check_process(expected)
    files = checks.loaded_files(settings["own"])
    _forget_ourselves()
    return defined.get("rehearse"), {
        "ready": True,
        "files": files,
        "seconds": time.monotonic() - started,
        "resident_bytes": checks.resident_bytes(),
    }


def _forget_ourselves() -> None:
    own = {"warden", "faultless_warm"}
    for name in [name for name in sys.modules if name.split(".")[0] in own]:
        del sys.modules[name]
    gone = {
        os.path.dirname(os.path.dirname(os.path.abspath(module))) for module in (__file__, serve.__file__)
    }
    sys.path[:] = [entry for entry in sys.path if entry not in gone]


def _say(door: socket.socket, message: dict[str, Any]) -> None:
    door.sendall(json.dumps(message).encode() + b"\n")
