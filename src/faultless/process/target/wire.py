"""What the server and its warden say to each other.

Server to warden, and to each supervisor: frames of one letter and two numbers.

f run, -           to the warden, with a control socket: fork a supervisor that serves it
k run, -           to the warden: kill that supervisor
r length, count    with `count` descriptors, then `length` bytes of marshal (both ends are one
                   interpreter, and it takes a tenth of the time of JSON): run a command
s signal, -        signal the command's first process
t milliseconds, -  stop: ask the whole tree to end, kill what is left after the time
d milliseconds, -  the run's time begins now, and this is its new deadline
(end of stream)    kill everything at once

Back to the server, a JSON object a line. A supervisor: {"refused": step, …}; {"started": process id} if the
request asks for it; {"exited": wait status} of the first process if the server talks with it;
{"ended": wait status, …} when the tree is gone. A warm parent, once: {"ready": …} or {"unfit": …}.
"""

from __future__ import annotations

import errno
import marshal
import os
import struct

TYPE_CHECKING = False  # see system
if TYPE_CHECKING:
    import _socket
    from typing import Any

    from .system import System

FRAME = struct.Struct("!cII")
FORK, KILL, REQUEST, SIGNAL, STOP, DEADLINE = b"f", b"k", b"r", b"s", b"t", b"d"
SETTLE_SECONDS = 0.1  # the rest of a shell pipeline may end just after its leader
KILL_SECONDS = 5.0  # a killed process that is still there by then sits in the kernel, or is not ours to kill
_CHUNK = 1 << 18


class Request:
    command: list[str]
    cwd: str
    env: dict[str, str]
    deadline_seconds: float
    grace_seconds: float
    targets: list[int]
    announces_start: bool
    is_streaming: bool
    """The server talks with it: its end is told at once, and its output ends when it closes it."""
    descriptors: list[int]

    def __init__(self, asked: dict[str, Any], descriptors: list[int]) -> None:
        self.__dict__.update(asked)
        self.descriptors = descriptors


def pack_request(asked: dict[str, Any], count: int) -> bytes:
    """To be sent with `count` descriptors."""
    body = marshal.dumps(asked)
    return FRAME.pack(REQUEST, len(body), count) + body


def receive_request(system: System, control: _socket.socket) -> Request | None:
    """The next run, or None at the end of the stream; orders to a run that has ended are passed over."""
    received = receive_packed(system, control)
    return Request(*received) if received else None


def receive_packed(system: System, control: _socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """What the next `pack_request` was given, and the descriptors."""
    while True:
        head, descriptors = system.receive(control, FRAME.size)
        try:
            if not head:
                return None
            head += receive_exactly(system, control, FRAME.size - len(head))
            letter, length, count = FRAME.unpack(head)
            if letter == REQUEST:
                body = receive_exactly(system, control, length)
                if len(descriptors) != count:  # the kernel drops those our table has no room for
                    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))  # noqa: TRY301 - they are closed below
                return marshal.loads(body), descriptors  # noqa: S302 - from those who started us, and nobody else
        except BaseException:
            for descriptor in descriptors:
                os.close(descriptor)
            raise


def receive_exactly(system: System, source: _socket.socket, size: int) -> bytes:
    received = bytearray()
    while len(received) < size:
        data, _descriptors = system.receive(source, min(size - len(received), _CHUNK))
        if not data:
            raise EOFError
        received += data
    return bytes(received)


def load_json() -> None:
    """To be called while nobody waits: it takes a sixth of a warden's start."""
    import json  # noqa: F401, PLC0415 - as above


def report_start(system: System, control: _socket.socket, process_id: int) -> None:
    """Somebody waits for this, so it is written without json."""
    system.send(control, b'{"started": %d}\n' % process_id)


def report(system: System, control: _socket.socket, event: dict[str, Any]) -> None:
    import json  # noqa: PLC0415 - as above

    system.send(control, json.dumps(event).encode() + b"\n")
