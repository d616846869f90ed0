"""`faultless call` against a real server process: what is printed, and the exit status."""

import json
import os
import pty
import select
import shlex
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.cli.command import COMMAND, DEADLINE_SECONDS, SERVER, environment, faultless
from tests.client.hostile import command as hostile


def test_a_verdict_is_readable_and_exits_0() -> None:
    finished = faultless("call", SERVER, "add_up", "count=3", "names=a,b", "loud=yes", 'extra={"x": [1]}')
    assert (finished.returncode, finished.stderr) == (0, "")
    title, *body = finished.stdout.splitlines()
    assert title.startswith("verdict: add_up, ")
    assert body[:4] == ["received:", "  count: 3", "  ratio: 1.0", "  loud: true"]
    assert "\x1b" not in finished.stdout
    assert not any(line.endswith(" ") for line in body)


def test_bad_news_exits_1_and_is_shown_as_the_server_wants_without_terminal_commands() -> None:
    finished = faultless("call", SERVER, "judge_work", "good=false")
    assert finished.returncode == 1
    assert finished.stdout.splitlines()[1:] == ["because: late, red  ink"]


def test_a_fault_exits_2_with_kind_message_next_move_and_details() -> None:
    finished = faultless("call", SERVER, "break_down", "how=friend")
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr.splitlines() == [
        "fault: rate_limited",
        "  slow down, friend",
        "  next: wait a little",
        "  retry: later, after 2.5 s",
        "  details:",
        "    quota:",
        "      left: 0",
        "    log:",
        "      line one",
        "      line two",
    ]


def test_raw_is_the_response_as_it_came() -> None:
    verdict = faultless("call", SERVER, "judge_work", "--raw", "--json", '{"good": false}')
    assert verdict.returncode == 1
    assert json.loads(verdict.stdout)["result"]["structuredContent"]["good"] is False
    fault = faultless("call", SERVER, "break_down", "how=x", "--raw")
    assert fault.returncode == 2
    assert json.loads(fault.stdout)["error"]["data"]["kind"] == "rate_limited"


def test_a_fault_of_our_own_is_raw_in_the_same_shape() -> None:
    finished = faultless("call", SERVER, "add_up", "cuont=3", "--raw")
    assert finished.returncode == 2
    error = json.loads(finished.stdout)["error"]
    assert (error["code"], error["data"]["kind"], error["data"]["hint"]) == (
        -32602,
        "invalid_params",
        "did you mean count?",
    )


def test_an_unknown_tool_is_the_servers_answer_with_the_nearest_name() -> None:
    finished = faultless("call", SERVER, "ad_up", "count=3")
    assert finished.returncode == 2
    assert "fault: unknown_tool" in finished.stderr
    assert "add_up" in finished.stderr


def test_a_server_that_dies_during_a_call_is_an_unknown_outcome() -> None:
    finished = faultless("call", SERVER, "break_down", "how=die")
    assert finished.returncode == 2
    assert "fault: outcome_unknown" in finished.stderr
    assert (
        "break_down may or may not have taken effect: the server was gone: exited with status 7"
        in finished.stderr
    )


def test_a_server_that_writes_garbage_is_told_with_what_it_wrote() -> None:
    finished = faultless("call", SERVER, "break_down", "how=garbage")
    assert finished.returncode == 2
    assert "fault: parse_error" in finished.stderr
    assert "no message: 'this is no message'" in finished.stderr


def test_a_server_that_cannot_start_is_unavailable_and_its_own_words_are_shown() -> None:
    finished = faultless("call", SERVER, "add_up", "--broken")
    assert finished.returncode == 2
    assert "the engine is not there" in finished.stderr
    assert "fault: unavailable" in finished.stderr


def test_a_bug_in_a_tool_is_internal_and_its_traceback_is_in_the_log_only() -> None:
    finished = faultless("call", SERVER, "break_down", "how=bug")
    assert finished.returncode == 2
    *logged, told = finished.stderr.partition("fault: internal")
    assert "a bug with a secret" not in told
    assert json.loads(logged[0].strip())["attributes"]["error_id"] in told


def test_a_server_that_could_not_start_is_told_with_its_reason_and_its_advice(tmp_path: Path) -> None:
    finished = faultless("call", "toolbox", "--tools", "nowhere", "hello", cwd=tmp_path)
    assert finished.returncode == 2
    told = finished.stdout + finished.stderr
    assert "the server was gone: exited with status 2: there is no folder nowhere" in told
    assert "next: create it, or name another: serve toolbox DIR" in told


def test_options_of_the_server_are_passed_on(tmp_path: Path) -> None:
    options = (
        "--root",
        str(tmp_path),
        "--engine=x y",
        "--tag",
        "1",
        "--tag=2",
        "--strict",
        "--timeout",
        "100",
    )
    finished = faultless("call", *options, SERVER, "show_options", "--raw")
    received = json.loads(finished.stdout)["result"]["structuredContent"]["received"]
    assert received["root"] == str(tmp_path.resolve())
    assert (received["engine"], received["tag"], received["strict"]) == ("x y", ["1", "2"], True)
    assert received["timeout"] == 100, "a flag means to `call` what it means to `serve`"


def test_a_call_that_takes_too_long_is_cancelled(tmp_path: Path) -> None:
    pid_file = f"pid_file={tmp_path / 'pid'}"
    finished = faultless("call", SERVER, "wait_forever", pid_file, "--cancel-after", "5")
    assert finished.returncode == 2
    assert "fault: timeout" in finished.stderr
    assert "no answer within 5 s" in finished.stderr


@pytest.mark.parametrize("seconds", ["nan", "inf", "-1"])
def test_a_time_that_cannot_pass_is_refused_at_its_option(seconds: str) -> None:
    finished = faultless("call", "--command", "no-such-server", "--timeout", seconds, "hello")
    assert finished.returncode == 2
    assert "Invalid value for '--cancel-after' / '--timeout'" in finished.stderr


@contextmanager
def waiting_call(tmp_path: Path, stderr: int) -> Iterator[tuple[subprocess.Popen[bytes], psutil.Process]]:
    """A call whose tool is running and never answers, and the server process."""
    told = tmp_path / "pid"
    os.mkfifo(told)
    reader = os.open(told, os.O_RDONLY | os.O_NONBLOCK)
    with subprocess.Popen(
        [*COMMAND, "call", SERVER, "wait_forever", f"pid_file={told}"],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=stderr,
    ) as child:
        try:
            ready, _, _ = select.select([reader], [], [], DEADLINE_SECONDS)
            assert ready, "the tool was never called"
            yield child, psutil.Process(int(os.read(reader, 100)))
        finally:
            os.close(reader)
            child.kill()


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)]
)
def test_a_call_stopped_by_a_signal_leaves_no_process(
    tmp_path: Path, number: signal.Signals, status: int
) -> None:
    with waiting_call(tmp_path, subprocess.PIPE) as (child, server):
        child.send_signal(number)
        out, err = child.communicate(timeout=DEADLINE_SECONDS)
        assert (child.returncode, out) == (status, b"")
        assert number == signal.SIGKILL or err == b""
        server.wait(DEADLINE_SECONDS)


def read_terminal(master: int, until: bytes) -> bytes:
    seen = b""
    while until not in seen and select.select([master], [], [], DEADLINE_SECONDS)[0]:
        try:
            seen += os.read(master, 65536)
        except OSError:
            break
    return seen


def test_a_person_who_waits_sees_progress(tmp_path: Path) -> None:
    master, slave = pty.openpty()
    with waiting_call(tmp_path, slave) as (child, _):
        os.close(slave)
        seen = read_terminal(master, b"warming up")
        child.send_signal(signal.SIGINT)
        read_terminal(master, b"nothing comes any more")
        child.wait(DEADLINE_SECONDS)
    os.close(master)
    assert b"wait_forever: warming up" in seen


def colours_in_terminal(extra: dict[str, str]) -> bool:
    master, slave = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, "call", SERVER, "judge_work", "good=true"],
        env=environment({"TERM": "xterm", **extra}),
        stdout=slave,
        stderr=subprocess.DEVNULL,
    ) as child:
        os.close(slave)
        seen = read_terminal(master, b"all is well")
        child.wait(DEADLINE_SECONDS)
    os.close(master)
    assert b"all is well" in seen
    return b"\x1b[1;32m" in seen


def test_colours_are_for_terminals_unless_told_otherwise() -> None:
    assert colours_in_terminal({})
    assert not colours_in_terminal({"NO_COLOR": "1"})
    forced = faultless("call", SERVER, "judge_work", "good=true", env={"FORCE_COLOR": "1"})
    assert "\x1b[1;32m" in forced.stdout


def any_server(start: str = "") -> str:
    return shlex.join(hostile(start=start))


def test_anybodys_server_is_called_and_the_answer_says_how_it_was_recognised() -> None:
    finished = faultless("call", "--command", any_server(), "error_with_code")
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr.splitlines() == [
        "fault: not_found",
        "  there is no note a.md",
        "  retry: after fixing",
        "  details:",
        "    path: a.md",
        "recognised:",
        "  shape: dialect",
        "  certainty: declared",
        "  told by: peer",
        "  layer: tool",
        "  effect: not_done",
    ]


def test_a_suspicion_is_shown_beside_the_verdict() -> None:
    finished = faultless("call", f"--command={any_server()}", "emoji")
    assert finished.returncode == 0
    assert finished.stdout.splitlines()[1:] == ["❌ edit failed"]
    assert "  suspected of: tool_failed: ❌ edit failed" in finished.stderr.splitlines()


def test_words_are_typed_by_a_strangers_schema_and_its_noise_harms_nothing() -> None:
    finished = faultless("call", "--raw", "--command", any_server("banner"), "echo", "text=5")
    assert finished.returncode == 0
    assert json.loads(finished.stdout)["result"]["structuredContent"] == {"text": "5"}


def test_a_strangers_tools_are_listed() -> None:
    finished = faultless("tools", "--command", any_server(), "--raw")
    assert "echo" in [tool["name"] for tool in json.loads(finished.stdout)]


@pytest.mark.parametrize("command", ["", "'unclosed"])
def test_a_command_that_is_none_is_refused(command: str) -> None:
    finished = faultless("call", "--command", command, "echo")
    assert finished.returncode == 2
    assert "Invalid value for '--command'" in finished.stderr
