"""Runs of one project wait for each other, in one server and across servers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest

from faultless.contract import Fault, FaultKind
from faultless.servers.pytest.turns import Turns
from tests.waiting import until

pytestmark = pytest.mark.anyio
Tell = Callable[[str], Awaitable[None]]


@pytest.fixture(autouse=True)
def state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("FAULTLESS_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


def make_turns(root: Path, concurrent: int = 1, patience: float = 60.0) -> Turns:
    return Turns(root, concurrent=concurrent, longest_wait_seconds=patience)


def keep(heard: list[str]) -> Tell:
    async def tell(text: str) -> None:
        heard.append(text)

    return tell


@pytest.mark.parametrize("is_same_server", [True, False])
async def test_a_run_waits_for_the_one_before_and_says_so(tmp_path: Path, is_same_server: bool) -> None:
    first = make_turns(tmp_path)
    second = first if is_same_server else make_turns(tmp_path)
    heard: list[str] = []
    order: list[str] = []

    async def run_second() -> None:
        async with second.take(keep(heard)):
            order.append("second")

    async with anyio.create_task_group() as tasks, first.take(keep([])):
        tasks.start_soon(run_second)
        await until(lambda: heard)
        order.append("first")
    assert order == ["first", "second"]
    assert heard[0] == "waiting: another run of this project is under way"


async def test_other_projects_do_not_wait(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    async with make_turns(tmp_path / "one").take(keep([])), make_turns(tmp_path / "two").take(keep([])):
        pass


async def test_as_many_run_at_once_as_was_said_each_in_its_own_place(tmp_path: Path) -> None:
    turns = make_turns(tmp_path, concurrent=2)
    async with turns.take(keep([])) as one, turns.take(keep([])) as two:
        assert {one, two} == {0, 1}


async def test_who_waits_too_long_is_told_to_come_again(tmp_path: Path) -> None:
    async with make_turns(tmp_path).take(keep([])):
        with pytest.raises(Fault) as refused:
            async with make_turns(tmp_path, patience=0.1).take(keep([])):
                pass
    assert refused.value.kind is FaultKind.RATE_LIMITED
    assert refused.value.retry_after_seconds


async def test_a_queue_that_is_too_long_is_refused_at_once(tmp_path: Path) -> None:
    turns, heard = make_turns(tmp_path), list[str]()
    refused: list[Fault] = []

    async def wait_in_line() -> None:
        try:
            async with turns.take(keep(heard)):
                pass
        except Fault as fault:
            refused.append(fault)

    async with anyio.create_task_group() as tasks, turns.take(keep([])):
        for _ in range(12):
            tasks.start_soon(wait_in_line)
        await until(lambda: refused)
    assert {fault.kind for fault in refused} == {FaultKind.RATE_LIMITED}
    assert len(refused) == 4


async def test_a_state_folder_that_cannot_be_used_keeps_nobody_from_testing(
    tmp_path: Path, state: Path
) -> None:
    await anyio.Path(state).write_text("a file")
    async with make_turns(tmp_path).take(keep([])) as place:
        assert place == 0
