"""Runs of one project wait for each other, in one server and across servers."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import pytest
from anyio.from_thread import BlockingPortal

from faultless.contract import Fault, FaultKind
from faultless.servers.pytest.execution import Project
from faultless.servers.pytest.interpreter import Surroundings
from faultless.servers.pytest.settings import Settings
from faultless.servers.pytest.turns import Turns
from tests.servers.pytest.conftest import LIGHT, MemoryServer, WriteProject
from tests.waiting import until

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


@pytest.mark.anyio
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


@pytest.mark.anyio
async def test_other_projects_do_not_wait(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    async with make_turns(tmp_path / "one").take(keep([])), make_turns(tmp_path / "two").take(keep([])):
        pass


@pytest.mark.anyio
async def test_as_many_run_at_once_as_was_said_each_in_its_own_place(tmp_path: Path) -> None:
    turns = make_turns(tmp_path, concurrent=2)
    async with turns.take(keep([])) as one, turns.take(keep([])) as two:
        assert {one, two} == {0, 1}


@pytest.mark.anyio
async def test_who_waits_too_long_is_told_to_come_again(tmp_path: Path) -> None:
    async with make_turns(tmp_path).take(keep([])):
        with pytest.raises(Fault) as refused:
            async with make_turns(tmp_path, patience=0.1).take(keep([])):
                pass
    assert refused.value.kind is FaultKind.RATE_LIMITED
    assert refused.value.retry_after_seconds


@pytest.mark.anyio
@pytest.mark.parametrize("concurrent", [1, 3])
async def test_of_a_burst_as_many_run_as_may_and_eight_wait(tmp_path: Path, concurrent: int) -> None:
    turns, heard = make_turns(tmp_path, concurrent), list[str]()
    refused: list[Fault] = []
    running: list[int] = []
    is_over = anyio.Event()

    async def ask() -> None:
        try:
            async with turns.take(keep(heard)) as place:
                running.append(place)
                await is_over.wait()
        except Fault as fault:
            refused.append(fault)

    async with anyio.create_task_group() as tasks:
        for _ in range(concurrent + 8 + 2):
            tasks.start_soon(ask)
        await until(lambda: refused and heard)
        assert sorted(running) == list(range(concurrent))
        assert len(refused) == 2
        is_over.set()
    assert len(running) == concurrent + 8
    assert {fault.kind for fault in refused} == {FaultKind.RATE_LIMITED}
    assert "8 others are waiting already" in refused[0].message


@pytest.mark.anyio
async def test_a_state_folder_that_cannot_be_used_keeps_nobody_from_testing(
    tmp_path: Path, state: Path
) -> None:
    await anyio.Path(state).write_text("a file")
    async with make_turns(tmp_path).take(keep([])) as place:
        assert place == 0


MEETING = """
import os, pathlib, time
def test_meets(request):
    pathlib.Path(f"here-{os.getpid()}").touch()
    ends = time.monotonic() + 60
    while len(list(pathlib.Path().glob("here-*"))) < 2:
        assert time.monotonic() < ends, "alone"
        time.sleep(0.01)
    print("COVERAGE_FILE", os.environ["COVERAGE_FILE"])
    print("cache_dir", request.config.cache.mkdir("x"))
    assert 0
"""


def test_runs_beside_each_other_have_a_cache_and_a_coverage_file_each_and_the_answer_says_so(
    write_project: WriteProject, portal: BlockingPortal
) -> None:
    root = write_project({"pytest.ini": "[pytest]", "test_it.py": MEETING})
    settings = Settings(root=root, python=Path(sys.executable), concurrent=2, no_early=True)
    server = MemoryServer(Project(settings, Surroundings(LIGHT, None)), portal)
    with ThreadPoolExecutor() as pool:
        calls = [pool.submit(server.call, "execute_tests", {"show_capture": True}) for _ in range(2)]
        answers = [call.result()["result"] for call in calls]
    told = [answer["_meta"]["faultless/apart"] for answer in answers]
    assert {each["cache_dir"] for each in told} == {".pytest_cache/place-0", ".pytest_cache/place-1"}
    for answer, apart in zip(answers, told, strict=True):
        row = str(answer["structuredContent"]["tests"])
        assert f"COVERAGE_FILE {root / apart['COVERAGE_FILE']}" in row
        assert f"cache_dir {root / apart['cache_dir']}" in row


def test_last_failed_beside_other_runs_says_what_it_does_not_know(
    write_project: WriteProject, portal: BlockingPortal
) -> None:
    root = write_project({"pytest.ini": "[pytest]", "test_it.py": "def test_it(): pass"})
    settings = Settings(root=root, python=Path(sys.executable), concurrent=2, no_early=True)
    server = MemoryServer(Project(settings, Surroundings(LIGHT, None)), portal)
    assert (
        "last_failed knows only the runs that had the same cache_dir" in server.run(last_failed=True)["hint"]
    )
