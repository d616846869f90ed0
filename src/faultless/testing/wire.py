"""A real server process and raw lines."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from faultless.contract import Json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

Era: TypeAlias = Literal["handshake", "modern"]
ERAS: tuple[Era, ...] = ("handshake", "modern")
DEADLINE_SECONDS = 60.0
"""Far above anything a passing test needs; machines under load are slow."""
MODERN_META: dict[str, Json] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "wire-test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
INITIALIZE: dict[str, Json] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "wire-test", "version": "1"},
}


class WireClient:
    """A real server process and raw lines; every wait has a deadline."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        deadline_seconds: float = DEADLINE_SECONDS,
    ) -> None:
        self.deadline_seconds = deadline_seconds
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=env,
            bufsize=0,
        )
        self._buffer = b""
        self._stderr = b""
        self._next_id = 0
        self._era: Era = "handshake"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait(self.deadline_seconds)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    def open(self, era: Era) -> WireClient:
        """Do what a client of that era does first."""
        self._era = era
        if era == "handshake":
            self.request("initialize", INITIALIZE)
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def send(self, message: bytes | Mapping[str, Any]) -> None:
        line = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
        assert self.process.stdin is not None  # noqa: S101 - opened as a pipe above
        self.process.stdin.write(line)

    def close_input(self) -> None:
        assert self.process.stdin is not None  # noqa: S101 - opened as a pipe above
        self.process.stdin.close()

    def request(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and return its whole response; notifications that come before it are dropped."""
        message_id = self.start(method, params)
        while True:
            answer = self.receive()
            if answer.get("id") == message_id:
                return answer

    def start(self, method: str, params: Mapping[str, Any] | None = None) -> int:
        """Send a request without waiting; returns its id."""
        self._next_id += 1
        given = dict(params or {})
        if self._era == "modern":
            given["_meta"] = {**MODERN_META, **given.get("_meta", {})}
        self.send({"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": given})
        return self._next_id

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return self.request("tools/call", {"name": tool, "arguments": dict(arguments or {})})

    def receive(self) -> dict[str, Any]:
        """The next frame, parsed."""
        line = self.receive_line()
        if not line:
            raise EOFError(f"the server closed its output; stderr: {self.stderr()[-2000:]}")
        parsed: dict[str, Any] = json.loads(line)
        return parsed

    def receive_line(self) -> bytes:
        """The next raw line, b"" at the end."""
        deadline = time.monotonic() + self.deadline_seconds
        while b"\n" not in self._buffer:
            chunk = self._read_output(deadline)
            if not chunk:
                line, self._buffer = self._buffer, b""
                return line
            self._buffer += chunk
        line, self._buffer = self._buffer.split(b"\n", 1)
        return line + b"\n"

    def wait(self) -> int:
        """Exit status, once the process has ended by itself."""
        return self.process.wait(self.deadline_seconds)

    def stderr(self) -> str:
        """What the server has logged so far."""
        assert self.process.stderr is not None  # noqa: S101 - opened as a pipe above
        while select.select([self.process.stderr], [], [], 0)[0]:
            chunk = os.read(self.process.stderr.fileno(), 65536)
            if not chunk:
                break
            self._stderr += chunk
        return self._stderr.decode(errors="replace")

    def _read_output(self, deadline: float) -> bytes:
        assert self.process.stdout is not None  # noqa: S101 - opened as a pipe above
        assert self.process.stderr is not None  # noqa: S101 - as above
        while True:
            ready, _, _ = select.select(
                [self.process.stdout, self.process.stderr], [], [], max(0.0, deadline - time.monotonic())
            )
            if self.process.stdout in ready:
                return os.read(self.process.stdout.fileno(), 65536)
            if not ready:
                raise TimeoutError(
                    f"no answer within {self.deadline_seconds} s; stderr: {self.stderr()[-2000:]}"
                )
            if not self._keep_log():  # stderr is closed, only the output can still come
                return os.read(self.process.stdout.fileno(), 65536)

    def _keep_log(self) -> bool:
        assert self.process.stderr is not None  # noqa: S101 - opened as a pipe above
        chunk = os.read(self.process.stderr.fileno(), 65536)
        self._stderr += chunk
        return bool(chunk)
