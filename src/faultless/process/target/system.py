"""Every call to the operating system that can fail, on the warden's side: where tests plant faults.

And two questions of the server's side too: how much memory a process holds, and which descriptors to close.

A client's first server waits until the warden has started, so what the warden consists of loads little:
`_socket` and `_signal`, not `socket` and `signal`, which make enums of their constants, and no contextlib,
typing or json.
"""

from __future__ import annotations

import _socket
import fcntl
import os
import select
import struct

TYPE_CHECKING = False  # type checkers know better
if TYPE_CHECKING:
    import signal as signal  # noqa: PLC0414 - for the other modules here
    from collections.abc import Mapping, Sequence
else:
    import _signal as signal  # noqa: F401 - as above

_NUMBER = struct.Struct("i")
_ROOM = _socket.CMSG_SPACE(253 * _NUMBER.size)  # the kernel's limit for one message
_CLOSE_ON_EXEC = getattr(_socket, "MSG_CMSG_CLOEXEC", 0)
_LONGEST_WAIT_SECONDS = 86400.0  # more milliseconds do not fit; whoever waits longer waits again
_DESCRIPTORS = "/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"


class suppress:  # noqa: N801 - as in contextlib
    def __init__(self, *kinds: type[BaseException]) -> None:
        self._kinds = kinds

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> bool:
        return kind is not None and issubclass(kind, self._kinds)


class System:
    def receive(self, source: _socket.socket, size: int) -> tuple[bytes, list[int]]:
        """Bytes and the descriptors that came with them; `socket.recv_fds` forgets its flags in 3.11."""
        data, ancillary, _flags, _address = source.recvmsg(size, _ROOM, _CLOSE_ON_EXEC)
        descriptors = [
            number
            for level, kind, content in ancillary
            if (level, kind) == (_socket.SOL_SOCKET, _socket.SCM_RIGHTS)
            for (number,) in _NUMBER.iter_unpack(content[: len(content) - len(content) % _NUMBER.size])
        ]
        for descriptor in descriptors if not _CLOSE_ON_EXEC else ():
            os.set_inheritable(descriptor, False)
        return data, descriptors

    def send(self, target: _socket.socket, data: bytes) -> None:
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
        milliseconds = None if seconds is None else min(max(0.0, seconds), _LONGEST_WAIT_SECONDS) * 1000
        return {descriptor for descriptor, _event in poll.poll(milliseconds)}


def resident_bytes(process_id: int) -> int:
    """Memory of a process, 0 where that cannot be told."""
    try:
        with open(f"/proc/{process_id}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def close_all_but(kept: set[int]) -> None:
    """Every descriptor above stderr, however high its number."""
    highest = max(int(entry) for entry in os.listdir(_DESCRIPTORS))
    lowest = 3
    for number in sorted(kept):
        if number >= lowest:
            os.closerange(lowest, number)
            lowest = number + 1
    os.closerange(lowest, max(lowest, highest + 1))
