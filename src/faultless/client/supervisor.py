"""Keeps a server reachable: starts it, starts it again after it died, ends it when it no longer answers."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio

from faultless.client.connection import Connection
from faultless.client.exchange import CALL_TOOL, watch
from faultless.client.folding import fold_answer, restate
from faultless.client.listing import ListedTool, find_drift
from faultless.contract import Fault, FaultKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from anyio.abc import TaskGroup

    from faultless.client.address import Endpoint
    from faultless.client.breaker import Breaker

PROBE_SECONDS = 3.0
HEALTH_CHECK = "health_check"
FIRST_DELAY_SECONDS = 0.1
LONGEST_DELAY_SECONDS = 10.0
NO_SUCH_SESSION = 404
"""The server behind the URL was restarted; only a new session helps."""


@dataclass
class Supervisor:
    dial: Callable[[], Endpoint]
    tasks: TaskGroup
    breaker: Breaker
    mode: Mapping[str, Any]
    options: Mapping[str, Any]
    start_seconds: float
    probe_seconds: float = PROBE_SECONDS
    starts: int = 0
    """How often the server was started or connected to."""
    current: Connection | None = None
    _strikes: int = 0
    """Connections in a row that ended before they answered a call."""
    _learned: Mapping[str, Any] | None = None
    _known: dict[str, ListedTool] = field(default_factory=dict)
    _turn: anyio.Lock = field(default_factory=lambda: anyio.Lock(fast_acquire=True))

    async def reach(self) -> Connection:
        """A connection in good order, or the fault that says why there is none."""
        if not self.breaker.is_closed:
            await self._pass_breaker()
        return await self._connect()

    async def _pass_breaker(self) -> None:
        async with self._turn:
            if self.breaker.is_due:
                await self._probe()
        if not self.breaker.is_closed:
            raise self.breaker.refuse()

    async def _connect(self) -> Connection:
        while True:
            connection = self.current
            if connection is not None and connection.doubt is not None:
                await connection.doubt.wait()
            elif connection is not None and connection.is_ready:
                return connection
            elif connection is not None and not connection.settled.is_set():
                await connection.settled.wait()
                if connection.failure is not None:
                    raise self._refuse(connection.failure)
            else:
                await self._start_again(connection)

    def _refuse(self, failure: Fault) -> Fault:
        """No call was made on a connection that never came about."""
        fault = restate(failure)
        fault.layer, fault.outcome = fault.layer or "transport", "not_done"
        if fault.kind is FaultKind.CRASH:
            fault.kind = FaultKind.UNAVAILABLE
        self.breaker.note(fault)
        return fault

    async def _start_again(self, former: Connection | None) -> None:
        if former is not None:
            await former.closed.wait()
            await self._back_off()
        if self.current is not former:  # someone else was faster
            return
        connection = self.current = Connection(self.dial(), {**self.options, **(self._learned or self.mode)})
        self._learned = None  # until it has proved true again
        self.starts += 1
        self._strikes += 1
        self.tasks.start_soon(connection.keep, self.start_seconds)

    async def _back_off(self) -> None:
        if self._strikes == 0:
            return
        longest = min(LONGEST_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2 ** (self._strikes - 1))
        delay = longest * random.uniform(0.5, 1.0)  # noqa: S311 - spreads restarts, keeps no secret
        if anyio.current_time() + delay > anyio.current_effective_deadline():
            raise Fault(
                FaultKind.UNAVAILABLE,
                "the server keeps failing, and the next start would come after the deadline",
                retry_after_seconds=round(delay, 3),
                layer="transport",
                outcome="not_done",
            )
        await anyio.sleep(delay)

    def note(self, connection: Connection, fault: Fault | None) -> None:
        """Learn from how a call ended."""
        self.breaker.note(fault)
        if fault is None or fault.layer != "transport":
            self._strikes = 0
            if self._learned is None:
                self._learned = connection.mode
        elif fault.details.get("http_status") == NO_SUCH_SESSION:
            connection.abort(fault)

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

    def doubt(self, connection: Connection) -> None:
        """A deadline passed: find out whether the server lives, and end it if not; calls wait for that."""
        if connection.line.child is None or connection.doubt is not None or not connection.is_ready:
            return
        connection.doubt = anyio.Event()
        self.tasks.start_soon(self._interrogate, connection, connection.doubt)

    async def _interrogate(self, connection: Connection, decided: anyio.Event) -> None:
        lives = False
        try:
            with anyio.move_on_after(self.probe_seconds):
                lives = await connection.ping()
            if not lives:
                reason = "the server stopped answering and was ended"
                connection.abort(Fault(FaultKind.UNAVAILABLE, reason, layer="transport"))
        finally:
            connection.doubt = None
            decided.set()

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
        tool = connection.tools.get(HEALTH_CHECK)
        if tool is None or not tool.needs_nothing:
            return await connection.ping()
        with watch(CALL_TOOL) as exchange:
            raised = await connection.call(HEALTH_CHECK, {})
        if exchange.raw is None:
            return False
        fault, _ = fold_answer(exchange, raised)
        return fault is None or fault.kind is not FaultKind.UNAVAILABLE
