"""The process of the next run, forked before it is asked for.

It rehearses while nobody waits: memory is shared with the parent until it is written to, and copying what
a run writes to takes longer than the fork itself. Then it waits for its cue.
"""

from __future__ import annotations

import array
import gc
import marshal
import os
import signal
import socket
import sys
from typing import TYPE_CHECKING, Any

from . import checks, child

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from faultless.kit.process.warden import supervise, wire
    from faultless.kit.process.warden.system import System
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
            body = marshal.dumps({"command": command, "env": dict(env), "targets": targets})
            message = wire.FRAME.pack(wire.REQUEST, len(body), len(descriptors)) + body
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
        cue = _wait_for_cue(system, line)
    except BaseException:  # noqa: BLE001 - nobody has been promised anything, and the run can do without
        cue = None
    if cue is None:
        os._exit(1)
    line.close()
    os.fchdir(cue["here"])
    os.close(cue["here"])
    child.take_descriptors(supervise.plan_copies(system, cue["descriptors"], cue["targets"]))
    for descriptor in cue["descriptors"]:
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


def _wait_for_cue(system: System, line: socket.socket) -> dict[str, Any] | None:
    """None when the supervisor has gone."""
    head, descriptors = system.receive(line, wire.FRAME.size)
    if not head:
        return None
    head += wire.receive_exactly(system, line, wire.FRAME.size - len(head))
    _letter, length, count = wire.FRAME.unpack(head)
    if len(descriptors) != count:
        return None
    cue: dict[str, Any] = marshal.loads(wire.receive_exactly(system, line, length))  # noqa: S302 - from our supervisor
    return {**cue, "descriptors": descriptors[:-1], "here": descriptors[-1]}
