"""One call: attempts under one deadline, then the fallback, with every step in the journal."""

from __future__ import annotations

import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

import anyio

from faultless.client.folding import fold_answer, fold_local, state_outcome
from faultless.client.frames import CALL_TOOL, Exchange
from faultless.client.listing import ListedTool, find_drift, make_plain
from faultless.contract import Fault, FaultKind

if TYPE_CHECKING:
    from mcp.shared.dispatcher import ProgressFnT

    from faultless.client.connection import Connection
    from faultless.client.journal import Journal
    from faultless.client.policies import Fallback, RetryPolicy
    from faultless.client.supervisor import Supervisor
    from faultless.contract import Certainty, Json, Reading
    from faultless.contract.redaction import Redactor

OnResponse: TypeAlias = Callable[[dict[str, Any]], None]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reply:
    """What a call gives back when it is not a fault."""

    value: Any
    """The answer as plain data: the structured content, else the JSON object in the text, else the text."""
    text: str
    via: Literal["server", "fallback"]
    correlation_id: str
    duration_seconds: float
    attempts: int
    certainty: Certainty | None = None
    """`suspected` where the answer reads like a failure; None for a plain verdict."""
    suspicion: Fault | None = None
    """The fault it would be, if the suspicion is right."""
    shape: str | None = None
    """What gave it away."""
    content: list[Json] = field(default_factory=list)
    """Every content block as it came, images and links too."""
    fault: Fault | None = None
    """Why the fallback was used."""


@dataclass(frozen=True, slots=True)
class CallContext:
    """What every call of one client shares."""

    server: str
    supervisor: Supervisor
    journal: Journal | None
    redactor: Redactor


@dataclass
class _Asking(Generic[T]):
    """Attempts under one deadline, until one is answered or the retry policy gives up."""

    context: CallContext
    name: str
    seconds: float
    retry: RetryPolicy
    attempts: int = 0
    _started: float = field(default_factory=time.perf_counter)
    _tool: ListedTool | None = None
    _exchange: Exchange | None = None
    _connection: Connection | None = None

    async def _attempt(self) -> T:
        raise NotImplementedError

    async def _ask_server(self) -> T:
        with anyio.move_on_after(self.seconds):
            while True:
                self.attempts += 1
                self._exchange = None
                try:
                    return await self._attempt()
                except Fault as raised:
                    fault = self._state_outcome(raised)
                    wait = self.retry.plan_wait(fault, self._find_tool(), self.attempts)
                    if wait is None:
                        raise fault from raised.__cause__
                await anyio.sleep(wait)
        raise self._state_outcome(self._give_up())

    def _give_up(self) -> Fault:
        """The deadline passed: was it the call that is slow, or is the server dead?"""
        is_reached = self._connection is not None
        what = f"{self.name} gave no answer" if is_reached else "the server could not be reached"
        fault = Fault(
            FaultKind.TIMEOUT,
            f"{what} within {self.seconds:g} s",
            hint="raise the time-out, or look at what the server is doing",
            layer="transport",
        )
        self.context.supervisor.breaker.note(fault)
        if self._connection is not None:
            self.context.supervisor.check_liveness(self._connection)
        return fault

    def _state_outcome(self, fault: Fault) -> Fault:
        """Say of a fault what only the client can: what is known of the call's effect."""
        issued = self._exchange is not None and self._exchange.issued
        return state_outcome(fault, self._find_tool(), issued=issued)

    def _find_tool(self) -> ListedTool:
        return self._tool or ListedTool(self.name)


@dataclass
class Inquiry(_Asking[T]):
    """A request without effect: a listing, a resource, a prompt."""

    ask: Callable[[Connection], Awaitable[T]] = field(kw_only=True)

    def __post_init__(self) -> None:
        self._tool = ListedTool(self.name, annotations={"readOnlyHint": True})

    async def run(self) -> T:
        return await self._ask_server()

    def make_reply(self, value: object, text: str, content: list[Json]) -> Reply:
        seconds = time.perf_counter() - self._started
        return Reply(value, text, "server", secrets.token_hex(8), seconds, self.attempts, content=content)

    async def _attempt(self) -> T:
        supervisor = self.context.supervisor
        connection = self._connection = await supervisor.reach()
        try:
            answer = await self.ask(connection)
        except Fault as raised:
            is_lost = raised.origin == "local" and raised.kind is FaultKind.UNAVAILABLE
            fault = await connection.explain_end() if is_lost else raised
            supervisor.note(connection, fault)
            raise fault from raised
        supervisor.note(connection, None)
        return answer


@dataclass
class ToolCall(_Asking[Reply]):
    """One call of a tool, with its fallback and its lines in the journal."""

    arguments: dict[str, Any] = field(default_factory=dict)
    fallback: Fallback | None = None
    raise_suspected: bool = False
    on_progress: ProgressFnT | None = None
    on_response: OnResponse | None = None
    correlation_id: str = field(default_factory=lambda: secrets.token_hex(8))

    async def run(self) -> Reply:
        """The server's answer, else the fallback's, else the fault."""
        try:
            try:
                self.arguments = make_plain(self.name, self.arguments)
                reply = await self._ask_server()
            except Fault as fault:
                if self.fallback is None or not self.fallback.covers(fault, self._find_tool()):
                    raise
                reply = await self._fall_back(self.fallback, fault)
        except Fault as fault:
            self._record("mcp_escalation", fault)
            self._record_outcome("fault", fault)
            raise
        except anyio.get_cancelled_exc_class():
            self._record_outcome("cancelled")
            raise
        self._record_outcome("fallback" if reply.via == "fallback" else "answered")
        return reply

    async def _attempt(self) -> Reply:
        supervisor = self.context.supervisor
        connection = await supervisor.reach()
        tool = self._tool = await supervisor.look_up(connection, self.name)
        tool.check_arguments(self.arguments)
        self._record("attempt", attempt=self.attempts, arguments=self.arguments)
        self._connection = connection
        with Exchange(CALL_TOOL) as exchange:
            self._exchange = exchange
            await connection.mcp.call_tool(self.name, self.arguments, progress_callback=self.on_progress)
        if exchange.raw is None:
            raise await self._explain_silence(connection, exchange)
        if self.on_response is not None:
            self.on_response(exchange.raw)
        fault, reading = fold_answer(exchange)
        supervisor.note(connection, fault)
        if fault is not None:
            if fault.kind is FaultKind.INVALID_PARAMS and fault.origin == "peer":
                await self._blame_drift(connection, tool, fault)
            raise fault
        tool.check_answer(exchange.raw["result"])
        return self._make_reply(exchange.raw["result"], reading)

    async def _explain_silence(self, connection: Connection, exchange: Exchange) -> Fault:
        if exchange.fault is not None:  # it did answer, too much
            self.context.supervisor.note(connection, None)
            return exchange.fault
        fault = fold_local(exchange.raised or anyio.EndOfStream())
        if fault.kind is FaultKind.UNAVAILABLE:
            fault = await connection.explain_end()
        self.context.supervisor.note(connection, fault)
        return fault

    async def _blame_drift(self, connection: Connection, tool: ListedTool, fault: Fault) -> None:
        """Arguments that passed the listed schema and were refused: the schema may have changed meanwhile."""
        with suppress(Fault):  # the refusal is what the caller needs to know
            await connection.refresh()
        drift = find_drift(tool, connection.tools.get(self.name))
        if drift is not None:
            self.context.supervisor.acknowledge(connection)
            drift.outcome = self._state_outcome(fault).outcome  # a refusal in prose proves nothing
            raise drift from fault

    def _make_reply(self, result: dict[str, Any], reading: Reading) -> Reply:
        if reading.suspicion is not None and self.raise_suspected:
            reading.suspicion.layer = "payload"
            raise reading.suspicion
        value, content = result.get("structuredContent"), result.get("content")
        if value is None:
            value = reading.text if reading.payload is None else reading.payload
        return Reply(
            value=value,
            text=reading.text,
            via="server",
            correlation_id=self.correlation_id,
            duration_seconds=time.perf_counter() - self._started,
            attempts=self.attempts,
            certainty=reading.certainty,
            suspicion=reading.suspicion,
            shape=reading.shape,
            content=content if isinstance(content, list) else [],
        )

    async def _fall_back(self, fallback: Fallback, fault: Fault) -> Reply:
        self._record("mcp_fallback", fault)
        value, second = await fallback.answer(fault.copy(), self.seconds)
        if second is not None:
            fault.second = second
            fault.add_note(f"the fallback failed too: {type(second).__name__}: {second}")
            raise fault from second
        return Reply(
            value=value,
            text=value if isinstance(value, str) else "",
            via="fallback",
            correlation_id=self.correlation_id,
            duration_seconds=time.perf_counter() - self._started,
            attempts=self.attempts,
            fault=fault,
        )

    def _record_outcome(
        self, outcome: Literal["answered", "fallback", "fault", "cancelled"], fault: Fault | None = None
    ) -> None:
        duration = round(time.perf_counter() - self._started, 6)
        self._record("outcome", fault, outcome=outcome, attempts=self.attempts, duration_seconds=duration)

    def _record(self, event: str, fault: Fault | None = None, **fields: Any) -> None:  # noqa: ANN401 - JSON
        context = self.context
        if context.journal is not None:
            fields = {"server": context.server, "tool": self.name, **fields}
            context.journal.write(event, self.correlation_id, context.redactor, fault, **fields)
