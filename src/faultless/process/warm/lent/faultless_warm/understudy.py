"""The process of the next run, forked before it is asked for.

It rehearses while nobody waits: memory is shared with the parent until it is written to, and copying what
a run writes to takes longer than the fork itself. Then it waits for its cue.
"""

from __future__ import annotations

import array
import gc
import os
import signal
import socket
import sys
from typing import TYPE_CHECKING

from . import checks, child

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from faultless.process.warden import supervise, wire
    from faultless.process.warden.system import System
else:  # lent to the target's interpreter, which knows nothing of faultless
    from warden import supervise, wire

REHEARSAL_SECONDS = 30
_READY = b"r"


class Understudy:
    """What its supervisor knows of it."""

    def __init__(self, process_id: int, line: socket.socket) -> None:
        self.process_id = process_id
        self._line = line

    def takes(
        self, command: list[str], env: Mapping[str, str], actions: Sequence[tuple[int, int, int]]
    ) -> bool:
        """Give it its cue; false if it is still rehearsing, or gone. Then it has not begun and never will."""
        try:
            if self._line.recv(1, socket.MSG_DONTWAIT) != _READY:
                return False
            self._send(command, env, actions)
        except OSError:
            return False
        self._line.close()
        return True

    def _send(
        self, command: list[str], env: Mapping[str, str], actions: Sequence[tuple[int, int, int]]
    ) -> None:
        here = os.open(".", os.O_PATH)
        try:
            descriptors = array.array("i", [*(source for _kind, source, _target in actions), here])
            targets = [target for _kind, _source, target in actions]
            cue = {"command": command, "env": dict(env), "targets": targets}
            message = wire.pack_request(cue, len(descriptors))
            sent = self._line.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)])
            if sent < len(message):  # sending nothing would fail too, once all is read and the line closed
                self._line.sendall(message[sent:])
        finally:
            os.close(here)

    def dismiss(self) -> None:
        os.kill(self.process_id, signal.SIGKILL)
        os.waitpid(self.process_id, 0)
        self._line.close()


def perform(system: System, line: socket.socket, program: str, rehearse: Callable[[], None] | None) -> None:
    """In the new process, to its end."""
    child.detach()
    child.close_all_but({line.fileno()})
    try:
        _rehearse(rehearse, line)
        line.sendall(_READY)
        received = wire.receive_packed(system, line)
    except BaseException:  # noqa: BLE001 - nobody has been promised anything, and the run can do without
        received = None
    if received is None:
        os._exit(1)
    cue, (*descriptors, here) = received
    line.close()
    os.fchdir(here)
    os.close(here)
    child.take_descriptors(supervise.plan_copies(system, descriptors, cue["targets"]))
    for descriptor in descriptors:
        os.close(descriptor)
    child.run(program, cue["command"], cue["env"])


def _rehearse(rehearse: Callable[[], None] | None, line: socket.socket) -> None:
    if rehearse is None:
        return
    signal.alarm(REHEARSAL_SECONDS)
    rehearse()
    signal.alarm(0)
    sys.stdout.flush()
    sys.stderr.flush()
    checks.check_process({line.fileno()})
    gc.collect()
    gc.freeze()  # or the run would collect what the rehearsal left
