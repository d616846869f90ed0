"""One conversation with a server, carried by the client; a signal ends it and all it started."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import click

from faultless.client import Client, RetryPolicy
from faultless.contract import Fault, FaultKind

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from mcp.shared.dispatcher import ProgressFnT

    from faultless.client import Reply

T = TypeVar("T")
START_SECONDS = 60.0
PATIENCE_SECONDS = 86400.0
"""Where no time-out is asked for; a person at a terminal has Ctrl-C."""
_REPORT = "`faultless serve NAME` shows what it writes; report it to its author"


@dataclass(frozen=True, slots=True)
class Server:
    """What to talk to."""

    address: Sequence[str] | str
    strict: bool = True
    """One of ours never prints a line that is no message; strangers do, and it harms nothing."""


@dataclass(slots=True)
class Peer:
    """The server, started by the first question."""

    client: Client
    timeout_seconds: float
    response: dict[str, Any] | None = None
    """The last answer, as it came."""

    async def list_tools(self) -> list[dict[str, Any]]:
        return [tool.raw for tool in await self.client.tools()]

    async def call(
        self, tool: str, arguments: Mapping[str, Any], on_progress: ProgressFnT | None = None
    ) -> Reply:
        return await self.client.call(
            tool,
            arguments,
            timeout=self.timeout_seconds,
            on_progress=on_progress,
            on_response=self._keep,
        )

    def _keep(self, response: dict[str, Any]) -> None:
        self.response = response


def converse(
    server: Server, talk: Callable[[Peer], Awaitable[T]], *, timeout_seconds: float | None = None
) -> T:
    """Start the server, talk, stop it and whatever it started; every failure is a Fault."""
    answer: T = anyio.run(_Conversation(server, talk, timeout_seconds or PATIENCE_SECONDS).run)
    return answer


@dataclass
class _Conversation:
    server: Server
    talk: Callable[[Peer], Awaitable[Any]]
    timeout_seconds: float
    failure: Exception | None = None
    scope: anyio.CancelScope = field(init=False)

    async def run(self) -> Any:  # noqa: ANN401 - what `talk` returned
        self.scope = anyio.CancelScope()
        answer = None
        async with anyio.create_task_group() as watchers:
            watchers.start_soon(self._watch_signals)
            with self.scope:
                answer = await self._talk()
            watchers.cancel_scope.cancel()
        if self.failure:
            raise self.failure
        return answer

    async def _talk(self) -> Any:  # noqa: ANN401 - as above
        """What fails in here is told as a value: task groups would wrap it."""
        try:
            async with self._client() as client:
                return await self.talk(Peer(client, self.timeout_seconds))
        except Fault as fault:
            self._stop(fault)

    def _client(self) -> Client:
        return Client(
            self.server.address,
            timeout=START_SECONDS,
            start_timeout=START_SECONDS,
            env=_quiet(),
            retry=RetryPolicy(attempts=1),
            echo_stderr=True,
            on_noise=self._hear if self.server.strict else None,
        )

    def _hear(self, line: str) -> None:
        words = f"the server wrote a line that is no message: {line[:200]!r}"
        self._stop(Fault(FaultKind.PARSE_ERROR, words, hint=_REPORT))

    async def _watch_signals(self) -> None:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async for number in signals:
                self._stop(click.exceptions.Exit(128 + number))

    def _stop(self, failure: Exception) -> None:
        """What came first is the cause of what comes after."""
        self.failure = self.failure or failure
        self.scope.cancel()


def _quiet() -> dict[str, str]:
    """The server's log only when asked for, or when it holds a bug's traceback."""
    chosen = {"FAULTLESS_LOG_LEVEL", "OTEL_LOG_LEVEL"} & os.environ.keys()
    return {} if chosen else {"FAULTLESS_LOG_LEVEL": "ERROR"}
