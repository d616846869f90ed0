"""Whatever a server prints, the deadline is kept and everybody else in the event loop has their turn."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faultless.client import Client, RetryPolicy
from faultless.client.budget import ValueCounter
from faultless.contract import Fault
from tests.client.hostile import command, web_command
from tests.client.hostile.floods import CHUNK
from tests.waiting import let_pass

pytestmark = pytest.mark.anyio
ONCE = RetryPolicy(attempts=1)
DEADLINE_SECONDS = 2.0
MARGIN_SECONDS = 0.5
TICK_SECONDS = 0.02
MEGABYTE = 1024 * 1024
BUSY = Path("/proc/thread-self/schedstat")


def read_waiting_seconds() -> float:
    """How long this thread was ready and other programs had the processors; that is nobody's fault here."""
    return int(BUSY.read_text().split()[1]) / 1e9 if BUSY.exists() else 0.0


@dataclass
class Watch:
    """What the rest of the program noticed."""

    latest_seconds: float = 0.0
    ticks: int = 0
    most_bytes: int = 0

    async def tick(self) -> None:
        process = psutil.Process()
        while True:
            due, waited = time.monotonic() + TICK_SECONDS, read_waiting_seconds()
            await let_pass(TICK_SECONDS)
            late = time.monotonic() - due - (read_waiting_seconds() - waited)
            self.latest_seconds = max(self.latest_seconds, late)
            self.most_bytes = max(self.most_bytes, process.memory_info().rss)
            self.ticks += 1


@asynccontextmanager
async def watched() -> AsyncIterator[Watch]:
    watch = Watch()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch.tick)
        yield watch
        tasks.cancel_scope.cancel()
    assert watch.ticks > 0
    assert watch.latest_seconds < MARGIN_SECONDS


@dataclass
class Stopwatch:
    started: float
    waited: float

    @classmethod
    def start(cls) -> Stopwatch:
        return cls(time.monotonic(), read_waiting_seconds())

    def read(self) -> float:
        return time.monotonic() - self.started - (read_waiting_seconds() - self.waited)


ENDLESS = [
    *("endless_noise", "endless_empty_lines", "endless_broken_frames", "endless_notifications"),
    *("endless_progress", "endless_questions", "endless_answers", "endless_log", "endless_frame"),
    "endless_pings",
    "half_a_frame_and_silence",
]


@pytest.mark.parametrize("tool", ENDLESS)
async def test_a_deadline_is_kept_though_the_server_never_stops_talking(tool: str) -> None:
    async with Client(command(), retry=ONCE, probe_timeout=0.5) as client, watched() as watch:
        await client.call("echo", {"text": "warm"})
        before = psutil.Process().memory_info().rss
        stopwatch = Stopwatch.start()
        with pytest.raises(Fault) as caught:
            await client.call(tool, timeout=DEADLINE_SECONDS)
        assert stopwatch.read() < DEADLINE_SECONDS + MARGIN_SECONDS
        assert caught.value.kind == "timeout"
        assert watch.most_bytes - before < 128 * MEGABYTE
        assert (await client.call("echo", {"text": "again"})).value == {"text": "again"}


ANSWERED = {
    "much_noise": "after 200,000 lines",
    "many_notifications": "after 100,000 notifications",
    "much_progress": "after 2,000 steps",
}


@pytest.mark.parametrize("tool", ANSWERED)
async def test_an_answer_is_found_behind_any_amount_of_talk(tool: str) -> None:
    async with Client(command(), retry=ONCE) as client, watched() as watch:
        await client.call("echo", {"text": "warm"})
        before = psutil.Process().memory_info().rss
        assert (await client.call(tool)).value == ANSWERED[tool]
        assert watch.most_bytes - before < 64 * MEGABYTE


async def test_progress_that_is_listened_to_does_not_fill_memory_either() -> None:
    steps = 0

    async def count(progress: float, total: float | None, message: str | None) -> None:
        nonlocal steps
        steps += 1

    async with Client(command(), retry=ONCE) as client, watched() as watch:
        await client.call("echo", {"text": "warm"})
        before = psutil.Process().memory_info().rss
        await client.call("much_progress", on_progress=count)
        assert steps > 0
        assert watch.most_bytes - before < 64 * MEGABYTE


async def test_a_frame_of_a_hundred_megabytes_is_refused_without_being_kept() -> None:
    async with Client(command(), retry=ONCE) as client, watched() as watch:
        await client.call("echo", {"text": "warm"})
        before = psutil.Process().memory_info().rss
        with pytest.raises(Fault) as caught:
            await client.call("huge_frame")
        assert (caught.value.kind, caught.value.outcome) == ("too_large", "not_done")
        assert watch.most_bytes - before < 80 * MEGABYTE


async def test_a_frame_of_a_million_values_is_refused_before_it_is_parsed() -> None:
    async with Client(command(), retry=ONCE) as client, watched():
        await client.call("echo", {"text": "warm"})
        with pytest.raises(Fault) as caught:
            await client.call("many_values")
        assert (caught.value.kind, caught.value.outcome) == ("too_large", "not_done")
        assert "values" in caught.value.message
        reply = await client.call("many_values_in_text")  # text, and left as it is
        assert reply.value == reply.text
        assert len(reply.text) > 30 * CHUNK


async def test_a_server_that_talks_before_it_is_asked_keeps_nobody_waiting() -> None:
    async with Client(command(start="noisy"), retry=ONCE) as client, watched():
        stopwatch = Stopwatch.start()
        with pytest.raises(Fault) as caught:
            await client.call("echo", {"text": "x"}, timeout=DEADLINE_SECONDS)
        assert stopwatch.read() < DEADLINE_SECONDS + MARGIN_SECONDS
        assert (caught.value.kind, caught.value.outcome) == ("timeout", "not_done")


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    with subprocess.Popen(web_command(), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.kill()


@pytest.mark.parametrize("tool", ["endless_comments", "endless_notifications", "half_a_body"])
async def test_a_deadline_is_kept_over_http_too(web: str, tool: str) -> None:
    async with Client(web, retry=ONCE, mode="legacy") as client, watched() as watch:
        await client.call("echo")
        before = psutil.Process().memory_info().rss
        stopwatch = Stopwatch.start()
        with pytest.raises(Fault) as caught:
            await client.call(tool, timeout=DEADLINE_SECONDS)
        assert stopwatch.read() < DEADLINE_SECONDS + MARGIN_SECONDS
        assert caught.value.kind == "outcome_unknown"
        assert watch.most_bytes - before < 256 * MEGABYTE
        assert (await client.call("echo")).value == "fine"


BEYOND = ["huge_body", "huge_event", "endless_event", "many_values", "many_values_in_an_event"]


@pytest.mark.parametrize("tool", BEYOND)
async def test_the_limit_of_a_frame_holds_over_http(web: str, tool: str) -> None:
    async with Client(web, retry=ONCE, mode="legacy") as client, watched() as watch:
        await client.call("echo")
        before = psutil.Process().memory_info().rss
        with pytest.raises(Fault) as caught:
            await client.call(tool)
        assert (caught.value.kind, caught.value.layer, caught.value.outcome) == (
            "too_large",
            "protocol",
            "unknown",
        )
        assert watch.most_bytes - before < 256 * MEGABYTE
        assert (await client.call("echo")).value == "fine"


async def test_a_small_body_that_unpacks_to_a_huge_one_is_refused(web: str) -> None:
    async with Client(web, retry=ONCE, mode="legacy") as client, watched() as watch:
        await client.call("echo")
        before = psutil.Process().memory_info().rss
        with pytest.raises(Fault) as caught:
            await client.call("compressed")
        assert "compressed, unasked" in caught.value.message
        assert watch.most_bytes - before < 64 * MEGABYTE


json_values: st.SearchStrategy[Any] = st.recursive(
    st.integers() | st.text(max_size=5) | st.text('",\\\\ab', max_size=6),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=4) | st.dictionaries(st.text(max_size=3), inner, min_size=1)
    ),
    max_leaves=10,
)


def count_values(value: object) -> int:
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return 1 + sum(count_values(item) for item in inner)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(value=json_values, cut=st.integers(1, 9))
def test_values_are_counted_near_enough_and_the_same_however_the_text_is_cut(value: Any, cut: int) -> None:  # noqa: ANN401 - JSON
    text = json.dumps(value).encode()
    whole, pieces = ValueCounter(), ValueCounter()
    whole.feed(text)
    for start in range(0, len(text), cut):
        pieces.feed(text[start : start + cut])
    assert whole.values == pieces.values
    assert count_values(value) / 3 - 1 <= whole.values <= 3 * count_values(value)
