"""How many calls run at once, how many wait, and what the rest are told."""

import anyio
import pytest

from faultless.contract import Fault, FaultKind
from faultless.kit.admission import Admission

pytestmark = pytest.mark.anyio
DEADLINE_SECONDS = 30


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Calls:
    """Calls that stay inside until they are let go."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        self.running: list[str] = []
        self.ended: list[str] = []
        self.doors: dict[str, anyio.Event] = {}

    async def make(self, name: str) -> None:
        self.doors[name] = anyio.Event()
        async with self._admission.slot(name):
            self.running.append(name)
            await self.doors[name].wait()
        self.ended.append(name)


async def test_calls_run_at_once_then_wait_in_order_and_the_rest_are_refused() -> None:
    calls = Calls(Admission(concurrent=2, waiting=1))
    with anyio.fail_after(DEADLINE_SECONDS):
        async with anyio.create_task_group() as tasks:
            for name in ("a", "b", "c"):
                tasks.start_soon(calls.make, name)
            await anyio.wait_all_tasks_blocked()
            assert calls.running == ["a", "b"]

            with pytest.raises(Fault) as refused:
                await calls.make("d")
            assert refused.value.kind is FaultKind.RATE_LIMITED
            assert refused.value.details == {"running": 2, "waiting": 1}
            assert refused.value.retry_after_seconds

            calls.doors["b"].set()
            await anyio.wait_all_tasks_blocked()
            assert (calls.running, calls.ended) == (["a", "b", "c"], ["b"])
            for door in calls.doors.values():
                door.set()
    assert sorted(calls.ended) == ["a", "b", "c"]


async def test_a_call_that_was_cancelled_while_it_waited_leaves_its_place_to_another() -> None:
    calls = Calls(Admission(concurrent=1, waiting=1))
    with anyio.fail_after(DEADLINE_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(calls.make, "a")
            await anyio.wait_all_tasks_blocked()
            with anyio.CancelScope() as impatient:
                impatient.cancel()
                await calls.make("b")
            tasks.start_soon(calls.make, "c")
            await anyio.wait_all_tasks_blocked()
            assert calls.running == ["a"]

            calls.doors["a"].set()
            calls.doors["c"].set()
    assert calls.ended == ["a", "c"]


async def test_a_failed_call_gives_its_place_back() -> None:
    admission = Admission(concurrent=1, waiting=0)
    with anyio.fail_after(DEADLINE_SECONDS):
        with pytest.raises(ZeroDivisionError):
            async with admission.slot("a"):
                raise ZeroDivisionError
        async with admission.slot("b"):
            with pytest.raises(Fault):
                async with admission.slot("c"):
                    pass
