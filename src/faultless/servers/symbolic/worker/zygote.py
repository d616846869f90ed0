"""The fork server: everything imported once, one fork a request, nothing else.

It solves nothing and starts no thread, so a fork is safe at any time. The server sends a socket for each
request; the fork that serves it is the request's supervisor. The socket closing is the cancellation.
"""

from __future__ import annotations

import array
import contextlib
import gc
import importlib
import json
import os
import platform
import resource
import select
import signal
import socket
import struct
import sys
import time
from importlib.metadata import version
from typing import Any

from faultless.servers.symbolic.worker import sandbox
from faultless.servers.symbolic.worker.children import CRASHED
from faultless.servers.symbolic.worker.job import Request, handle
from faultless.servers.symbolic.worker.modules import publish
from faultless.servers.symbolic.worker.provable import engine_attributes
from faultless.servers.symbolic.worker.sealed import hidden_modules
from faultless.servers.symbolic.worker.source import ALLOWED_MODULES

HEADER = struct.Struct("d")
GRACE_SECONDS = 1.0
REQUEST_LIMIT = 4 << 20
_TICK_MILLISECONDS = 200


class Zygote:
    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._deadlines: dict[int, float] = {}

    def run(self) -> None:
        self._control.sendall(json.dumps(describe_engine()).encode() + b"\n")
        poller = select.poll()
        poller.register(self._control, select.POLLIN | select.POLLHUP)
        while True:
            ready = poller.poll(_TICK_MILLISECONDS if self._deadlines else None)
            self._reap()
            if ready and not self._accept():
                break
        for pid in self._deadlines:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _accept(self) -> bool:
        """One request: how long it may take, and its socket. False when the server is gone."""
        data, ancillary, _, _ = self._control.recvmsg(HEADER.size, socket.CMSG_SPACE(4))
        if not data:
            return False
        descriptors = array.array("i")
        descriptors.frombytes(ancillary[0][2][:4])
        connection = socket.socket(fileno=descriptors[0])
        pid = os.fork()
        if pid == 0:
            self._become_supervisor(connection)
        connection.close()
        (seconds,) = HEADER.unpack(data)
        self._deadlines[pid] = time.monotonic() + seconds + GRACE_SECONDS
        return True

    def _reap(self) -> None:
        now = time.monotonic()
        for pid, deadline in list(self._deadlines.items()):
            if now > deadline:
                os.kill(pid, signal.SIGKILL)
            found, _ = os.waitpid(pid, os.WNOHANG if now <= deadline else 0)
            if found:
                del self._deadlines[pid]

    def _become_supervisor(self, connection: socket.socket) -> None:
        """Never returns."""
        try:
            self._control.close()
            sandbox.die_with_parent()
            supervise(connection)
            os._exit(0)
        except BaseException:  # noqa: BLE001 - a fork that escapes would be a second fork server
            os._exit(CRASHED)


class CancelledError(Exception):
    """The server closed the request's socket."""


def supervise(connection: socket.socket) -> None:
    request = Request.from_json(_receive(connection))
    connection.setblocking(False)

    def tell(message: dict[str, Any]) -> None:
        with contextlib.suppress(BlockingIOError):
            if connection.recv(1) == b"":
                raise CancelledError
        connection.setblocking(True)
        connection.sendall(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        connection.setblocking(False)

    # The zygote's own limit stays as it is: forks take over what they are given here.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    handle(request, tell, connection.fileno())


def _receive(connection: socket.socket) -> dict[str, Any]:
    data = b""
    while not data.endswith(b"\n"):
        chunk = connection.recv(1 << 16)
        if not chunk or len(data) > REQUEST_LIMIT:
            raise CancelledError
        data += chunk
    request: dict[str, Any] = json.loads(data)
    return request


def describe_engine() -> dict[str, Any]:
    return {
        "python_version": platform.python_version(),
        "crosshair_version": version("crosshair-tool"),
        "z3_version": version("z3-solver"),
        "pid": os.getpid(),
        "layers": probe_isolation(),
    }


def probe_isolation() -> list[str]:
    """What a child will stand under, found by putting one there."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            layers = sandbox.enter(1 << 31, 5)
            os.write(writing, json.dumps(layers).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    os.waitpid(pid, 0)
    return list(json.loads(data)) if data else []


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Filled here, so that every fork has them.
    engine_attributes()
    hidden_modules()
    sandbox.readable_paths()
    for name in sorted(ALLOWED_MODULES):
        with contextlib.suppress(ImportError):
            publish(importlib.import_module(name))
    gc.collect()
    # Objects that are never collected are never touched, so their pages stay shared.
    gc.freeze()
    Zygote(control).run()


if __name__ == "__main__":
    main()
