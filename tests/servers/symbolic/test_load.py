"""Many requests at once, cancelled ones, and what is left when they are done."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from typing import Any

import psutil
import pytest

from faultless.contract import read
from faultless.testing import WireClient
from tests.servers.symbolic.conftest import COMMAND
from tests.servers.symbolic.random_code import write_request
from tests.servers.waiting import is_waiting

ENDLESS = "def f(x: int) -> int:\n    while True:\n        pass\n"
LEFT_SECONDS = 10.0


def wait_until(holds: Callable[[], bool], seconds: float = LEFT_SECONDS) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if holds():
            return True
        psutil.wait_procs([], timeout=0)
    return holds()


def below(client: WireClient) -> list[psutil.Process]:
    return psutil.Process(client.process.pid).children(recursive=True)


def runs(client: WireClient) -> list[psutil.Process]:
    """What is below the warm parent's supervisors, who stay for the next run, less what waits for it."""
    found = [psutil.Process(client.process.pid)]
    for _generation in ("parents", "supervisors", "runs"):
        found = [child for process in found for child in children_of(process)]
    return [process for process in found if not is_waiting(process)]


def children_of(process: psutil.Process) -> list[psutil.Process]:
    try:
        return list(process.children())
    except psutil.NoSuchProcess:
        return []


def answer_in_time(client: WireClient, count: int, at_once: int, seconds: float) -> list[float]:
    """How much later than its time-out each answer came."""
    rng = random.Random(7)
    started: dict[int, float] = {}
    late: list[float] = []
    sent = 0
    while len(late) < count:
        while sent < count and len(started) < at_once:
            tool, arguments = write_request(rng, seconds)
            number = client.start("tools/call", {"name": tool, "arguments": arguments})
            started[number] = time.monotonic()
            sent += 1
        message = client.receive()
        if message.get("id") in started:
            assert "result" in message, message
            assert (read(message).payload or {})["status"]
            late.append(time.monotonic() - started.pop(message["id"]) - seconds)
    return late


@pytest.mark.heavy
def test_two_hundred_random_requests_are_answered_in_time_and_leave_nothing() -> None:
    with WireClient(COMMAND) as client:
        client.open("handshake").call("health_check")
        memory_before = client.call("health_check")["result"]["structuredContent"]["memory_usage_mb"]
        late = answer_in_time(client, count=200, at_once=8, seconds=3.0)
        assert max(late) < 2.0, sorted(late)[-5:]
        assert wait_until(lambda: not runs(client))
        memory_after = client.call("health_check")["result"]["structuredContent"]["memory_usage_mb"]
        assert memory_after < memory_before + 30


def test_a_few_random_requests_are_answered_in_time_and_leave_nothing(symbolic_server: WireClient) -> None:
    symbolic_server.call("health_check")
    late = answer_in_time(symbolic_server, count=12, at_once=4, seconds=1.5)
    assert max(late) < 2.0, sorted(late)[-3:]
    assert wait_until(lambda: not runs(symbolic_server))


def test_a_cancelled_request_leaves_no_process() -> None:
    with WireClient(COMMAND) as client:
        client.open("handshake").call("health_check")
        arguments = {"code": ENDLESS, "function_name": "f", "timeout_seconds": 100}
        number = client.start("tools/call", {"name": "symbolic_check", "arguments": arguments})
        assert wait_until(lambda: bool(runs(client)))
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
        assert wait_until(lambda: not runs(client))


def test_progress_is_told_while_the_engines_work(symbolic_server: WireClient) -> None:
    code = "def f(s: str) -> bool:\n    return s[::-1][::-1] == s\n"
    arguments = {"code": code, "function_name": "f", "timeout_seconds": 3}
    number = symbolic_server.start(
        "tools/call", {"name": "symbolic_check", "arguments": arguments, "_meta": {"progressToken": "p"}}
    )
    seen = []
    while (message := symbolic_server.receive()).get("id") != number:
        seen.append(message)
    assert any(item.get("method") == "notifications/progress" for item in seen)


def test_nothing_survives_the_server() -> None:
    with WireClient(COMMAND) as client:
        client.open("handshake").call("health_check")
        arguments = {"code": ENDLESS, "function_name": "f", "timeout_seconds": 100}
        client.start("tools/call", {"name": "symbolic_check", "arguments": arguments})
        assert wait_until(lambda: bool(runs(client)))
        family = below(client)
        client.process.kill()
        assert wait_until(lambda: not any(process.is_running() for process in family))


def test_waiting_for_a_slot_is_not_running_time_and_the_queue_has_an_end() -> None:
    with WireClient([*COMMAND, "--concurrent", "1", "--waiting", "1"]) as client:
        client.open("handshake").call("health_check")
        endless = {"code": ENDLESS, "function_name": "f", "timeout_seconds": 3}
        first = client.start("tools/call", {"name": "symbolic_check", "arguments": endless})
        assert wait_until(lambda: bool(runs(client)))
        quick = {"code": ENDLESS, "function_name": "f", "timeout_seconds": 1}
        queued = time.monotonic()
        for _ in range(2):
            client.start("tools/call", {"name": "analyze_branches", "arguments": quick})
        answers = [client.receive() for _ in range(3)]
        waited = time.monotonic() - queued
        told: list[dict[str, Any]] = [read(message).payload or {} for message in answers]
        assert told[0]["error_type"] == "rate_limited"
        assert "1 calls are running and 1 are waiting" in told[0]["message"]
        assert answers[1]["id"] == first
        assert told[2]["status"] == "complete"
        assert told[2]["time_seconds"] < 1 < waited


def test_strict_isolation_is_refused_or_given() -> None:
    with WireClient([*COMMAND, "--require-isolation", "strict"]) as client:
        client.open("handshake")
        health = client.call("health_check")["result"]["structuredContent"]
        code = "def f(x: int) -> int:\n    return x\n"
        answer = client.call("symbolic_check", {"code": code, "function_name": "f", "timeout_seconds": 10})
        status = (read(answer).payload or {})["status"]
        assert (status == "verified") == (health["isolation"]["level"] == "strict")


if sys.platform != "linux":
    pytest.skip("counts processes through Linux's /proc", allow_module_level=True)
