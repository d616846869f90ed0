"""What is repeated, what never is, and when."""

from pathlib import Path

import pytest

from faultless.client import Client, RetryPolicy
from faultless.client.listing import ListedTool
from faultless.client.retrying import may_repeat
from faultless.contract import FACTS, Fault, FaultKind, Retry
from tests.client.hostile import command

READ = ListedTool("read", annotations={"readOnlyHint": True})
REPEAT = ListedTool("repeat", annotations={"idempotentHint": True})
WRITE = ListedTool("write", annotations={"destructiveHint": False})
PATIENT = RetryPolicy(attempts=3, first_wait_seconds=0.01)


@pytest.mark.parametrize("kind", FaultKind)
@pytest.mark.parametrize("tool", [READ, REPEAT], ids=lambda tool: tool.name)
def test_a_harmless_tool_is_repeated_where_the_table_says_so(tool: ListedTool, kind: FaultKind) -> None:
    said = Fault(kind, "x", origin="peer", layer="tool")
    lost = Fault(kind, "x", origin="local", layer="transport")
    rule = FACTS[kind].retry
    assert may_repeat(said, tool) == (rule in {Retry.YES, Retry.LATER})
    assert may_repeat(lost, tool) == (rule in {Retry.YES, Retry.LATER, Retry.MAYBE})


@pytest.mark.parametrize("kind", FaultKind)
def test_a_tool_with_effects_is_never_repeated(kind: FaultKind) -> None:
    assert not may_repeat(Fault(kind, "x", layer="transport"), WRITE)


def test_a_bug_is_not_repeated() -> None:
    assert not may_repeat(ValueError("x"), READ)


@pytest.mark.anyio
async def test_a_refusal_for_now_is_repeated_after_the_time_the_server_asked_for(tmp_path: Path) -> None:
    async with Client(command(), retry=PATIENT) as client:
        reply = await client.call("fails_thrice", {"path": str(tmp_path / "count")})
    assert (reply.value, reply.attempts) == ("attempt 3", 3)
    assert reply.duration_seconds >= 2 * 0.05


@pytest.mark.anyio
async def test_a_wait_beyond_the_deadline_is_not_begun() -> None:
    async with Client(command(), retry=PATIENT) as client:
        await client.call("echo", {"text": "warm"})
        with pytest.raises(Fault) as caught:
            await client.call("fails_thrice", {"path": "/dev/null"}, timeout=0.04)
    assert caught.value.kind in {"rate_limited", "timeout"}
    assert client.breaker.is_closed


@pytest.mark.anyio
async def test_a_tool_with_effects_runs_once_though_its_server_died(tmp_path: Path) -> None:
    async with Client(command(), retry=PATIENT) as client:
        with pytest.raises(Fault) as caught:
            await client.call("marks", {"path": str(tmp_path / "once")})
        assert caught.value.kind == "outcome_unknown"
        assert (tmp_path / "once").read_text() == "x"
        with pytest.raises(Fault) as caught:
            await client.call("read_marks", {"path": str(tmp_path / "thrice")})
        assert caught.value.kind == "crash"
        assert (tmp_path / "thrice").read_text() == "xxx"
