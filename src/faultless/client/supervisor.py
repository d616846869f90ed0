"""Keeps a server reachable: starts it, starts it again after it died, ends it when it no longer answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio

from faultless.client.connection import Connection
from faultless.client.folding import fold_answer
from faultless.client.frames import CALL_TOOL, Exchange
from faultless.client.http import LOST_SESSION
from faultless.client.listing import ListedTool, find_drift
from faultless.contract import Fault, FaultKind
from faultless.contract.backoff import choose_wait

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from anyio.abc import TaskGroup

    from faultless.client.address import Endpoint
    from faultless.client.policies import Breaker

_HEALTH_CHECK = "health_check"
_FIRST_WAIT_SECONDS = 0.1
_LONGEST_WAIT_SECONDS = 10.0
# What HTTP says of the first request is said of the address, and the call was never made.
_NO_SERVER = frozenset(
    {
        FaultKind.CRASH,
        FaultKind.INVALID_PARAMS,
        FaultKind.CONFLICT,
        FaultKind.NOT_FOUND,
        FaultKind.UPSTREAM_ERROR,
        FaultKind.INTERRUPTED,
    }
)


@dataclass
class Supervisor:
    make_endpoint: Callable[[], Endpoint]
    tasks: TaskGroup
    breaker: Breaker
    mode: Mapping[str, Any]
    options: Mapping[str, Any]
    start_seconds: float
    probe_seconds: float
    starts: int = 0
    """How often the server was started or connected to."""
    current: Connection | None = None
    _failures: int = 0
    """Connections in a row that ended before they answered a call."""
    _learned_mode: Mapping[str, Any] | None = None
    _known: dict[str, ListedTool] = field(default_factory=dict)
    """The tools as the caller knows them."""
    _turn: anyio.Lock = field(default_factory=lambda: anyio.Lock(fast_acquire=True))

    async def reach(self) -> Connection:
        """A connection in good order, or the fault that says why there is none."""
        if not self.breaker.is_closed:
            async with self._turn:
                if self.breaker.is_due:
                    await self._probe()
            if not self.breaker.is_closed:
                raise self.breaker.refuse()
        return await self._connect()

    async def _connect(self) -> Connection:
        while True:
            connection = self.current
            if connection is None:
                self._start()
            elif connection.liveness_check is not None:
                await connection.liveness_check.wait()
            elif connection.is_ready:
                return connection
            elif not connection.start_ended.is_set():
                await connection.start_ended.wait()
                if connection.failure is not None:
                    raise self._refuse(connection.failure)
            else:
                await connection.closed.wait()
                await self._back_off()
                if self.current is connection:  # nobody else was faster
                    self._start()

    def _start(self) -> None:
        mode = self._learned_mode or self.mode
        self._learned_mode = None  # until it has proved true again
        connection = self.current = Connection(self.make_endpoint(), {**self.options, **mode})
        self.starts += 1
        self._failures += 1
        self.tasks.start_soon(connection.keep, self.start_seconds)

    async def _back_off(self) -> None:
        if self._failures == 0:
            return
        wait = choose_wait(self._failures, _FIRST_WAIT_SECONDS, _LONGEST_WAIT_SECONDS)
        if anyio.current_time() + wait > anyio.current_effective_deadline():
            raise Fault(
                FaultKind.UNAVAILABLE,
                "the server keeps failing, and the next start would come after the deadline",
                retry_after_seconds=round(wait, 3),
                layer="transport",
                outcome="not_done",
            )
        await anyio.sleep(wait)

    def _refuse(self, failure: Fault) -> Fault:
        """No call was made on a connection that never came about."""
        fault = failure.copy()
        fault.layer, fault.outcome = fault.layer or "transport", "not_done"
        if fault.layer == "transport" and fault.kind in _NO_SERVER:
            fault.kind = FaultKind.UNAVAILABLE
        self.breaker.note(fault)
        return fault

    async def _probe(self) -> None:
        """Close the breaker if the server answers; count another failure if not."""
        try:
            connection = await self._connect()
        except Fault:  # counted already
            return
        with anyio.move_on_after(self.probe_seconds):
            if await self._is_healthy(connection):
                self.breaker.note(None)
                return
        self.breaker.note(Fault(FaultKind.UNAVAILABLE, "no answer to the probe", layer="transport"))

    async def _is_healthy(self, connection: Connection) -> bool:
        tool = connection.tools.get(_HEALTH_CHECK)
        if tool is None or not tool.needs_nothing:
            return await connection.ping()
        with Exchange(CALL_TOOL) as exchange:
            await connection.mcp.call_tool(_HEALTH_CHECK, {})
        if exchange.raw is None:
            return False
        fault, _ = fold_answer(exchange)
        return fault is None or fault.kind is not FaultKind.UNAVAILABLE

    def note(self, connection: Connection, fault: Fault | None) -> None:
        """Learn from how a call ended."""
        self.breaker.note(fault)
        if fault is None or fault.layer != "transport":
            self._failures = 0
            if self._learned_mode is None:
                self._learned_mode = connection.mode
        elif LOST_SESSION in fault.details:
            connection.abort(fault)

    def check_liveness(self, connection: Connection) -> None:
        """A deadline passed: find out whether the server lives, and end it if not; calls wait for that."""
        has_process = connection.endpoint.child is not None
        if has_process and connection.is_ready and connection.liveness_check is None:
            connection.liveness_check = anyio.Event()
            self.tasks.start_soon(self._ping_or_kill, connection, connection.liveness_check)

    async def _ping_or_kill(self, connection: Connection, decided: anyio.Event) -> None:
        is_alive = False
        try:
            with anyio.move_on_after(self.probe_seconds):
                is_alive = await connection.ping()
            if not is_alive:
                reason = "the server stopped answering and was ended"
                connection.abort(Fault(FaultKind.UNAVAILABLE, reason, layer="transport"))
        finally:
            connection.liveness_check = None
            decided.set()

    async def look_up(self, connection: Connection, name: str) -> ListedTool:
        """What is known of a tool; if that changed, the drift is raised, once."""
        if not self._known:
            self.acknowledge(connection)
        if connection.is_stale:
            await connection.refresh()
        now, known = connection.tools.get(name), self._known.get(name)
        if now is None:
            return ListedTool(name)
        self._known[name] = now
        if now is not known and (drift := find_drift(known, now)):
            raise drift
        return now

    def acknowledge(self, connection: Connection) -> None:
        """The caller has read the listing as it is now."""
        self._known = dict(connection.tools)
