"""The client, with async and without: call a tool on any server and get a verdict, or a Fault."""

from __future__ import annotations

import os
import weakref
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Self, TypedDict, TypeVar, Unpack

import anyio
from anyio.from_thread import BlockingPortal

from faultless.client.address import Address, Endpoint
from faultless.client.budget import MAX_FRAME_BYTES
from faultless.client.calling import CallContext, Inquiry, ToolCall
from faultless.client.config import Config, read_config
from faultless.client.elicitation import OnElicitation, make_callback
from faultless.client.group import ClientGroup
from faultless.client.journal import Journal
from faultless.client.listing import check_mapping, check_text
from faultless.client.offers import get_prompt, list_prompts, list_resources, read_resource
from faultless.client.policies import Breaker, Fallback, RetryPolicy, Run, check_count, check_seconds
from faultless.client.supervisor import Supervisor
from faultless.contract import Fault, FaultKind
from faultless.contract.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from types import TracebackType

    from anyio.abc import TaskGroup
    from mcp.shared.dispatcher import ProgressFnT

    from faultless.client.calling import OnResponse, Reply
    from faultless.client.config import ServerEntry
    from faultless.client.connection import Connection
    from faultless.client.listing import ListedTool
    from faultless.client.offers import Contents, Prompt, Resource

T = TypeVar("T")
_CLOSE_SECONDS = 10.0


@dataclass
class Client:
    """A supervised session with one server.

    Entering starts nothing, so that a server that cannot be started is a fault of the first call, and its
    fallback can answer. The first call starts the server; a call after its death starts it again.
    """

    server: Address
    """A command as a list, a URL as a string, or an `mcp` server object in this process."""
    _: KW_ONLY
    timeout: float = 60.0
    """Seconds for a whole call, retries included, unless the call says otherwise. There is no "never"."""
    start_timeout: float = 60.0
    probe_timeout: float = 3.0
    """How long a server that missed a deadline may take to prove that it lives."""
    mode: str = "auto"
    """As in `mcp.Client`: auto, legacy, or a protocol version."""
    cwd: Path | None = None
    env: Mapping[str, str] | None = None
    """On top of this process's environment."""
    headers: Mapping[str, str] | None = None
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    breaker: Breaker = field(default_factory=Breaker)
    journal: Journal | Path | str | None = None
    raise_suspected: bool = False
    """Whether an answer that only reads like a failure is raised as one."""
    max_frame_bytes: int = MAX_FRAME_BYTES
    grace_seconds: float = 2.0
    echo_stderr: bool = False
    """Whether the log of a server we started is passed on to ours."""
    on_noise: Callable[[str], None] | None = None
    """Told of every line the server printed that is not a message; such lines do no harm."""
    on_elicitation: OnElicitation | None = None
    """Answers what a server asks a person in the middle of a call."""
    mcp_options: Mapping[str, Any] = field(default_factory=dict)
    """Further options of `mcp.Client`, such as sampling_callback."""

    def __post_init__(self) -> None:
        check_seconds("timeout", self.timeout)
        check_seconds("start_timeout", self.start_timeout)
        check_seconds("probe_timeout", self.probe_timeout)
        check_seconds("grace_seconds", self.grace_seconds, least=0)
        check_count("max_frame_bytes", self.max_frame_bytes)
        self._tasks: TaskGroup | None = None
        self._context: CallContext | None = None

    @staticmethod
    def from_config(config: Config, **options: Unpack[ClientOptions]) -> ClientGroup:
        """The servers of an `mcpServers` file as one group; the options are those of every client in it."""
        clients: dict[str, Client] = {}
        faults: dict[str, Fault] = {}
        for name, entry in read_config(config).items():
            if isinstance(entry, Fault):
                faults[name] = entry
            else:
                clients[name] = Client._make(entry, options)
        return ClientGroup(clients, faults)

    @staticmethod
    def _make(entry: ServerEntry, options: ClientOptions) -> Client:
        own: ClientOptions = {
            **options,
            "cwd": entry.cwd or options.get("cwd"),
            "env": {**(options.get("env") or {}), **entry.env},
            "headers": {**(options.get("headers") or {}), **entry.headers},
            # One server's failures are no reason to leave another alone.
            "breaker": replace(options.get("breaker") or Breaker()),
        }
        return Client(entry.address, **own)

    async def __aenter__(self) -> Self:
        if self._tasks is not None:
            raise RuntimeError("this client is in use already")
        self._tasks = await anyio.create_task_group().__aenter__()
        supervisor = Supervisor(
            self._make_endpoint,
            self._tasks,
            self.breaker,
            {"mode": self.mode},
            self._make_mcp_options(),
            self.start_timeout,
            self.probe_timeout,
        )
        journal = self.journal
        if isinstance(journal, Path | str):
            journal = Journal(Path(journal))
        redactor = Redactor.for_environment(self.env, self.headers)
        self._context = CallContext(self._make_endpoint().name, supervisor, journal, redactor)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        context, tasks = self._use_context(), self._tasks
        self._context = self._tasks = None
        try:
            if (connection := context.supervisor.current) is not None:
                connection.end()
                with anyio.move_on_after(_CLOSE_SECONDS):
                    await connection.closed.wait()
        finally:
            if tasks is not None:
                tasks.cancel_scope.cancel()
                await tasks.__aexit__(None, None, None)
            if context.journal is not None and context.journal is not self.journal:  # then it is ours
                context.journal.close()

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - one deadline through retries and restarts, not a scope of the caller's
        retry: RetryPolicy | None = None,
        fallback: Fallback | Run | None = None,
        raise_suspected: bool | None = None,
        on_progress: ProgressFnT | None = None,
        on_response: OnResponse | None = None,
    ) -> Reply:
        """Call a tool; returns a verdict, or raises the one Fault that says why there is none.

        `on_response` gets the server's answer as it came, before anything is made of it.
        """
        seconds = self.timeout if timeout is None else check_seconds("timeout", timeout)
        given = Fallback(fallback) if callable(fallback) else fallback
        strict = self.raise_suspected if raise_suspected is None else raise_suspected
        return await ToolCall(
            self._use_context(),
            check_text("the name of a tool", tool),
            seconds,
            retry or self.retry,
            arguments=dict(check_mapping(f"what {tool} is called with", arguments)),
            fallback=given,
            raise_suspected=strict,
            on_progress=on_progress,
            on_response=on_response,
        ).run()

    async def tools(self) -> list[ListedTool]:
        """The tools as the server lists them now; later changes are told as a fault."""
        supervisor = self._use_context().supervisor

        async def ask(connection: Connection) -> list[ListedTool]:
            await connection.refresh(strictly=True)
            supervisor.acknowledge(connection)
            return list(connection.tools.values())

        return await self._inquire("tools/list", ask).run()

    async def resources(self) -> list[Resource]:
        """What there is to read, templates included; empty for a server without resources."""
        return await self._inquire("resources/list", list_resources).run()

    async def read_resource(self, uri: str) -> Reply:
        """`value` is its text or its bytes, a list of these where it has several parts."""
        check_text("the address of a resource", uri)
        return await self._read(f"reading {uri}", lambda connection: read_resource(connection, uri))

    async def prompts(self) -> list[Prompt]:
        return await self._inquire("prompts/list", list_prompts).run()

    async def get_prompt(self, name: str, arguments: Mapping[str, str] | None = None) -> Reply:
        """`value` is its messages, `text` what they say."""
        check_text("the name of a prompt", name)
        given = dict(check_mapping(f"what {name} is filled in with", arguments))
        for key, value in given.items():
            check_text("the name of an argument", key)
            check_text(f"the argument {key}", value)
        return await self._read(f"prompt {name}", lambda connection: get_prompt(connection, name, given))

    @property
    def process_id(self) -> int | None:
        """Of the server, where it is a process of ours and running."""
        connection = self._use_context().supervisor.current
        child = connection.endpoint.child if connection is not None else None
        return None if child is None or child.exited.is_set() else child.pid

    @property
    def starts(self) -> int:
        return self._use_context().supervisor.starts

    def _inquire(self, what: str, ask: Callable[[Connection], Awaitable[T]]) -> Inquiry[T]:
        return Inquiry(self._use_context(), what, self.timeout, self.retry, ask=ask)

    async def _read(self, what: str, ask: Callable[[Connection], Awaitable[Contents]]) -> Reply:
        inquiry = self._inquire(what, ask)
        found = await inquiry.run()
        return inquiry.make_reply(found.value, found.text, found.content)

    def _make_mcp_options(self) -> Mapping[str, Any]:
        if self.on_elicitation is None:
            return self.mcp_options
        return {"elicitation_callback": make_callback(self.on_elicitation), **self.mcp_options}

    def _make_endpoint(self) -> Endpoint:
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

    def _use_context(self) -> CallContext:
        if self._context is None:
            raise RuntimeError("use the client inside `async with`")
        return self._context


class ClientOptions(TypedDict, total=False):
    """The options of `Client`, for whoever passes them on."""

    timeout: float
    start_timeout: float
    probe_timeout: float
    mode: str
    cwd: Path | None
    env: Mapping[str, str] | None
    headers: Mapping[str, str] | None
    retry: RetryPolicy
    breaker: Breaker
    journal: Journal | Path | str | None
    raise_suspected: bool
    max_frame_bytes: int
    grace_seconds: float
    echo_stderr: bool
    on_noise: Callable[[str], None] | None
    on_elicitation: OnElicitation | None
    mcp_options: Mapping[str, Any]


class CallOptions(TypedDict, total=False):
    """The options of `Client.call`."""

    timeout: float | None
    retry: RetryPolicy | None
    fallback: Fallback | Run | None
    raise_suspected: bool | None
    on_progress: ProgressFnT | None
    on_response: OnResponse | None


class SyncClient:
    """The client for scripts: takes what `Client` takes; the session runs in a thread of its own."""

    def __init__(self, server: Address, **options: Unpack[ClientOptions]) -> None:
        self._client = Client(server, **options)
        self._open = ExitStack()
        self._portal: BlockingPortal | None = None

    def __enter__(self) -> Self:
        with ExitStack() as entering:
            self._portal = _open_portal(entering)
            entering.enter_context(self._portal.wrap_async_context_manager(self._client))
            self._open = entering.pop_all()
        self._owner = os.getpid()
        # A script may end without leaving the block: the session's thread must not outlive the interpreter.
        self._at_exit = weakref.finalize(self, _close_here, self._open, self._owner)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._portal = None
        self._at_exit.detach()
        if self._owner == os.getpid():  # the session's thread is not in a fork, and cannot end there
            self._open.__exit__(kind, error, trace)

    def call(
        self, tool: str, arguments: Mapping[str, Any] | None = None, **options: Unpack[CallOptions]
    ) -> Reply:
        return self._use_portal().call(partial(self._client.call, tool, arguments, **options))

    def tools(self) -> list[ListedTool]:
        return self._use_portal().call(self._client.tools)

    def resources(self) -> list[Resource]:
        return self._use_portal().call(self._client.resources)

    def read_resource(self, uri: str) -> Reply:
        return self._use_portal().call(self._client.read_resource, uri)

    def prompts(self) -> list[Prompt]:
        return self._use_portal().call(self._client.prompts)

    def get_prompt(self, name: str, arguments: Mapping[str, str] | None = None) -> Reply:
        return self._use_portal().call(self._client.get_prompt, name, arguments)

    def _use_portal(self) -> BlockingPortal:
        if self._portal is None:
            raise RuntimeError("use the client inside `with`")
        if self._owner != os.getpid():
            raise Fault(
                FaultKind.USAGE_ERROR,
                "this client belongs to the process that opened it, and this is a fork of that one",
                hint="open a client of its own in each process",
            )
        return self._portal


def _open_portal(entering: ExitStack) -> BlockingPortal:
    """An event loop in a thread of its own, until the stack is closed.

    Not by anyio's context manager: it is a generator, and in a fork, where the thread is not, collecting it
    waits for that thread for ever.
    """
    opened: Future[BlockingPortal] = Future()

    async def serve() -> None:
        async with BlockingPortal() as portal:
            opened.set_result(portal)
            await portal.sleep_until_stopped()

    thread = Thread(target=anyio.run, args=[serve], daemon=True)
    thread.start()
    portal = opened.result()
    entering.callback(thread.join)
    entering.callback(lambda: portal.call(portal.stop))
    return portal


def _close_here(opened: ExitStack, owner: int) -> None:
    if owner == os.getpid():
        opened.close()
