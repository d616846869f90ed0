"""Every call to the operating system that can fail, on the warden's side: where tests plant faults."""

from __future__ import annotations

import array
import fcntl
import os
import select
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_ROOM = socket.CMSG_SPACE(253 * array.array("i").itemsize)  # the kernel's limit for one message
_CLOSE_ON_EXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0)


class Departed(BaseException):
    """Raised in a fork that goes on as the command itself; passes through everything the parent was doing."""

    def __init__(self, go_on: Callable[[], None]) -> None:
        super().__init__()
        self.go_on = go_on


class System:
    def receive(self, source: socket.socket, size: int) -> tuple[bytes, list[int]]:
        """Bytes and the descriptors that came with them; `socket.recv_fds` forgets its flags in 3.11."""
        data, ancillary, _flags, _address = source.recvmsg(size, _ROOM, _CLOSE_ON_EXEC)
        descriptors = array.array("i")
        for level, kind, content in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                descriptors.frombytes(content[: len(content) - len(content) % descriptors.itemsize])
        for descriptor in descriptors if not _CLOSE_ON_EXEC else ():
            os.set_inheritable(descriptor, False)
        return data, list(descriptors)

    def send(self, target: socket.socket, data: bytes) -> None:
        target.sendall(data)

    def fork(self) -> int:
        return os.fork()

    def pipe(self) -> tuple[int, int]:
        return os.pipe()

    def move(self, descriptor: int, lowest: int) -> int:
        moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, lowest)
        os.close(descriptor)
        return moved

    def spawn(
        self,
        path: str,
        command: list[str],
        env: Mapping[str, str],
        actions: Sequence[tuple[int, int, int]],
        defaults: Sequence[int],
    ) -> int:
        return os.posix_spawn(
            path, command, env, file_actions=actions, setsid=True, setsigmask=(), setsigdef=defaults
        )

    def stand_by(self, control: socket.socket) -> None:
        """Nothing is running: the time to prepare for the next run, until `control` has a request."""

    def stand_down(self) -> None:
        """There will be no next run."""

    def reap(self, options: int = 0) -> tuple[int, int]:
        """Process id and wait status of a child that ended; 0 when all live; ChildProcessError if none."""
        return os.waitpid(-1, os.WNOHANG | options)

    def kill(self, process_id: int, signal_number: int) -> None:
        os.kill(process_id, signal_number)

    def read_file(self, path: str) -> bytes:
        with open(path, "rb") as file:  # pathlib would take longer to load than all of this package
            return file.read()

    def list_process_ids(self) -> list[int]:
        return [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()]

    def wait_for_input(self, descriptors: Sequence[int], seconds: float | None) -> set[int]:
        poll = select.poll()
        for descriptor in descriptors:
            poll.register(descriptor, select.POLLIN)
        milliseconds = None if seconds is None else max(0.0, seconds) * 1000
        return {descriptor for descriptor, _event in poll.poll(milliseconds)}
