"""Bounded memory: nothing invented, nothing lost without being counted."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from faultless import process
from faultless.process.capture import Capture

Execute = Callable[..., process.Finished]
CHUNKS = st.lists(st.binary(max_size=40), max_size=20)
REPLACEMENT = "\ufffd"


def capture(chunks: list[bytes], limit: int) -> process.Captured:
    stream = Capture(limit)
    for chunk in chunks:
        stream.feed(chunk)
    return stream.result()


@given(chunks=CHUNKS, limit=st.integers(0, 200))
def test_what_fits_comes_back_whole_and_what_does_not_is_counted(chunks: list[bytes], limit: int) -> None:
    whole = b"".join(chunks)
    captured = capture(chunks, limit)
    if len(whole) <= limit:
        assert captured == process.Captured(whole.decode(errors="replace"), 0, whole)
    else:
        assert len(whole) - limit <= captured.dropped_bytes <= len(whole) - limit + 6
        assert f"\n[{captured.dropped_bytes} bytes dropped]\n" in captured.text


@given(text=st.text(min_size=1, max_size=60), limit=st.integers(0, 100), size=st.integers(1, 7))
def test_the_cut_breaks_no_character(text: str, limit: int, size: int) -> None:
    data = text.replace(REPLACEMENT, "").encode(errors="replace")
    captured = capture([data[start : start + size] for start in range(0, len(data), size)], limit)
    assert REPLACEMENT not in captured.text
    if captured.dropped_bytes:
        head, _marker, tail = captured.text.partition(f"\n[{captured.dropped_bytes} bytes dropped]\n")
        assert data.startswith(head.encode())
        assert data.endswith(tail.encode())
        assert len(head.encode()) + len(tail.encode()) + captured.dropped_bytes == len(data)


@given(chunks=CHUNKS)
def test_memory_stays_bounded_while_reading(chunks: list[bytes]) -> None:
    stream = Capture(64)
    for chunk in chunks:
        stream.feed(chunk)
        assert len(stream._head) + len(stream._tail) <= 32 + 2 * 32


def test_head_and_tail_of_a_long_output_are_kept(execute: Execute) -> None:
    done = execute("seq", "1", "100000", capture_bytes=2000)
    assert done.stdout.text.startswith("1\n2\n3\n")
    assert done.stdout.text.endswith("99999\n100000\n")
    assert done.stdout.dropped_bytes == 588895 - 2000


def test_one_stream_full_to_the_brim_does_not_hold_up_the_other(execute: Execute) -> None:
    done = execute("sh", "-c", "head -c 5000000 /dev/zero >&2; echo done")
    assert done.stdout.text == "done\n"
    assert done.stderr.dropped_bytes == 5_000_000 - (1 << 20)


SERVER = """
import anyio, pathlib, re
from faultless import process

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())[1])

def run(size):
    spec = process.Spec(command=["head", "-c", size, "/dev/zero"], cwd=pathlib.Path("/"), deadline_seconds=90)
    return anyio.run(process.run, spec)

run("1K")
before = peak()
done = run("1G")
print(done.stdout.dropped_bytes, peak() - before)
"""


def test_a_command_that_prints_a_gigabyte_grows_the_server_by_less_than_32_mib(tmp_path: Path) -> None:
    server = subprocess.run(
        [sys.executable, "-c", SERVER], capture_output=True, text=True, timeout=100, check=True, cwd=tmp_path
    )
    dropped, grown_kib = map(int, server.stdout.split())
    assert dropped == (1 << 30) - (1 << 20)
    assert grown_kib < 32 * 1024
