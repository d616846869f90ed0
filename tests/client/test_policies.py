"""What is repeated, when another way is taken, and what never is."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from faultless.client import Breaker, Client, Fallback, RetryPolicy
from faultless.client.listing import ListedTool
from faultless.client.policies import NEVER_REPLACED, may_repeat
from faultless.contract import FACTS, Fault, FaultKind, KindBasis, Retry
from tests.client.hostile import command

ONCE = RetryPolicy(attempts=1)
PATIENT = RetryPolicy(attempts=3, first_wait_seconds=0.01)
READ = ListedTool("read", annotations={"readOnlyHint": True})
REPEAT = ListedTool("repeat", annotations={"idempotentHint": True})
WRITE = ListedTool("write", annotations={"destructiveHint": False})


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


@pytest.mark.anyio
async def test_a_wait_doubles_comes_on_top_of_what_was_asked_for_and_ends_with_the_attempts() -> None:
    policy = RetryPolicy(attempts=3, first_wait_seconds=1.0, longest_wait_seconds=1.5)
    lost = Fault(FaultKind.UNAVAILABLE, "x", layer="transport")
    asked = Fault(FaultKind.RATE_LIMITED, "x", retry_after_seconds=10.0)
    assert 0.5 <= (policy.plan_wait(lost, READ, 1) or 0) <= 1.0
    assert 0.75 <= (policy.plan_wait(lost, READ, 2) or 0) <= 1.5
    assert 10.75 <= (policy.plan_wait(asked, READ, 2) or 0) <= 11.5
    assert policy.plan_wait(lost, READ, 3) is None
    with anyio.move_on_after(0.4):  # noqa: ASYNC100 - the wait itself would pass this deadline
        assert policy.plan_wait(lost, READ, 1) is None


NOT_SECONDS = [-1, float("nan"), float("inf")]
UNUSABLE: list[Callable[[], object]] = [
    *(partial(RetryPolicy, attempts=attempts) for attempts in (0, -1, 1.5, True, None)),  # type: ignore[arg-type]  # that is the point
    *(partial(RetryPolicy, first_wait_seconds=seconds) for seconds in NOT_SECONDS),
    *(partial(RetryPolicy, longest_wait_seconds=seconds) for seconds in NOT_SECONDS),
    *(partial(Fallback, print, timeout=seconds) for seconds in (0, *NOT_SECONDS)),
    *(partial(Breaker, cool_down_seconds=seconds) for seconds in NOT_SECONDS),
    partial(Breaker, limit=0),
    *(partial(Client, "http://x", timeout=seconds) for seconds in (0, *NOT_SECONDS)),
    *(partial(Client, "http://x", grace_seconds=seconds) for seconds in NOT_SECONDS),
    partial(Client, "http://x", max_frame_bytes=0),
]


@pytest.mark.parametrize("make", UNUSABLE)
def test_a_number_that_cannot_be_meant_is_refused_where_it_is_given(make: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=r"finite number of seconds|whole number from 1 on"):
        make()


@pytest.mark.anyio
async def test_a_server_that_asks_for_less_than_no_wait_asks_for_none() -> None:
    async with Client(command(), retry=PATIENT) as client:
        with pytest.raises(Fault) as caught:
            await client.call("asks_for_yesterday")
    assert (caught.value.kind, caught.value.retry_after_seconds) == ("rate_limited", None)


@pytest.mark.anyio
async def test_a_bug_is_not_repeated() -> None:
    seen: list[dict[str, Any]] = []

    def fail(response: dict[str, Any]) -> None:
        seen.append(response)
        raise ValueError("planted")

    async with Client(command(), retry=PATIENT) as client:
        tools = {tool.name: tool for tool in await client.tools()}
        assert tools["echo"].is_repeatable
        with pytest.raises(ValueError, match="planted"):
            await client.call("echo", {"text": "x"}, on_response=fail)
    assert len(seen) == 1


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


async def call(tool: str, fallback: object, **options: Any) -> Any:  # noqa: ANN401 - those of call
    async with Client(command(), retry=ONCE) as client:
        return await client.call(tool, fallback=fallback, **options)  # type: ignore[arg-type]  # as above


async def fault_of(tool: str, fallback: object, **options: Any) -> Fault:  # noqa: ANN401 - those of call
    with pytest.raises(Fault) as caught:
        await call(tool, fallback, **options)
    return caught.value


@pytest.mark.anyio
async def test_a_lost_server_is_replaced_and_the_reply_says_so() -> None:
    reply = await call("killed", lambda fault: f"cached, because of {fault.kind}")
    assert (reply.value, reply.via) == ("cached, because of crash", "fallback")
    assert reply.fault is not None
    assert reply.fault.kind == "crash"


@pytest.mark.anyio
async def test_a_server_that_will_not_start_is_replaced_too() -> None:
    async def recall(_: Fault) -> dict[str, int]:
        await anyio.lowlevel.checkpoint()
        return {"n": 1}

    async with Client(["no-such-program-anywhere"]) as client:
        reply = await client.call("anything", fallback=recall)
    assert (reply.value, reply.via, reply.attempts) == ({"n": 1}, "fallback", 1)


@pytest.mark.parametrize("tool", ["flagged_success_false", "error_alone", "rpc_error", "rate_limited"])
@pytest.mark.anyio
async def test_a_refusal_is_not_walked_round(tool: str) -> None:
    used: list[Fault] = []
    fault = await fault_of(tool, used.append)
    assert used == []
    assert fault.second is None


@pytest.mark.anyio
async def test_a_call_that_may_have_had_its_effect_is_not_made_by_another_way() -> None:
    used: list[Fault] = []
    assert (await fault_of("write_killed", used.append)).kind == "outcome_unknown"
    assert used == []


@pytest.mark.anyio
async def test_the_caller_may_widen_it_by_kind() -> None:
    reply = await call("error_with_code", Fallback(lambda _: "other", on=frozenset({FaultKind.NOT_FOUND})))
    assert reply.via == "fallback"


@pytest.mark.parametrize("kind", sorted(NEVER_REPLACED))
def test_some_kinds_can_never_be_added(kind: FaultKind) -> None:
    with pytest.raises(ValueError, match="never stands in for"):
        Fallback(print, on=frozenset({kind}))


@pytest.mark.parametrize("kind", FaultKind)
@pytest.mark.parametrize("layer", ["transport", "protocol", "tool", "payload"])
def test_it_covers_lost_servers_and_nothing_else(kind: FaultKind, layer: Any) -> None:  # noqa: ANN401 - a literal
    lost = kind == "unavailable" or (layer == "transport" and kind in {"crash", "timeout"})
    assert Fallback(print).covers(Fault(kind, "x", layer=layer), WRITE) == lost


@pytest.mark.parametrize("kind", FaultKind)
@pytest.mark.parametrize("tool", [READ, REPEAT, WRITE], ids=lambda tool: tool.name)
def test_a_kind_understood_from_prose_is_no_reason_to_repeat_or_replace(
    kind: FaultKind, tool: ListedTool
) -> None:
    said = Fault(kind, "x", origin="peer", layer="tool", kind_basis=KindBasis.PROSE)
    everything = frozenset(FaultKind) - NEVER_REPLACED
    assert not may_repeat(said, tool)
    assert Fallback(print, on=everything).covers(said, tool) == (kind is FaultKind.TOOL_FAILED)


@pytest.mark.parametrize("kind", FaultKind)
def test_where_the_effect_is_unknown_only_a_harmless_tool_is_replaced(kind: FaultKind) -> None:
    fallback = Fallback(print, on=frozenset(FaultKind) - NEVER_REPLACED)
    fault = Fault(kind, "x", outcome="unknown")
    assert not fallback.covers(fault, WRITE)
    assert fallback.covers(fault, REPEAT) == fallback.covers(fault, READ) == (kind not in NEVER_REPLACED)


SAID_AFTERWARDS = {"no_such_file": "not_found", "reset_by_peer": "unavailable"}


@pytest.mark.parametrize("said", SAID_AFTERWARDS)
@pytest.mark.anyio
async def test_an_effect_that_ended_in_words_is_not_repeated_by_another_way(
    tmp_path: Path, said: str
) -> None:
    made = tmp_path / "made"

    def act_again(_: Fault) -> str:
        made.write_text(made.read_text() + "x")
        return "done by the fallback"

    wide = Fallback(act_again, on=frozenset({FaultKind(SAID_AFTERWARDS[said])}))
    fault = await fault_of("acts_then_says", wide, arguments={"path": str(made), "said": said})
    assert (fault.kind, fault.kind_basis, fault.outcome) == (SAID_AFTERWARDS[said], "prose", "unknown")
    assert made.read_text() == "x"


ACTS = """#!/bin/sh
# @tool acts, then breaks its promise
# @output json{}
echo x >> "$PWD/made"
echo '{}'
"""
PROMISES = {
    "no_json": ("", "none"),
    "no_json_for_a_schema": (' {"type":"object"}', "none"),
    "other_json": (' {"type":"object"}', "5"),
}


@pytest.mark.parametrize("faults", ["native", "result"])
@pytest.mark.anyio
async def test_what_our_own_server_declares_after_a_tool_acted_leaves_its_effect_open(
    tmp_path: Path, faults: str
) -> None:
    for name, (schema, printed) in PROMISES.items():
        (tmp_path / name).write_text(ACTS.format(schema, printed))
        (tmp_path / name).chmod(0o755)
    serve = [sys.executable, "-m", "faultless", "serve", "toolbox", "--faults", faults]
    wide = Fallback(lambda _: "again", on=frozenset(FaultKind) - NEVER_REPLACED)
    async with Client([*serve, "--root", str(tmp_path), str(tmp_path)]) as client:
        for number, name in enumerate(PROMISES, start=1):
            with pytest.raises(Fault) as caught:
                await client.call(name, fallback=wide)
            assert (caught.value.kind_basis, caught.value.outcome) == ("declared", "unknown")
            assert (tmp_path / "made").read_text() == "x\n" * number


@pytest.mark.parametrize("empty", [None, "", "  ", [], {}, (), b""])
@pytest.mark.anyio
async def test_an_empty_answer_does_not_count(empty: object) -> None:
    fault = await fault_of("killed", lambda _: empty)
    assert (fault.kind, type(fault.second)) == ("crash", ValueError)
    reply = await call("killed", Fallback(lambda _: empty, allow_empty=True))
    assert (reply.value, reply.via) == (empty, "fallback")


@pytest.mark.parametrize("answer", [0, False, "x", [0]])
@pytest.mark.anyio
async def test_a_small_answer_counts(answer: object) -> None:
    assert (await call("killed", lambda _: answer)).value == answer


@pytest.mark.anyio
async def test_a_failing_fallback_raises_the_first_fault_with_the_second_attached() -> None:
    def fail(_: Fault) -> None:
        raise OSError("disk full")

    fault = await fault_of("killed", fail)
    assert fault.kind == "crash"
    assert isinstance(fault.second, OSError)
    assert fault.__cause__ is fault.second
    assert fault.__notes__ == ["the fallback failed too: OSError: disk full"]


@pytest.mark.anyio
async def test_a_fallback_has_a_deadline_too() -> None:
    async def hang(_: Fault) -> None:
        await anyio.sleep_forever()

    fault = await fault_of("killed", Fallback(hang, timeout=0.05))
    assert isinstance(fault.second, TimeoutError)
