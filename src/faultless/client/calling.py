"""One call: attempts under one deadline, then the fallback, with every step in the journal."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import anyio

from faultless.client.exchange import CALL_TOOL, Exchange, watch
from faultless.client.folding import fold_answer, fold_local, restate, settle
from faultless.client.listing import ListedTool, find_drift, make_plain
from faultless.client.reply import Reply, find_content, find_value
from faultless.contract import Fault, FaultKind

if TYPE_CHECKING:
    from mcp.shared.dispatcher import ProgressFnT

    from faultless.client.connection import Connection
    from faultless.client.fallback import Fallback
    from faultless.client.journal import Journal
    from faultless.client.retrying import RetryPolicy
    from faultless.client.supervisor import Supervisor
    from faultless.contract import Reading
    from faultless.contract.redaction import Redactor

OnResponse: TypeAlias = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Desk:
    """What every call of one client shares."""

    server: str
    supervisor: Supervisor
    retry: RetryPolicy
    journal: Journal | None
    redactor: Redactor


@dataclass
class ToolCall:
    desk: Desk
    name: str
    arguments: dict[str, Any]
    seconds: float
    fallback: Fallback | None = None
    raise_suspected: bool = False
    on_progress: ProgressFnT | None = None
    on_response: OnResponse | None = None
    correlation_id: str = field(default_factory=lambda: secrets.token_hex(8))
    attempts: int = 0
    _started: float = field(default_factory=time.perf_counter)
    _tool: ListedTool | None = None
    _exchange: Exchange | None = None
    _connection: Connection | None = None

    async def run(self) -> Reply:
        try:
            reply = await self._answer()
        except Fault as fault:
            self._record("mcp_escalation", **_describe(fault))
            self._record_outcome("fault", fault)
            raise
        except anyio.get_cancelled_exc_class():
            self._record_outcome("cancelled")
            raise
        self._record_outcome("fallback" if reply.via == "fallback" else "answered")
        return reply

    async def _answer(self) -> Reply:
        try:
            return await self._reach()
        except Fault as fault:
            if self.fallback is None or not self.fallback.covers(fault):
                raise
            return await self._fall_back(self.fallback, fault)

    async def _reach(self) -> Reply:
        self.arguments = make_plain(self.name, self.arguments)
        with anyio.move_on_after(self.seconds):
            return await self.desk.retry.run(self._attempt, self._find_tool)
        silence = self._describe_silence()
        self.desk.supervisor.breaker.note(silence)
        if self._connection is not None:
            self.desk.supervisor.doubt(self._connection)
        raise self._settle(silence)

    def _find_tool(self) -> ListedTool:
        return self._tool or ListedTool(self.name)

    async def _attempt(self) -> Reply:
        self.attempts += 1
        self._exchange = None
        try:
            connection = await self.desk.supervisor.reach()
            self._tool = await self.desk.supervisor.look_up(connection, self.name)
            self._tool.check_arguments(self.arguments)
            return await self._send(connection)
        except Fault as fault:
            raise self._settle(fault) from fault.__cause__

    async def _send(self, connection: Connection) -> Reply:
        self._record("attempt", attempt=self.attempts, arguments=self._describe_arguments())
        self._connection = connection
        with watch(CALL_TOOL) as self._exchange:
            raised = await connection.call(self.name, self.arguments, self.on_progress)
        exchange = self._exchange
        if exchange.raw is None:
            raise await self._explain_silence(connection, exchange, raised)
        if self.on_response is not None:
            self.on_response(exchange.raw)
        fault, reading = fold_answer(exchange, raised)
        self.desk.supervisor.note(connection, fault)
        if fault is not None:
            await self._blame_drift(connection, fault)
            raise fault
        result = exchange.raw["result"]
        self._find_tool().check_answer(result)
        return self._make_reply(result, reading)

    async def _explain_silence(
        self, connection: Connection, exchange: Exchange, raised: Exception | None
    ) -> Fault:
        if exchange.fault is not None:  # it did answer, too much
            self.desk.supervisor.note(connection, None)
            return exchange.fault
        fault = fold_local(raised or anyio.EndOfStream())
        if fault.kind is FaultKind.UNAVAILABLE:
            fault = await connection.explain_end()
        self.desk.supervisor.note(connection, fault)
        return fault

    async def _blame_drift(self, connection: Connection, fault: Fault) -> None:
        """Arguments that passed the listed schema and were refused: the schema may have changed meanwhile."""
        if fault.kind is not FaultKind.INVALID_PARAMS or self._tool is None:
            return
        await connection.refresh()
        drift = find_drift(self._tool, connection.tools.get(self.name))
        if drift is not None:
            self.desk.supervisor.acknowledge(connection)
            raise drift from fault

    def _settle(self, fault: Fault) -> Fault:
        """Say of a fault what only the client can: what is known of the call's effect."""
        issued = self._exchange is not None and self._exchange.issued
        return settle(fault, self._find_tool(), issued=issued)

    def _describe_silence(self) -> Fault:
        reached = self._exchange is not None
        what = f"{self.name} gave no answer" if reached else "the server could not be reached"
        return Fault(
            FaultKind.TIMEOUT,
            f"{what} within {self.seconds:g} s",
            hint="raise the time-out, or look at what the server is doing",
            layer="transport",
        )

    def _make_reply(self, result: dict[str, Any], reading: Reading) -> Reply:
        if reading.suspicion is not None and self.raise_suspected:
            reading.suspicion.layer = "payload"
            raise reading.suspicion
        return Reply(
            value=find_value(result, reading),
            text=reading.text,
            via="server",
            correlation_id=self.correlation_id,
            duration_seconds=time.perf_counter() - self._started,
            attempts=self.attempts,
            certainty=reading.certainty,
            suspicion=reading.suspicion,
            shape=reading.shape,
            content=find_content(result),
        )

    async def _fall_back(self, fallback: Fallback, fault: Fault) -> Reply:
        self._record("mcp_fallback", **_describe(fault))
        value, second = await fallback.answer(restate(fault), self.seconds)
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

    def _describe_arguments(self) -> Any:  # noqa: ANN401 - JSON
        journal = self.desk.journal
        return self.arguments if journal is not None and journal.values else sorted(self.arguments)

    def _record_outcome(
        self, outcome: Literal["answered", "fallback", "fault", "cancelled"], fault: Fault | None = None
    ) -> None:
        self._record(
            "outcome",
            outcome=outcome,
            attempts=self.attempts,
            duration_seconds=round(time.perf_counter() - self._started, 6),
            **(_describe(fault) if fault else {}),
        )

    def _record(self, event: str, **fields: Any) -> None:  # noqa: ANN401 - JSON
        if self.desk.journal is not None:
            self.desk.journal.write(
                event,
                self.correlation_id,
                self.desk.redactor,
                server=self.desk.server,
                tool=self.name,
                **fields,
            )


def _describe(fault: Fault) -> dict[str, Any]:
    return {
        "kind": fault.kind.value,
        "message": fault.message,
        "origin": fault.origin,
        "layer": fault.layer,
        "effect": fault.outcome,
    }
