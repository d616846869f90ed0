"""The server's hold on the fork server: started once, one socket a request, bounded by cores."""

from __future__ import annotations

import array
import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import anyio
from anyio import to_thread

from faultless.contract import Fault, FaultKind
from faultless.contract.text import clean

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

HEADER_FORMAT = "d"
START_SECONDS = 60.0
ANSWER_GRACE_SECONDS = 1.5
_LINE_LIMIT = 16 << 20
_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "TZ", "VIRTUAL_ENV", "LD_LIBRARY_PATH")


@dataclass(frozen=True)
class Question:
    tool: str
    function: str
    other: str = ""
    exception: str = ""


@dataclass(frozen=True)
class Settings:
    """The server's flags that reach the engine."""

    memory_megabytes: int = 2048
    code_kilobytes: int = 64
    requires_strict: bool = False
    allow_imports: tuple[str, ...] = ()
    concurrent: int = 0

    @property
    def slots(self) -> int:
        """Each request runs two engines; more requests than this would only slow each other down."""
        return self.concurrent or max(4, 2 * (os.cpu_count() or 1))


class Engine:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._facts: dict[str, Any] = {}
        self._lock = anyio.Lock()
        self._slots = anyio.CapacityLimiter(settings.slots)

    async def facts(self) -> dict[str, Any]:
        """Versions, process id and isolation layers, as the fork server found them."""
        await self._ensure_started()
        return self._facts

    async def ask(
        self,
        question: Question,
        code: str,
        seconds: float,
        *,
        is_static: bool = False,
        on_progress: Callable[[dict[str, Any]], Awaitable[None]] | None = None,
    ) -> dict[str, Any]:
        """The worker's answer, or its refusal as a fault. Waiting for a free slot counts as time."""
        self._refuse_large(code)
        await self._ensure_started()
        deadline = time.monotonic() + seconds
        with anyio.move_on_after(seconds + ANSWER_GRACE_SECONDS):
            async with self._slots:
                left = deadline - time.monotonic()
                if left > 0:
                    request = self._request(question, code, left, is_static=is_static)
                    return await self._exchange(request, on_progress)
        raise _overdue(seconds)

    def _request(self, question: Question, code: str, seconds: float, *, is_static: bool) -> dict[str, Any]:
        return {
            "question": asdict(question),
            "code": code,
            "seconds": seconds,
            "is_static": is_static,
            "memory_megabytes": self.settings.memory_megabytes,
            "requires_strict": self.settings.requires_strict,
            "allow_imports": list(self.settings.allow_imports),
        }

    def _refuse_large(self, code: str) -> None:
        size = len(code.encode(errors="surrogatepass"))
        limit = self.settings.code_kilobytes * 1024
        if size > limit:
            raise Fault(
                FaultKind.TOO_LARGE,
                f"The code is {size} bytes; the limit is {limit}",
                hint="Send only the function and what it needs, or start the server with a larger "
                "--max-code-kb",
            )

    async def _exchange(
        self, request: dict[str, Any], on_progress: Callable[[dict[str, Any]], Awaitable[None]] | None
    ) -> dict[str, Any]:
        ours, theirs = socket.socketpair()
        with contextlib.closing(ours):
            with contextlib.closing(theirs):
                self._hand_over(theirs, request["seconds"])
            ours.setblocking(False)
            await _send(ours, json.dumps(request).encode() + b"\n")
            async for line in _lines(ours):
                message: dict[str, Any] = json.loads(line)
                if "answer" in message:
                    answer: dict[str, Any] = message["answer"]
                    return answer
                if "fault" in message:
                    raise _fault_from(message["fault"])
                if on_progress is not None:
                    await on_progress(message["progress"])
        raise Fault(
            FaultKind.CRASH,
            "The process that analysed the code died",
            hint="Most often memory: raise --memory-mb, or analyse a smaller function",
        )

    def _hand_over(self, connection: socket.socket, seconds: float) -> None:
        assert self._control is not None  # noqa: S101 - started before
        descriptor = array.array("i", [connection.fileno()])
        header = array.array(HEADER_FORMAT, [seconds]).tobytes()
        self._control.sendmsg([header], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptor)])

    async def _ensure_started(self) -> None:
        async with self._lock:
            if self._process is None or self._process.poll() is not None:
                await to_thread.run_sync(self._start)

    def _start(self) -> None:
        self.stop()
        ours, theirs = socket.socketpair()
        # The seed is fixed: CrossHair must see the same order of sets each time it runs a path.
        kept = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        environment = {**kept, "PYTHONHASHSEED": "0", "PYTHONSAFEPATH": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        command = [
            sys.executable,
            "-s",
            "-m",
            "faultless.servers.symbolic.worker.zygote",
            str(theirs.fileno()),
        ]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            env=environment,
            start_new_session=True,
        )
        theirs.close()
        ours.settimeout(START_SECONDS)
        self._control = ours
        self._facts = self._greet(ours)

    def _greet(self, control: socket.socket) -> dict[str, Any]:
        data = b""
        try:
            while not data.endswith(b"\n"):
                chunk = control.recv(1 << 16)
                if not chunk:
                    break
                data += chunk
            facts: dict[str, Any] = json.loads(data)
        except (OSError, ValueError):
            raise self._will_not_start() from None
        control.settimeout(None)
        return facts

    def _will_not_start(self) -> Fault:
        self.stop()
        return Fault(
            FaultKind.UNAVAILABLE,
            "The symbolic engine will not start",
            hint="Install it with: pip install 'faultless[symbolic]'; then run: faultless doctor",
        )

    def stop(self) -> None:
        """The fork server ends when its socket closes, and takes its forks with it."""
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(2)
            if self._process.poll() is None:
                self._process.kill()
                self._process.wait()
            self._process = None


def _overdue(seconds: float) -> Fault:
    return Fault(
        FaultKind.TIMEOUT,
        f"No answer within {seconds:g} seconds",
        hint="Ask again with a larger timeout_seconds, or when fewer analyses run at once",
    )


def _fault_from(data: dict[str, Any]) -> Fault:
    return Fault(
        FaultKind(data["kind"]),
        clean(data["message"]),
        hint=data.get("hint"),
        details=data.get("details") or {},
    )


async def _send(connection: socket.socket, data: bytes) -> None:
    while data:
        await anyio.wait_writable(connection)
        data = data[connection.send(data) :]


async def _lines(connection: socket.socket) -> AsyncIterator[bytes]:
    buffer = b""
    while True:
        await anyio.wait_readable(connection)
        chunk = connection.recv(1 << 16)
        if not chunk or len(buffer) > _LINE_LIMIT:
            return
        *lines, buffer = (buffer + chunk).split(b"\n")
        for line in lines:
            yield line
