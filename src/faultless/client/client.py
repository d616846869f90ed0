"""The client: call a tool on any server and get a verdict, or a Fault."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import anyio

from faultless.client.address import Address, Endpoint
from faultless.client.breaker import Breaker
from faultless.client.calling import Desk, ToolCall
from faultless.client.fallback import Fallback, Run
from faultless.client.frames import MAX_FRAME_BYTES
from faultless.client.journal import Journal
from faultless.client.retrying import RetryPolicy
from faultless.client.supervisor import PROBE_SECONDS, Supervisor
from faultless.contract.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from anyio.abc import TaskGroup
    from mcp.shared.dispatcher import ProgressFnT

    from faultless.client.calling import OnResponse
    from faultless.client.listing import ListedTool
    from faultless.client.reply import Reply

TIMEOUT_SECONDS = 60.0
START_SECONDS = 60.0
CLOSE_SECONDS = 10.0


@dataclass
class Client:
    """A supervised session with one server.

    Entering starts nothing, so that a server that cannot be started is a fault of the first call, and its
    fallback can answer. The first call starts the server; a call after its death starts it again.
    """

    server: Address
    """A command as a list, a URL as a string, or an `mcp` server object in this process."""
    _: KW_ONLY
    timeout: float = TIMEOUT_SECONDS
    """Seconds for a whole call, retries included, unless the call says otherwise. There is no "never"."""
    start_timeout: float = START_SECONDS
    probe_timeout: float = PROBE_SECONDS
    """How long a server that missed a deadline may take to prove that it lives."""
    mode: str = "auto"
    """As in `mcp.Client`: auto, legacy, or a protocol version."""
    cwd: Path | None = None
    env: Mapping[str, str] | None = None
    """On top of this process's environment."""
    headers: Mapping[str, str] | None = None
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    breaker: Breaker = field(default_factory=Breaker)
    journal: Journal | Path | None = None
    raise_suspected: bool = False
    """Whether an answer that only reads like a failure is raised as one."""
    max_frame_bytes: int = MAX_FRAME_BYTES
    grace_seconds: float = 2.0
    echo_stderr: bool = False
    """Whether the log of a server we started is passed on to ours."""
    on_noise: Callable[[str], None] | None = None
    """Told of every line the server printed that is no message; they harm nothing."""
    mcp_options: Mapping[str, Any] = field(default_factory=dict)
    """Further options of `mcp.Client`, such as elicitation_callback."""

    def __post_init__(self) -> None:
        _check_seconds(self.timeout)
        _check_seconds(self.start_timeout)
        _check_seconds(self.probe_timeout)
        self._owns_journal = isinstance(self.journal, Path)
        self._tasks: TaskGroup | None = None
        self._desk: Desk | None = None

    async def __aenter__(self) -> Self:
        if self._tasks is not None:
            raise RuntimeError("this client is in use already")
        self._tasks = await anyio.create_task_group().__aenter__()
        journal = Journal(self.journal) if isinstance(self.journal, Path) else self.journal
        supervisor = Supervisor(
            self._dial,
            self._tasks,
            self.breaker,
            {"mode": self.mode},
            self.mcp_options,
            self.start_timeout,
            self.probe_timeout,
        )
        redactor = Redactor.for_environment(self.env, self.headers)
        self._desk = Desk(self._dial().name, supervisor, self.retry, journal, redactor)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        desk, tasks = self._use_desk(), self._tasks
        self._desk = self._tasks = None
        try:
            if (connection := desk.supervisor.current) is not None:
                connection.end()
                with anyio.move_on_after(CLOSE_SECONDS):
                    await connection.closed.wait()
        finally:
            if tasks is not None:
                tasks.cancel_scope.cancel()
                await tasks.__aexit__(None, None, None)
            if desk.journal is not None and self._owns_journal:
                desk.journal.close()

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - one deadline through retries and restarts, not a scope of the caller's
        fallback: Fallback | Run | None = None,
        raise_suspected: bool | None = None,
        on_progress: ProgressFnT | None = None,
        on_response: OnResponse | None = None,
    ) -> Reply:
        """Call a tool; returns a verdict, or raises the one Fault that says why there is none.

        `on_response` gets the server's answer as it came, before anything is made of it.
        """
        seconds = self.timeout if timeout is None else _check_seconds(timeout)
        given = Fallback(fallback) if callable(fallback) else fallback
        strict = self.raise_suspected if raise_suspected is None else raise_suspected
        return await ToolCall(
            self._use_desk(), tool, dict(arguments or {}), seconds, given, strict, on_progress, on_response
        ).run()

    async def tools(self) -> list[ListedTool]:
        """The tools as the server lists them now; later changes are told as a fault."""
        supervisor = self._use_desk().supervisor
        with anyio.fail_after(self.timeout):
            connection = await supervisor.reach()
            await connection.refresh()
        supervisor.acknowledge(connection)
        return list(connection.tools.values())

    @property
    def process_id(self) -> int | None:
        """Of the server, where it is a process of ours and running."""
        connection = self._use_desk().supervisor.current
        child = connection.line.child if connection is not None else None
        return None if child is None or child.exited.is_set() else child.pid

    @property
    def starts(self) -> int:
        return self._use_desk().supervisor.starts

    def _dial(self) -> Endpoint:
        return Endpoint(
            self.server,
            self.cwd,
            self.env,
            self.headers,
            self.max_frame_bytes,
            self.grace_seconds,
            self.echo_stderr,
            self.on_noise,
        )

    def _use_desk(self) -> Desk:
        if self._desk is None:
            raise RuntimeError("use the client inside `async with`")
        return self._desk


def _check_seconds(seconds: float) -> float:
    if not 0 < seconds < math.inf:
        raise ValueError("a time-out is a positive, finite number of seconds")
    return seconds
