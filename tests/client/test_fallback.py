"""When another way is taken, when it never is, and what counts as having arrived."""

from typing import Any

import anyio
import pytest

from faultless.client import Client, Fallback, RetryPolicy
from faultless.client.fallback import NEVER
from faultless.contract import Fault, FaultKind
from tests.client.hostile import command

pytestmark = pytest.mark.anyio
ONCE = RetryPolicy(attempts=1)


async def call(tool: str, fallback: object, **options: Any) -> Any:  # noqa: ANN401 - those of call
    async with Client(command(), retry=ONCE) as client:
        return await client.call(tool, fallback=fallback, **options)  # type: ignore[arg-type]  # as above


async def fault_of(tool: str, fallback: object, **options: Any) -> Fault:  # noqa: ANN401 - those of call
    with pytest.raises(Fault) as caught:
        await call(tool, fallback, **options)
    return caught.value


async def test_a_lost_server_is_replaced_and_the_reply_says_so() -> None:
    reply = await call("killed", lambda fault: f"cached, because of {fault.kind}")
    assert (reply.value, reply.via) == ("cached, because of crash", "fallback")
    assert reply.fault is not None
    assert reply.fault.kind == "crash"


async def test_a_server_that_will_not_start_is_replaced_too() -> None:
    async def recall(_: Fault) -> dict[str, int]:
        await anyio.lowlevel.checkpoint()
        return {"n": 1}

    async with Client(["no-such-program-anywhere"]) as client:
        reply = await client.call("anything", fallback=recall)
    assert (reply.value, reply.via, reply.attempts) == ({"n": 1}, "fallback", 1)


@pytest.mark.parametrize("tool", ["flagged_success_false", "error_alone", "rpc_error", "rate_limited"])
async def test_a_refusal_is_not_walked_round(tool: str) -> None:
    used: list[Fault] = []
    fault = await fault_of(tool, used.append)
    assert used == []
    assert fault.second is None


async def test_a_call_that_may_have_had_its_effect_is_not_made_by_another_way() -> None:
    used: list[Fault] = []
    assert (await fault_of("write_killed", used.append)).kind == "outcome_unknown"
    assert used == []


async def test_the_caller_may_widen_it_by_kind() -> None:
    reply = await call("rpc_error", Fallback(lambda _: "other", on=frozenset({FaultKind.UPSTREAM_ERROR})))
    assert reply.via == "fallback"


@pytest.mark.parametrize("kind", sorted(NEVER))
def test_some_kinds_can_never_be_added(kind: FaultKind) -> None:
    with pytest.raises(ValueError, match="never stands in for"):
        Fallback(print, on=frozenset({kind}))


@pytest.mark.parametrize("kind", FaultKind)
@pytest.mark.parametrize("layer", ["transport", "protocol", "tool", "payload"])
def test_it_covers_lost_servers_and_nothing_else(kind: FaultKind, layer: Any) -> None:  # noqa: ANN401 - a literal
    lost = kind == "unavailable" or (layer == "transport" and kind in {"crash", "timeout"})
    assert Fallback(print).covers(Fault(kind, "x", layer=layer)) == lost


@pytest.mark.parametrize("empty", [None, "", "  ", [], {}, (), b""])
async def test_an_empty_answer_is_none(empty: object) -> None:
    fault = await fault_of("killed", lambda _: empty)
    assert (fault.kind, type(fault.second)) == ("crash", ValueError)
    reply = await call("killed", Fallback(lambda _: empty, allow_empty=True))
    assert (reply.value, reply.via) == (empty, "fallback")


@pytest.mark.parametrize("answer", [0, False, "x", [0]])
async def test_a_small_answer_is_one(answer: object) -> None:
    assert (await call("killed", lambda _: answer)).value == answer


async def test_a_failing_fallback_raises_the_first_fault_with_the_second_attached() -> None:
    def fail(_: Fault) -> None:
        raise OSError("disk full")

    fault = await fault_of("killed", fail)
    assert fault.kind == "crash"
    assert isinstance(fault.second, OSError)
    assert fault.__cause__ is fault.second
    assert fault.__notes__ == ["the fallback failed too: OSError: disk full"]


async def test_a_fallback_has_a_deadline_too() -> None:
    async def hang(_: Fault) -> None:
        await anyio.sleep_forever()

    fault = await fault_of("killed", Fallback(hang, timeout=0.05))
    assert isinstance(fault.second, TimeoutError)
