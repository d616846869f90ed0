"""Every call to the operating system that can fail, on the server's side: where tests plant faults."""

from __future__ import annotations

import os
import selectors
import socket
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class Kernel:
    """The real one."""

    def launch(self, command: Sequence[str], door: int) -> subprocess.Popen[bytes]:
        """The warden: a session of its own, so that a terminal's Ctrl-C reaches only the server."""
        return subprocess.Popen(
            command,
            cwd="/",
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
