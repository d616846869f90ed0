"""How a command ended: exit codes, signals, deadlines, streams."""

from __future__ import annotations

import math
import signal
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from faultless import process
from faultless.contract import Fault, FaultKind

Execute = Callable[..., process.Finished]


def test_exit_code_and_both_streams_come_back(execute: Execute) -> None:
    done = execute("sh", "-c", "echo out; echo err >&2; exit 3")
    assert (done.exit_code, done.signal, done.timed_out) == (3, None, False)
    assert (done.stdout.text, done.stderr.text) == ("out\n", "err\n")
    assert (done.leftovers, done.survivors) == (0, 0)


def test_stderr_is_kept_when_the_exit_code_is_0(execute: Execute) -> None:
    done = execute("sh", "-c", "echo 'disk failing' >&2")
    assert (done.exit_code, done.stderr.text) == (0, "disk failing\n")


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGKILL", "SIGPIPE", "SIGINT", "SIGCHLD"])
def test_a_fatal_signal_is_named_and_signals_have_their_default_effect(execute: Execute, name: str) -> None:
    done = execute("sh", "-c", f"kill -{name[3:]} $$")
    expected = (0, None) if name == "SIGCHLD" else (None, name)
    assert (done.exit_code, done.signal) == expected


def test_a_real_time_signal_has_a_name_too(execute: Execute) -> None:
    done = execute("sh", "-c", f"kill -{signal.SIGRTMIN + 3} $$")
    assert done.signal == "SIGRTMIN+3"


def test_invalid_utf8_is_replaced(execute: Execute) -> None:
    done = execute("printf", r"a\377b\303")
    assert done.stdout.text == "a\ufffdb\ufffd"


def test_the_environment_is_the_given_one_and_nothing_else(execute: Execute) -> None:
    done = execute("/usr/bin/env", env={"ONLY": "this", "ODD": "\udcff"})
    assert sorted(done.stdout.text.split()) == ["ODD=\ufffd", "ONLY=this"]


def test_a_relative_folder_is_the_servers(
    execute: Execute, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path)
    assert execute("pwd", cwd=Path("inner")).stdout.text == f"{tmp_path}/inner\n"


def test_a_program_is_looked_up_on_the_given_path(execute: Execute, tmp_path: Path) -> None:
    for folder, text in (("first", "not this"), ("second", "#!/bin/sh\necho found")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "tool").write_text(text)
    (tmp_path / "second" / "tool").chmod(0o755)
    done = execute("tool", env={"PATH": "nowhere:first:second"})
    assert done.stdout.text == "found\n"


def test_stdin_larger_than_any_pipe_arrives_whole(execute: Execute) -> None:
    done = execute("wc", "-c", stdin=b"x" * 3_000_000)
    assert done.stdout.text.strip() == "3000000"


def test_stdin_that_nobody_reads_does_not_hold_up_the_answer(execute: Execute) -> None:
    done = execute("sh", "-c", "exit 5", stdin=b"x" * 3_000_000)
    assert done.exit_code == 5


def test_stdin_that_nobody_reads_does_not_hold_up_the_deadline(execute: Execute) -> None:
    done = execute("sleep", "600", stdin=b"x" * 3_000_000, deadline_seconds=0.3)
    assert done.timed_out


def test_a_command_that_reads_stdin_for_ever_meets_its_end(execute: Execute) -> None:
    assert execute("cat").exit_code == 0


def test_a_command_may_close_its_streams_and_live_on(execute_python: Execute) -> None:
    code = "import os; os.close(1); os.close(2); os.read(0, 1); os._exit(7)"
    done = execute_python(code, stdin=b"go on")
    assert (done.exit_code, done.leftovers) == (7, 0)


def test_no_other_descriptor_is_open_in_the_command(execute: Execute) -> None:
    done = execute("sh", "-c", "ls /proc/$$/fd")
    assert done.stdout.text.split() == ["0", "1", "2"]


def test_a_deadline_keeps_the_partial_output(execute: Execute) -> None:
    done = execute("sh", "-c", "echo before; exec sleep 600", deadline_seconds=0.5)
    assert (done.timed_out, done.exit_code, done.signal) == (True, None, "SIGTERM")
    assert done.stdout.text == "before\n"
    assert 0.5 <= done.duration_seconds < 60


def test_sigterm_gives_the_command_its_chance(execute: Execute) -> None:
    script = "trap 'echo cleaned up; exit 9' TERM; echo ready; while :; do sleep 600 & wait; done"
    done = execute("sh", "-c", script, deadline_seconds=1, grace_seconds=30)
    assert (done.timed_out, done.exit_code) == (True, 9)
    assert done.stdout.text == "ready\ncleaned up\n"


def test_a_command_that_ignores_sigterm_is_killed_after_the_grace(execute: Execute) -> None:
    script = "trap '' TERM; exec sleep 600"
    done = execute("sh", "-c", script, deadline_seconds=0.5, grace_seconds=0.3)
    assert (done.timed_out, done.signal) == (True, "SIGKILL")
    assert done.duration_seconds >= 0.8


def test_a_stopped_command_gets_sigterm_all_the_same(execute: Execute) -> None:
    script = "trap 'echo cleaned up; exit 9' TERM; kill -STOP $$"
    done = execute("sh", "-c", script, deadline_seconds=0.5, grace_seconds=30)
    assert (done.timed_out, done.exit_code, done.stdout.text) == (True, 9, "cleaned up\n")


def test_runs_do_not_wait_for_each_other(
    wait: Callable[..., None], spec: Callable[..., process.Spec]
) -> None:
    """Each needs the other: if one blocked the event loop, both would meet their deadline."""
    results: dict[str, process.Finished] = {}

    async def run(name: str, script: str) -> None:
        results[name] = await process.run(spec("sh", "-c", script))

    async def both() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run, "left", "echo left >to-right; cat to-left")
            tasks.start_soon(run, "right", "cat to-right; echo right >to-left")

    wait(lambda: process.run(spec("mkfifo", "to-left", "to-right")))
    wait(both)
    assert {name: done.stdout.text for name, done in results.items()} == {
        "left": "right\n",
        "right": "left\n",
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"command": ()},
        {"command": ("",)},
        {"deadline_seconds": 0},
        {"deadline_seconds": math.nan},
        {"deadline_seconds": math.inf},
        {"grace_seconds": -1},
        {"capture_bytes": -1},
        {"report_line_bytes": 0},
        {"pass_fds": (2,)},
        {"pass_fds": (5, 5)},
        {"pass_fds": tuple(range(3, 300))},
    ],
)
def test_limits_that_mean_nothing_are_refused_at_once(wrong: dict[str, object]) -> None:
    options = {"command": ("true",), "cwd": Path(), "deadline_seconds": 1} | wrong
    with pytest.raises(ValueError, match=r"\w+"):
        process.Spec(**options)  # type: ignore[arg-type]  # that is the point


@pytest.mark.parametrize(
    "impossible",
    [
        {"command": ("echo", "a\0b")},
        {"command": ("echo", "\ud800")},
        {"cwd": Path("a\0b")},
        {"env": {"A": "\0"}},
        {"env": {"A=B": "c"}},
        {"env": {"": "c"}},
    ],
)
def test_what_the_kernel_cannot_be_asked_is_an_invalid_parameter(
    wait: Callable[..., None], spec: Callable[..., process.Spec], impossible: dict[str, object]
) -> None:
    options = {"command": ("true",), "cwd": Path(), "deadline_seconds": 1} | impossible
    with pytest.raises(Fault) as caught:
        wait(lambda: process.run(process.Spec(**options)))  # type: ignore[arg-type]  # that is the point
    assert caught.value.kind is FaultKind.INVALID_PARAMS
