"""A server killed at random moments, many times: every call still ends, and nothing stays behind."""

import contextlib
import os
import random
import signal
from collections import Counter
from pathlib import Path

import anyio
import pytest

from faultless.client import Breaker, Client, Fallback, read_journal
from faultless.contract import Fault
from tests.client.hostile import command
from tests.client.processes import children, owner
from tests.waiting import let_pass

TIMEOUT_SECONDS = 60.0
SLACK_SECONDS = 20.0
"""For a machine under load; a call that hangs would take for ever."""
TOOLS = ("echo", "false_success", "idempotent_echo", "silent")
ENDS = {"server", "fallback", "crash", "timeout", "unavailable", "outcome_unknown"}
DISTURBED = 0.2
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV)


async def disturb(client: Client, chance: random.Random) -> None:
    """Kill the server at some moment around a call: before it, in it, after it, or while it starts."""
    await let_pass(chance.expovariate(1 / 0.005))
    if (process := client.process_id) is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, chance.choice(SIGNALS))


async def call(client: Client, chance: random.Random) -> str:
    tool = chance.choice(TOOLS)
    seconds = 0.1 if tool == "silent" else TIMEOUT_SECONDS
    fallback = Fallback(lambda _: "cached") if chance.random() < 0.3 else None
    started = anyio.current_time()
    try:
        with anyio.fail_after(seconds + SLACK_SECONDS):
            reply = await client.call(tool, {"text": "x"}, timeout=seconds, fallback=fallback)
            end: str = reply.via
    except Fault as fault:
        harmless = tool != "false_success" or fault.outcome == "not_done"
        end = fault.kind if harmless or fault.kind == "outcome_unknown" else "a doubt left out"
    assert end in ENDS
    assert anyio.current_time() - started < seconds + SLACK_SECONDS
    return end


async def run(calls: int, folder: Path, seed: int) -> Counter[str]:
    chance = random.Random(seed)
    ends: Counter[str] = Counter()
    async with Client(
        command(),
        env=owner(),
        journal=folder,
        breaker=Breaker(limit=10**9),
        probe_timeout=0.5,
        grace_seconds=0.2,
    ) as client:
        for _ in range(calls):
            async with anyio.create_task_group() as tasks:
                if chance.random() < DISTURBED:
                    tasks.start_soon(disturb, client, chance)
                ends[await call(client, chance)] += 1
    return ends


def check_journal(folder: Path, calls: int) -> None:
    outcomes = Counter(str(entry["call"]) for entry in read_journal(folder) if entry["event"] == "outcome")
    assert len(outcomes) == calls
    assert set(outcomes.values()) == {1}


async def play(calls: int, folder: Path, seed: int) -> None:
    await run(2, folder / "warm", seed)  # threads and pools of the loop come up
    before = sorted(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names
    ends = await run(calls, folder / "journal", seed)
    assert ends.total() == calls
    assert ends["server"] > calls / 4
    assert set(ends) - {"server", "fallback"}, "no kill met a call; the test tests nothing"
    assert children() == []
    assert sorted(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - names
    check_journal(folder / "journal", calls)


@pytest.mark.anyio
async def test_sixty_calls_with_kills_at_random_moments(tmp_path: Path) -> None:
    await play(60, tmp_path, seed=7)


@pytest.mark.heavy
@pytest.mark.anyio
async def test_a_thousand_calls_with_kills_at_random_moments(tmp_path: Path) -> None:
    await play(1000, tmp_path, seed=random.SystemRandom().randrange(10**6))


def test_a_journal_that_lost_an_outcome_is_seen(tmp_path: Path) -> None:
    (tmp_path / "journal-2026-01-01.jsonl").write_text('{"event":"outcome","call":"a"}\n')
    check_journal(tmp_path, 1)
    with pytest.raises(AssertionError):
        check_journal(tmp_path, 2)
