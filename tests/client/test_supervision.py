"""A dead server is not the end, and nothing of it stays behind."""

import os
import sys
from pathlib import Path

import anyio
import psutil
import pytest

from faultless.client import Breaker, Client, RetryPolicy
from faultless.contract import Fault
from tests.client.hostile import command
from tests.client.processes import children, owner
from tests.waiting import until

pytestmark = pytest.mark.anyio
ONCE = RetryPolicy(attempts=1)
DEADLINE_SECONDS = 60.0
ECHO = {"text": "hello"}


async def fault_of(client: Client, tool: str, **options: object) -> Fault:
    with pytest.raises(Fault) as caught:
        await client.call(tool, **options)  # type: ignore[arg-type]  # those of call
    return caught.value


async def test_a_server_killed_in_the_middle_of_a_call_is_told_at_once_and_started_again_by_the_next() -> (
    None
):
    async with Client(command(), retry=ONCE) as client:
        await client.call("echo", ECHO)
        first = client.process_id
        fault = await fault_of(client, "killed", timeout=DEADLINE_SECONDS)
        assert (fault.kind, fault.details["signal"]) == ("crash", "SIGKILL")
        assert (await client.call("echo", ECHO)).value == ECHO
        assert client.process_id != first
        assert client.starts == 2


async def test_every_call_in_flight_learns_of_the_death() -> None:
    faults: list[Fault] = []
    async with Client(command(), retry=ONCE) as client:
        await client.call("echo", ECHO)

        async def wait() -> None:
            faults.append(await fault_of(client, "silent", timeout=DEADLINE_SECONDS))

        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            assert client.process_id is not None
            os.kill(client.process_id, 9)
    assert [fault.kind for fault in faults] == ["crash"] * 5


async def test_a_server_that_answers_and_leaves_costs_nobody_a_call() -> None:
    async with Client(command()) as client:
        for _ in range(3):
            assert (await client.call("answers_then_exits")).value == "goodbye"
            assert (await client.call("echo", ECHO)).value == ECHO


async def test_a_stuck_server_is_reaped_with_its_children_after_the_time_out() -> None:
    async with Client(command(), env=owner(), probe_timeout=0.2, retry=ONCE) as client:
        await client.call("echo", ECHO)
        stuck = client.process_id
        assert stuck is not None
        fault = await fault_of(client, "stuck", timeout=0.3)
        assert (fault.kind, fault.outcome) == ("timeout", "not_done")
        await until(lambda: not psutil.pid_exists(stuck) and not children())
        assert (await client.call("echo", ECHO)).value == ECHO


async def test_a_slow_tool_does_not_cost_its_server_the_life() -> None:
    async with Client(command(), retry=ONCE) as client:
        await client.call("echo", ECHO)
        assert (await fault_of(client, "silent", timeout=0.2)).kind == "timeout"
        assert (await client.call("echo", ECHO)).value == ECHO
        assert client.starts == 1


async def test_a_server_that_no_longer_reads_is_ended_too() -> None:
    big = {"text": "x" * 4_000_000}
    async with Client(
        command(), env=owner(), probe_timeout=0.2, retry=ONCE, timeout=DEADLINE_SECONDS
    ) as client:
        await client.call("stops_reading")
        assert (await fault_of(client, "echo", arguments=big, timeout=0.5)).kind == "timeout"
        await until(lambda: not children())
        assert (await client.call("echo", big)).value == big


@pytest.mark.parametrize("tool", ["dies_but_leaves_a_child", "closes_output", "killed"])
async def test_no_process_and_no_descriptor_is_left(tool: str) -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a count
    async with Client(command(), env=owner(), retry=ONCE, grace_seconds=0.2) as client:
        for _ in range(3):
            await client.call("echo", ECHO)
            await fault_of(client, tool)
        await client.call("echo", ECHO)
        assert children()
    assert children() == []
    assert len(os.listdir("/proc/self/fd")) <= before + 2  # noqa: PTH208 - a thread of the loop may have come up


async def test_a_client_that_is_cancelled_leaves_nothing_behind() -> None:
    with anyio.move_on_after(1.5):
        async with Client(command(), env=owner()) as client:
            await client.call("stuck", timeout=DEADLINE_SECONDS)
    assert children() == []


async def test_one_deadline_spans_start_and_retries() -> None:
    async with Client(command(start="silence"), env=owner()) as client:
        with anyio.fail_after(DEADLINE_SECONDS):
            fault = await fault_of(client, "echo", arguments=ECHO, timeout=0.5)
    assert (fault.kind, fault.outcome, fault.layer) == ("timeout", "not_done", "transport")
    assert fault.message == "the server could not be reached within 0.5 s"
    assert children() == []


@pytest.mark.parametrize(
    ("server", "kind", "message"),
    [
        (["no-such-program-anywhere"], "unavailable", "there is no such program"),
        ([str(Path(__file__).parent)], "unavailable", "it is not executable"),
        (["a\0b"], "usage_error", "NUL byte"),
        (command(start="dies"), "unavailable", "exited with status 1"),
        (command(start="refuses", era="handshake"), "upstream_error", "licence expired"),
        (command(start="old_version", era="handshake"), "upstream_error", "1999-01-01"),
        ([sys.executable, "-c", "print('hello')"], "unavailable", "exited with status 0"),
    ],
)
async def test_a_server_that_cannot_be_started_is_a_fault_of_the_call(
    server: list[str], kind: str, message: str
) -> None:
    async with Client(server) as client:
        fault = await fault_of(client, "echo", arguments=ECHO)
    assert fault.kind == kind
    assert message in fault.message
    assert fault.outcome == "not_done"


async def test_a_start_that_takes_too_long_is_given_up() -> None:
    async with Client(command(start="silence"), env=owner(), start_timeout=0.3) as client:
        fault = await fault_of(client, "echo", arguments=ECHO)
        assert fault.kind == "unavailable"
        assert "within 0.3 s" in fault.message
        await until(lambda: not children())


@pytest.mark.parametrize("start", ["banner", "malformed_tools", "endless_pages"])
async def test_an_odd_start_is_survived(start: str) -> None:
    async with Client(command(start=start)) as client:
        assert (await client.call("echo", ECHO)).value == ECHO


async def test_a_server_that_keeps_dying_is_started_ever_more_slowly() -> None:
    async with Client(command(start="dies"), breaker=Breaker(limit=1000)) as client:
        for _ in range(3):
            assert "exited with status 1" in (await fault_of(client, "echo", arguments=ECHO)).message
        fault = await fault_of(client, "echo", arguments=ECHO, timeout=0.05)
        assert (fault.kind, fault.outcome) == ("unavailable", "not_done")
        assert fault.retry_after_seconds is not None
        assert client.starts == 3


async def test_the_breaker_opens_after_lost_connections_and_closes_after_a_probe() -> None:
    breaker = Breaker(limit=3, cool_down_seconds=0.3)
    async with Client(command(), retry=ONCE, breaker=breaker) as client:
        for _ in range(3):
            assert (await fault_of(client, "killed")).kind == "crash"
        refused = await fault_of(client, "echo", arguments=ECHO)
        assert (refused.kind, refused.outcome) == ("unavailable", "not_done")
        assert refused.retry_after_seconds is not None
        starts = client.starts
        await until(lambda: breaker.is_due)
        assert (await client.call("echo", ECHO)).value == ECHO
        assert client.starts == starts + 1


async def test_the_breaker_stays_open_while_the_probe_fails() -> None:
    breaker = Breaker(limit=2, cool_down_seconds=0.2)
    async with Client(command(start="dies"), retry=ONCE, breaker=breaker) as client:
        for _ in range(2):
            await fault_of(client, "echo", arguments=ECHO)
        await until(lambda: breaker.is_due)
        assert (await fault_of(client, "echo", arguments=ECHO)).kind == "unavailable"
        starts = client.starts
        assert (await fault_of(client, "echo", arguments=ECHO)).kind == "unavailable"
        assert client.starts == starts


async def test_the_breaker_stays_open_while_the_health_check_says_unavailable() -> None:
    breaker = Breaker(limit=2, cool_down_seconds=0.2)
    async with Client(command(start="ill"), retry=ONCE, breaker=breaker) as client:
        for _ in range(2):
            await fault_of(client, "killed")
        await until(lambda: breaker.is_due)
        refused = await fault_of(client, "echo", arguments=ECHO)
        assert (refused.kind, refused.outcome) == ("unavailable", "not_done")


async def test_faults_of_the_peer_never_open_the_breaker() -> None:
    async with Client(command(), breaker=Breaker(limit=2)) as client:
        for _ in range(4):
            assert (await fault_of(client, "rpc_error")).kind == "tool_failed"


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan")])
async def test_there_is_always_a_time_out(seconds: float) -> None:
    with pytest.raises(ValueError, match="positive, finite"):
        Client(command(), timeout=seconds)
