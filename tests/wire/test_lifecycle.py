"""How a session runs and ends: progress, cancellation, end of input, signals, a client that is slow or gone."""

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from faultless.testing import DEADLINE_SECONDS, ERAS, INITIALIZE, MODERN_META, Era
from tests.wire.specimen import StartServer, specimen_command

FULL = Path("/dev/full")
CALL_WAIT = {"name": "wait", "arguments": {}}


def frames(era: Era, *calls: dict[str, Any]) -> bytes:
    """A whole conversation, as it would be piped in."""
    opening = [
        {"jsonrpc": "2.0", "id": "open", "method": "initialize", "params": INITIALIZE},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
    ]
    meta = {"_meta": MODERN_META} if era == "modern" else {}
    requests = [
        {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {**call, **meta}}
        for number, call in enumerate(calls)
    ]
    messages = requests if era == "modern" else [*opening, *requests]
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def run_piped(conversation: bytes) -> list[dict[str, Any]]:
    finished = subprocess.run(
        specimen_command(), input=conversation, capture_output=True, timeout=DEADLINE_SECONDS, check=True
    )
    return [json.loads(line) for line in finished.stdout.splitlines()]


@pytest.mark.parametrize("era", ERAS)
def test_everything_piped_in_is_answered_before_the_end(era: Era) -> None:
    calls = [{"name": "soon", "arguments": {"count": 200 - 20 * number}} for number in range(10)]
    for _ in range(2):
        answers = run_piped(frames(era, *calls))
        assert {answer["id"] for answer in answers} >= set(range(10))


@pytest.mark.heavy
@pytest.mark.parametrize("era", ERAS)
def test_everything_piped_in_is_answered_in_twenty_runs_of_twenty(era: Era) -> None:
    calls = [{"name": "soon", "arguments": {"count": number}} for number in range(20)]
    for _ in range(20):
        assert {answer["id"] for answer in run_piped(frames(era, *calls))} >= set(range(20))


def test_a_last_line_without_a_newline_is_answered() -> None:
    answers = run_piped(frames("modern", {"name": "echo", "arguments": {"text": "hi"}}).rstrip(b"\n"))
    assert answers[0]["result"]["structuredContent"] == {"text": "hi"}


def test_no_input_at_all_ends_quietly() -> None:
    assert run_piped(b"") == []


def test_input_and_output_may_be_files(tmp_path: Path) -> None:
    source, target = tmp_path / "in", tmp_path / "out"
    source.write_bytes(frames("modern", {"name": "echo", "arguments": {"text": "hi"}}))
    with source.open("rb") as stdin, target.open("wb") as stdout:
        subprocess.run(specimen_command(), stdin=stdin, stdout=stdout, timeout=DEADLINE_SECONDS, check=True)
    assert json.loads(target.read_bytes())["result"]["structuredContent"] == {"text": "hi"}


def test_a_call_that_outlives_the_client_is_stopped_at_once(start_server: StartServer) -> None:
    server = start_server().open("handshake")
    server.start("tools/call", CALL_WAIT)
    server.call("echo", {"text": "the call before is running"})
    assert server.process.stdout is not None
    server.process.stdout.close()
    server.close_input()
    assert server.wait() == 0


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("era", ERAS)
def test_a_signal_ends_the_session_with_an_answer_for_every_running_call(
    start_server: StartServer, era: Era, signum: signal.Signals
) -> None:
    server = start_server().open(era)
    waiting = server.start("tools/call", CALL_WAIT)
    server.call("echo", {"text": "the call before is running"})
    server.process.send_signal(signum)
    answer = server.receive()
    assert (answer["id"], answer["error"]["data"]["kind"]) == (waiting, "interrupted")
    assert server.wait() == 0


def test_a_tool_stuck_in_a_thread_does_not_hold_up_the_end(start_server: StartServer) -> None:
    server = start_server().open("handshake")
    server.start("tools/call", {"name": "stuck", "arguments": {}})
    server.call("echo", {"text": "the call before is running"})
    started = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    assert server.wait() == 0
    assert time.monotonic() - started < 10  # the promise is 2 s; an hour is what it must not be


@pytest.mark.parametrize("era", ERAS)
def test_a_cancelled_call_is_never_answered_and_the_session_goes_on(
    start_server: StartServer, era: Era
) -> None:
    server = start_server().open(era)
    waiting = server.start("tools/call", CALL_WAIT)
    server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": waiting}})
    follow_up = server.start("tools/call", {"name": "echo", "arguments": {"text": "on"}})
    assert server.receive()["id"] == follow_up


@pytest.mark.parametrize("era", ERAS)
def test_progress_reaches_a_client_that_asked_for_it(start_server: StartServer, era: Era) -> None:
    server = start_server().open(era)
    server.start("tools/call", {**CALL_WAIT, "_meta": {"progressToken": "mine"}})
    notification = server.receive()
    assert notification["method"] == "notifications/progress"
    assert notification["params"] == {
        "progressToken": "mine",
        "progress": 1,
        "total": 3,
        "message": "waiting",
    }


def test_what_a_tool_prints_or_reads_never_touches_the_protocol(start_server: StartServer) -> None:
    server = start_server().open("handshake")
    assert server.call("noisy")["result"]["structuredContent"] == {"text": "read ''"}
    assert "this is not a frame" in server.stderr()


def test_a_slow_reader_loses_nothing(start_server: StartServer) -> None:
    server = start_server().open("handshake")
    started = [
        server.start("tools/call", {"name": "big", "arguments": {"count": 300_000}}) for _ in range(30)
    ]
    received = {
        answer["id"]: len(answer["result"]["structuredContent"]["text"])
        for answer in (server.receive() for _ in started)
    }
    assert received == dict.fromkeys(started, 300_000)


def test_a_client_that_stops_reading_does_not_hold_up_the_end(start_server: StartServer) -> None:
    server = start_server().open("handshake")
    for _ in range(30):
        server.start("tools/call", {"name": "big", "arguments": {"count": 300_000}})
    server.process.send_signal(signal.SIGTERM)
    assert server.wait() == 0


def test_a_closed_output_ends_the_process_cleanly_with_a_log_line(start_server: StartServer) -> None:
    server = start_server().open("handshake")
    assert server.process.stdout is not None
    server.process.stdout.close()
    server.start("ping")
    assert server.wait() == 0
    assert "output broke" in server.stderr()


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_a_full_output_ends_the_process_with_a_log_line() -> None:
    conversation = frames("modern", {"name": "echo", "arguments": {"text": "hi"}}, CALL_WAIT)
    with FULL.open("wb") as full:
        finished = subprocess.run(
            specimen_command(),
            input=conversation,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=DEADLINE_SECONDS,
            check=False,
        )
    assert finished.returncode == 1
    assert b"output broke" in finished.stderr
    assert b"Traceback" not in finished.stderr


def test_closed_standard_streams_are_reported_not_crashed_on() -> None:
    finished = subprocess.run(
        ["sh", "-c", 'exec "$@" <&- >&-', "sh", *specimen_command()],
        capture_output=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert finished.returncode == 1
    assert b"Traceback" not in finished.stderr
    assert b"closed" in finished.stderr
