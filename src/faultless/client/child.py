"""A server's process and everything it started: watched while it runs, gone when the client is done with it.

The whole tree dies: the process group by signal, and whatever left the group by a mark that every descendant
inherits in its environment.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from faultless.contract import clean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from faultless.contract import Json

MARK = "FAULTLESS_CLIENT_CHILD"
CHUNK_BYTES = 65536
TAIL_CHUNKS = 4
TAIL_CHARACTERS = 2000
POLL_SECONDS = 0.01
SETTLE_SECONDS = 0.1
"""What a process that has closed its output may take to exit before it counts as still running."""
KILL_SECONDS = 2.0
SWEEPS = 5
CLOSED = -1
PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Command:
    """How a server is started."""

    arguments: Sequence[str]
    cwd: Path | None = None
    env: Mapping[str, str] | None = None
    """On top of this process's own environment."""
    grace_seconds: float = 2.0
    """How long it may take to leave after its input closes, and again after SIGTERM."""
    echo_stderr: bool = False
    """Whether its log is passed on to ours."""


class Child:
    def __init__(self, command: Command) -> None:
        self.command = command
        self.exited = anyio.Event()
        self.was_ended = False
        """It did not go by itself."""
        self._mark = secrets.token_hex(8)
        self._tail: deque[bytes] = deque(maxlen=TAIL_CHUNKS)
        self._process = subprocess.Popen(
            list(command.arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=command.cwd,
            env={**os.environ, **(command.env or {}), MARK: f"{os.environ.get(MARK, '')}:{self._mark}"},
            start_new_session=True,
            bufsize=0,
        )
        self.stdin, self.stdout, self._stderr = (
            stream.fileno()
            for stream in (self._process.stdin, self._process.stdout, self._process.stderr)
            if stream is not None
        )
        for descriptor in (self.stdin, self.stdout, self._stderr):
            os.set_blocking(descriptor, False)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def stderr_tail(self) -> str:
        text = b"".join(self._tail).decode(errors="replace")
        return clean(text[-TAIL_CHARACTERS:], TAIL_CHARACTERS).strip()

    def describe(self) -> dict[str, Json]:
        """What a fault should say about the process."""
        with suppress(OSError):  # nothing more there
            self._keep(os.read(self._stderr, CHUNK_BYTES))
        status = None if self.was_ended else self._status()
        return {
            "exit_code": status if status is not None and status >= 0 else None,
            "signal": _name_signal(-status) if status is not None and status < 0 else None,
            "stderr": self.stderr_tail or None,
        }

    async def drain_stderr(self) -> None:
        """Read whatever it logs, so that it never blocks; the last of it is kept."""
        with suppress(anyio.ClosedResourceError):
            while chunk := await read_some(self._stderr):
                self._keep(chunk)

    def _keep(self, chunk: bytes) -> None:
        self._tail.append(chunk)
        if self.command.echo_stderr:
            with suppress(OSError):
                os.write(sys.stderr.fileno(), chunk)

    async def await_exit(self) -> None:
        """Set `exited` once the process itself has ended, whoever still holds its pipes."""
        with suppress(OSError):  # no such call on this system, or the process is gone already
            watch = os.pidfd_open(self.pid)
            try:
                await anyio.wait_readable(watch)
            finally:
                os.close(watch)
        await self._poll(None)
        self.exited.set()

    async def stop(self, *, politely: bool) -> None:
        """End the tree; every wait is bounded. Politely: it may first leave by itself."""
        self.close_input()
        grace = self.command.grace_seconds if politely else SETTLE_SECONDS
        if not await self._poll(grace):
            self.was_ended = True
            self._signal(signal.SIGTERM)
            await self._poll(grace)
        self._signal(signal.SIGKILL)
        await anyio.to_thread.run_sync(kill_marked, self._mark)
        await self._poll(KILL_SECONDS)
        self._process.poll()
        self.exited.set()
        self._close()

    def close_input(self) -> None:
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()

    async def _poll(self, seconds: float | None) -> bool:
        with anyio.move_on_after(seconds):
            while self._status() is None:  # noqa: ASYNC110 - the system has no event for "exited, not yet reaped"
                await anyio.sleep(POLL_SECONDS)
        return self._status() is not None

    def _status(self) -> int | None:
        """How it ended, without reaping: its number must not pass to a stranger while we signal the group."""
        if self._process.returncode is not None or not hasattr(os, "waitid"):
            return self._process.poll()
        found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if found is None:
            return None
        return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def _close(self) -> None:
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
        self._stderr = CLOSED


async def read_some(descriptor: int) -> bytes:
    """The next bytes, b"" at the end."""
    while True:
        try:
            return os.read(descriptor, CHUNK_BYTES)
        except BlockingIOError:
            await anyio.wait_readable(descriptor)
        except OSError:
            return b""


def kill_marked(mark: str) -> None:
    """Kill what left the group: the mark survives daemons and new sessions. Again, while it still forks."""
    for _ in range(SWEEPS):
        marked = [folder for folder in PROC.glob("[0-9]*") if _is_marked(folder, mark.encode())]
        if not marked:
            return
        for folder in marked:
            with suppress(OSError):
                os.kill(int(folder.name), signal.SIGKILL)


def _is_marked(folder: Path, mark: bytes) -> bool:
    try:
        variables = (folder / "environ").read_bytes().split(b"\0")
    except OSError:  # not ours, or gone
        return False
    return any(variable.startswith(MARK.encode()) and mark in variable for variable in variables)


def _name_signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"
