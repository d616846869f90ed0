"""Where a server is and how to reach it: a command, a URL, or an object in this process."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer
from mcp.shared.memory import create_client_server_memory_streams

from faultless.client.budget import MAX_FRAME_BYTES
from faultless.client.http import connect_http
from faultless.client.stdio import Command, open_streams, start_server
from faultless.contract import Fault, FaultKind, clean
from faultless.contract.text import last_line

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from faultless.client.stdio import Child
    from faultless.contract import Json

Address: TypeAlias = "Sequence[str] | str | Server[Any] | MCPServer"
_EXIT_SECONDS = 0.3
"""How long to wait for the exit status of a server whose output ended."""


@dataclass
class Endpoint:
    """One way to one server; connected at most once."""

    address: Address
    cwd: Path | None = None
    env: Mapping[str, str] | None = None
    headers: Mapping[str, str] | None = None
    max_frame_bytes: int = MAX_FRAME_BYTES
    grace_seconds: float = 2.0
    echo_stderr: bool = False
    on_noise: Callable[[str], None] | None = None
    child: Child | None = None
    _refusals: list[Fault] = field(default_factory=list)

    @property
    def name(self) -> str:
        if isinstance(self.address, str):
            return self.address
        if isinstance(self.address, Sequence):
            return shlex.join(self.address)
        return self.address.name

    def connect(self) -> AbstractAsyncContextManager[tuple[Any, Any]]:
        if isinstance(self.address, str):
            return connect_http(self.address, self.headers, self.max_frame_bytes, self.grace_seconds)
        if isinstance(self.address, Sequence):
            return self._run(self.address)
        return _serve(self.address)

    @asynccontextmanager
    async def _run(self, arguments: Sequence[str]) -> AsyncIterator[tuple[Any, Any]]:
        command = Command(arguments, self.cwd, self.env, self.grace_seconds, self.echo_stderr)
        async with (
            start_server(command) as self.child,
            open_streams(self.child, self.max_frame_bytes) as (reader, writer),
        ):
            reader.on_refusal = self._refusals.append
            reader.on_noise = self.on_noise
            yield reader, writer

    async def explain_end(self) -> Fault:
        """Why the connection ended, as far as can be told at once."""
        if self._refusals:
            return self._refusals[0]
        if self.child is None:
            return _lost(f"the connection to {self.name} ended")
        with anyio.move_on_after(_EXIT_SECONDS):
            await self.child.exited.wait()
        found = self.child.describe()
        if found["signal"] is None and found["exit_code"] is None:
            if self.child.exited.is_set() and not self.child.was_ended:
                message = "the process that supervised the server was killed, so its fate is not known"
                return Fault(FaultKind.CRASH, message, details=found, layer="transport")
            return _lost("the server closed its output without exiting", stderr=found["stderr"])
        how = (
            f"killed by {found['signal']}" if found["signal"] else f"exited with status {found['exit_code']}"
        )
        reason, hint = _last_words(found["stderr"])
        message = f"the server was gone: {how}{reason}"
        return Fault(FaultKind.CRASH, message, hint=hint, details=found, layer="transport")


def _last_words(stderr: Json) -> tuple[str, str | None]:
    """Why a server of this house gave up, and the next move; strangers' words are left in the details."""
    try:
        record = json.loads(last_line(str(stderr)))
    except ValueError:
        return "", None
    match record:
        case {"severity_text": "FATAL", "body": str() as body, "attributes": {"hint": str() as hint}}:
            return f": {clean(body, 500)}", clean(hint, 500)
    return "", None


def _lost(message: str, **details: Any) -> Fault:  # noqa: ANN401 - JSON
    return Fault(FaultKind.UNAVAILABLE, message, details=details, layer="transport")


def _unwrap(server: MCPServer) -> Server[Any]:
    inner: Server[Any] = server._lowlevel_server  # noqa: SLF001 - the SDK gives no other way to serve it over streams
    return inner


@asynccontextmanager
async def _serve(server: Server[Any] | MCPServer) -> AsyncIterator[tuple[Any, Any]]:
    """The server's own loop over streams in memory; the SDK's short cut has no frames to observe."""
    inner = server if isinstance(server, Server) else _unwrap(server)
    async with (
        create_client_server_memory_streams() as ((reader, writer), far_side),
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(inner.run, *far_side, inner.create_initialization_options())
        yield reader, writer
        tasks.cancel_scope.cancel()
