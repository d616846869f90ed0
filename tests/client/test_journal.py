"""What is written down about calls, and what survives a kill."""

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest

from faultless.client import Client, Journal, RetryPolicy, read_journal
from faultless.contract import Fault
from faultless.contract.redaction import HIDDEN, Redactor
from tests.client.hostile import command

PLAIN = Redactor()


def events(folder: Path) -> list[str]:
    return [str(entry["event"]) for entry in read_journal(folder)]


@pytest.mark.anyio
async def test_a_call_is_told_from_attempt_to_outcome_under_one_id(tmp_path: Path) -> None:
    async with Client(command(), journal=tmp_path, retry=RetryPolicy(attempts=1)) as client:
        reply = await client.call("echo", {"text": "hunter2 is my dog"})
        with pytest.raises(Fault):
            await client.call("killed")
        await client.call("killed", fallback=lambda _: "cached")
        with pytest.raises(Fault):
            await client.call("killed", fallback=lambda _: None)
    entries = list(read_journal(tmp_path))
    assert [(entry["event"], entry["level"]) for entry in entries] == [
        ("attempt", "INFO"),
        ("outcome", "INFO"),
        *[("attempt", "INFO"), ("mcp_escalation", "ERROR"), ("outcome", "INFO")],
        *[("attempt", "INFO"), ("mcp_fallback", "WARN"), ("outcome", "INFO")],
        *[("attempt", "INFO"), ("mcp_fallback", "WARN"), ("mcp_escalation", "ERROR"), ("outcome", "INFO")],
    ]
    assert {entry["call"] for entry in entries[:2]} == {reply.correlation_id}
    assert len({entry["call"] for entry in entries}) == 4
    assert [entry["outcome"] for entry in entries if entry["event"] == "outcome"] == [
        "answered",
        "fault",
        "fallback",
        "fault",
    ]
    assert entries[0]["arguments"] == ["text"]
    assert "hunter2" not in json.dumps(entries)


@pytest.mark.anyio
async def test_a_call_that_is_cancelled_has_an_outcome_too(tmp_path: Path) -> None:
    async with Client(command(), journal=str(tmp_path)) as client:
        await client.call("echo", {"text": "warm"})
        with anyio.move_on_after(0.1):
            await client.call("silent", timeout=60)
    assert [entry.get("outcome") for entry in read_journal(tmp_path)][-1] == "cancelled"


@pytest.mark.anyio
async def test_values_are_written_on_request_and_secrets_never(tmp_path: Path) -> None:
    journal = Journal(tmp_path, values=True)
    env = {"SERVICE_TOKEN": "correct-horse-battery"}
    async with Client(command(), journal=journal, env=env) as client:
        await client.call("echo", {"text": "correct-horse-battery staple", "password": "p4ss", "n": 5})
    journal.close()
    (attempt, *_) = read_journal(tmp_path)
    assert attempt["arguments"] == {"text": f"{HIDDEN} staple", "password": HIDDEN, "n": 5}


def test_each_day_has_its_file(tmp_path: Path) -> None:
    days = iter([datetime(2026, 1, 1, 23, 59, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)])
    journal = Journal(tmp_path, clock=lambda: next(days))
    journal.write("attempt", "a", PLAIN)
    journal.write("outcome", "a", PLAIN)
    journal.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "journal-2026-01-01.jsonl",
        "journal-2026-01-02.jsonl",
    ]
    assert events(tmp_path) == ["attempt", "outcome"]


def test_a_torn_line_neither_stops_reading_nor_swallows_the_next(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.write("attempt", "a", PLAIN)
    journal.close()
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes() + b'{"event": "outc\xff')
    again = Journal(tmp_path)
    again.write("outcome", "b", PLAIN)
    again.close()
    assert events(tmp_path) == ["attempt", "outcome"]


def test_a_journal_that_cannot_be_written_counts_what_it_lost(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    journal = Journal(blocked)
    journal.write("attempt", "a", PLAIN)
    assert journal.lost == 1


WRITER = """
import sys
from pathlib import Path
from faultless.client.journal import Journal
from faultless.contract.redaction import Redactor
journal, redactor, number = Journal(Path(sys.argv[1])), Redactor(), 0
while True:
    number += 1
    journal.write("attempt", "writer", redactor, number=number, filler="x" * 2000)
    if number == 200:
        print("begun", flush=True)
"""


def test_a_killed_writer_leaves_whole_lines_but_at_most_the_last(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "begun\n"
        os.kill(writer.pid, signal.SIGKILL)
    (path,) = tmp_path.iterdir()
    whole = list(read_journal(tmp_path))
    assert len(whole) >= path.read_bytes().count(b"\n") >= 200
    assert [entry["number"] for entry in whole] == list(range(1, len(whole) + 1))


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer abcdefghijkl",
        "key sk-abcdefghijklmnop1234",
        "ghp_" + "a" * 36,
        "xoxb-123456789012-abc",
        "AKIAABCDEFGHIJKLMNOP",
        "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.abcdefgh",
        "postgres://bob:hunter22@db/x",
        "api_key=abcdef123456",
        '"token": "abcdef123456"',
    ],
)
def test_values_that_look_like_secrets_are_hidden(text: str) -> None:
    hidden = PLAIN.hide_text(text)
    assert HIDDEN in hidden
    assert not any(part in hidden for part in ("abcdef", "hunter22", "aaaa", "eyJ", "ABCDEF"))


@pytest.mark.parametrize(
    "text", ["a basic question", "tokens: 5 left", "the secretary", "git log --author bob"]
)
def test_plain_words_stay(text: str) -> None:
    assert PLAIN.hide_text(text).split()[0] == text.split(maxsplit=1)[0]
