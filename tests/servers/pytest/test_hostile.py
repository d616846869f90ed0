"""The hostile project: each case has its answer, and afterwards nothing is left behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from faultless.testing import WireClient
from tests.servers.pytest.conftest import (
    EXAMPLES,
    LIGHT,
    Answer,
    WireServer,
    begin_early,
    is_running_a_test,
    run_into_deadline,
    serving_command,
)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project, copied so that what a run leaves in its folder or in TMPDIR can be seen."""
    folder = tmp_path_factory.mktemp("hostile")
    shutil.copytree(EXAMPLES / "hostile", folder / "project", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "tmp").mkdir()
    return folder


@pytest.fixture(scope="module", params=["cold", pytest.param("early", marks=pytest.mark.heavy)])
def server(copy: Path, request: pytest.FixtureRequest) -> Iterator[WireServer]:
    """One server for all cases, both ways of starting: that it lives through them is part of the claim."""
    env = {
        **LIGHT,
        "TMPDIR": str(copy / "tmp"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "FAULTLESS_TEST_MARK": str(copy),
    }
    options = ["--no-early"] if request.param == "cold" else []
    with WireClient(serving_command(copy / "project", *options), env=env, deadline_seconds=180) as client:
        server = WireServer(client.open("handshake"))
        if request.param == "early":
            begin_early(server, node_ids=["test_many.py"], keywords="9999")
        yield server


@pytest.fixture(autouse=True)
def nothing_is_left_behind(server: WireServer, copy: Path) -> Iterator[None]:
    before = list_files(copy)
    yield
    assert list_files(copy) == before
    assert list_strays(server, copy) == []


def list_files(copy: Path) -> set[str]:
    return {str(path.relative_to(copy)) for path in copy.rglob("*")}


def list_strays(server: WireServer, copy: Path) -> list[str]:
    """Processes that carry our mark in their environment, but for the server and those that supervise for it.

    Below the server is its warden, below that supervisors, and below those at most the one run that has begun
    for the next call.
    """
    own = psutil.Process(server.client.process.pid)
    wardens = own.children()
    supervisors = [child for warden in wardens for child in warden.children()]
    begun = [child for each in supervisors for child in each.children() if is_run(child)]
    expected = {process.pid for process in (own, *wardens, *supervisors, *begun[:1])}
    strays = []
    for process in psutil.process_iter(["pid", "environ", "cmdline"]):
        environment = process.info["environ"] or {}
        if environment.get("FAULTLESS_TEST_MARK") == str(copy) and process.info["pid"] not in expected:
            strays.append(str(process.info["cmdline"]))
    return strays


def is_run(process: psutil.Process) -> bool:
    try:
        return process.cmdline()[1:3] == ["-m", "pytest"]
    except psutil.Error:
        return False


def fail(server: WireServer, *node_ids: str) -> Answer:
    return server.fail(node_ids=list(node_ids), timeout=60)


def hang(server: WireServer, node_id: str) -> Answer:
    return run_into_deadline(server, is_running_a_test, node_ids=[node_id])


def test_a_stray_process_would_be_seen(server: WireServer, copy: Path) -> None:
    env = {**os.environ, "FAULTLESS_TEST_MARK": str(copy)}
    stray = subprocess.Popen([sys.executable, "-c", "input()"], env=env, stdin=subprocess.PIPE)
    try:
        assert len(list_strays(server, copy)) == 1
    finally:
        stray.communicate(b"\n", timeout=60)


def test_a_syntax_error(server: WireServer) -> None:
    error = fail(server, "test_syntax_error.py")
    assert error["data"]["kind"] == "collection_error"
    (broken,) = error["data"]["collection_errors"]
    assert (broken["file"], broken["error_type"], broken["line"]) == (
        "test_syntax_error.py",
        "SyntaxError",
        4,
    )
    assert broken["traceback"].startswith('  File "test_syntax_error.py", line 4')


def test_an_import_error(server: WireServer) -> None:
    error = fail(server, "test_import_error.py")
    assert error["data"]["kind"] == "collection_error"
    assert error["data"]["collection_errors"][0]["line"] == 1


def test_an_infinite_loop(server: WireServer) -> None:
    error = hang(server, "test_infinite_loop.py")
    assert (
        " seconds while running test_infinite_loop.py::test_spins, at test_infinite_loop.py:"
        in error["message"]
    )
    assert " in spin. Hint: " in error["message"]
    assert error["data"]["summary"]["passed"] == 1


def test_an_infinite_loop_in_c_that_holds_the_lock(server: WireServer) -> None:
    error = hang(server, "test_infinite_c_loop.py")
    assert (
        " seconds while running test_infinite_c_loop.py::test_never_gives_the_lock_back, "
        "at test_infinite_c_loop.py:6 in test_never_gives_the_lock_back. Hint: "
    ) in error["message"]


def test_a_sleeping_fixture(server: WireServer) -> None:
    error = hang(server, "test_sleeping_fixture.py")
    assert "at test_sleeping_fixture.py:8 in sleepy. Hint: " in error["message"]


def test_leaving_without_a_word(server: WireServer) -> None:
    error = fail(server, "test_exit.py")
    assert error["message"].startswith(
        "pytest execution failed: pytest exited with unexpected code 7 "
        "while running test_exit.py::test_leaves_without_a_word. Hint: "
    )
    assert error["data"]["summary"]["passed"] == 1


@pytest.mark.parametrize("name", ["test_leaves_pretending_success", "test_asks_pytest_to_stop_with_success"])
def test_leaving_with_exit_code_0_is_never_green(server: WireServer, name: str) -> None:
    error = fail(server, f"test_exit.py::{name}", "test_exit.py::test_after")
    assert error["data"]["kind"] in {"crash", "interrupted"}
    assert error["data"]["exit_code"] == 0


def test_a_segmentation_fault(server: WireServer) -> None:
    error = fail(server, "test_segfault.py")
    assert error["message"].startswith(
        "pytest subprocess terminated with signal SIGSEGV "
        "while running test_segfault.py::test_reads_address_zero, at test_segfault.py:"
    )
    assert "Segmentation fault" in error["data"]["stderr"]


def test_killing_itself(server: WireServer) -> None:
    error = fail(server, "test_kill.py::test_kills_itself")
    assert error["message"].startswith(
        "pytest subprocess terminated with signal SIGKILL while running test_kill.py::test_kills_itself. Hint: "
    )


def test_killing_its_parent(server: WireServer) -> None:
    error = fail(server, "test_kill.py::test_kills_its_parent")
    assert error["data"]["kind"] == "crash"
    assert error["data"]["running"] == ["test_kill.py::test_kills_its_parent"]


def test_interrupting_itself(server: WireServer) -> None:
    assert fail(server, "test_kill.py::test_interrupts_itself")["data"]["kind"] == "interrupted"


def test_50_megabytes_of_output(server: WireServer) -> None:
    answer = server.run(node_ids=["test_flood.py::test_prints_50_megabytes_and_fails"])
    (row,) = answer["tests"]
    assert row["message"].startswith("AssertionError: after the flood")
    assert "characters left out]" in row["traceback"]
    assert len(str(answer)) < 10_000


def test_an_assertion_of_a_megabyte(server: WireServer) -> None:
    target = {"node_ids": ["test_flood.py::test_fails_with_a_megabyte"]}
    (row,) = server.run(**target)["tests"]
    assert row["message"] == "AssertionError: [left out: 1,000,029 characters]"
    assert row["traceback"].startswith("[left out: ")
    (whole,) = server.run(verbosity=2, **target)["tests"]
    assert "y" * 1_000_000 in whole["message"]


def test_bytes_that_are_no_text(server: WireServer) -> None:
    (row,) = server.run(node_ids=["test_flood.py::test_prints_bytes_that_are_no_text"])["tests"]
    assert "a lone \ufffd surrogate" in row["message"]
    assert "not text" in row["traceback"]


def test_a_daemon_that_holds_every_descriptor(server: WireServer) -> None:
    answer = server.run(node_ids=["test_children.py::test_leaves_a_daemon_that_holds_every_descriptor"])
    assert answer["summary"]["passed"] == 1
    assert answer["hint"] == "1 processes outlived the run and were ended"


def test_200_children_left_alone(server: WireServer) -> None:
    answer = server.run(node_ids=["test_children.py::test_leaves_200_children"])
    assert answer["summary"]["passed"] == 1
    assert answer["hint"] == "200 processes outlived the run and were ended"


def test_a_fork_that_goes_on_as_if_it_were_pytest(server: WireServer) -> None:
    name = "test_children.py::test_forks_and_the_child_goes_on_as_if_it_were_pytest"
    answer = server.run(node_ids=[name, "test_exit.py::test_after"], verbosity=1)
    assert [test["outcome"] for test in answer["tests"]] == ["passed", "passed"]


@pytest.mark.parametrize(
    "name", ["test_replaces_what_reporters_use", "test_goes_elsewhere", "test_closes_stdout_for_good"]
)
def test_meddling_with_the_process(server: WireServer, name: str) -> None:
    answer = server.run(
        node_ids=[f"test_environment.py::{name}", "test_environment.py::test_after"], verbosity=1
    )
    assert [test["node_id"].split("::")[1] for test in answer["tests"]] == [name, "test_after"]


def test_closing_every_descriptor(server: WireServer) -> None:
    """The capture of pytest breaks by it, and that is what must be told."""
    answer = server.run(
        node_ids=["test_environment.py::test_closes_every_descriptor", "test_environment.py::test_after"]
    )
    assert answer["summary"]["errors"] == 2
    assert "Bad file descriptor" in answer["tests"][0]["message"]


def test_a_recursive_fixture(server: WireServer) -> None:
    (row,) = server.run(node_ids=["test_recursive_fixture.py"])["tests"]
    assert row["outcome"] == "error"
    assert "recursive dependency" in row["message"]


def test_10_000_parametrised_tests(server: WireServer) -> None:
    answer = server.run(node_ids=["test_many.py"], timeout=150)
    assert answer["summary"]["passed"] == 10_000
    assert answer["summary"]["failed"] == 200
    assert len(answer["tests"]) == 1
    assert answer["tests"][0]["same_cause"]["count"] == 199
