"""A child that is talked with while it runs: report lines, its own streams, signals, leaving early."""

from __future__ import annotations

import json
import math
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from faultless import process
from faultless.contract import Fault, FaultKind

Wait = Callable[..., Any]
Specify = Callable[..., process.Spec]
IsGone = Callable[..., bool]
FIRST = f"import json, os, signal; out = int(os.environ[{process.REPORT_FD_VARIABLE!r}])\n"


@pytest.fixture
def reporter(spec: Specify) -> Specify:
    return lambda code, **options: spec(
        sys.executable, "-I", "-S", "-c", FIRST + code, report=True, **options
    )


async def read_lines(child: process.Child) -> list[bytes]:
    assert child.report is not None
    return [line async for line in child.report]


def test_report_lines_arrive_apart_from_the_output(wait: Wait, reporter: Specify) -> None:
    code = 'print("noise")\nfor n in range(3): os.write(out, json.dumps({"n": n}).encode() + b"\\n")'

    async def converse() -> tuple[list[bytes], process.Finished]:
        async with process.start(reporter(code)) as child:
            return await read_lines(child), await child.wait()

    lines, done = wait(converse)
    assert [json.loads(line)["n"] for line in lines] == [0, 1, 2]
    assert done.stdout.text == "noise\n"


def test_a_million_bytes_of_report_come_through(wait: Wait, reporter: Specify) -> None:
    code = 'f = os.fdopen(out, "wb")\nfor n in range(10000): f.write(b"%0100d\\n" % n)'

    async def converse() -> list[bytes]:
        async with process.start(reporter(code)) as child:
            return await read_lines(child)

    assert [int(line) for line in wait(converse)] == list(range(10000))


def test_the_line_a_killed_command_was_writing_is_not_taken_for_a_line(wait: Wait, reporter: Specify) -> None:
    code = 'os.write(out, b"whole\\nhal"); os.kill(os.getpid(), signal.SIGKILL)'

    async def converse() -> tuple[list[bytes], bytes]:
        async with process.start(reporter(code)) as child:
            assert child.report is not None
            return await read_lines(child), child.report.unfinished

    assert wait(converse) == ([b"whole"], b"hal")


@pytest.mark.parametrize("end", ["", "\\n"])
def test_a_line_over_the_limit_is_a_fault_and_ends_the_command(
    wait: Wait, reporter: Specify, is_gone: IsGone, end: str
) -> None:
    code = f'os.write(out, b"x" * 2000 + b"{end}"); signal.pause()'
    seen: list[int] = []

    async def converse() -> None:
        async with process.start(reporter(code, report_line_bytes=1000)) as child:
            seen.append(child.process_id)
            await read_lines(child)

    with pytest.raises(Fault) as caught:
        wait(converse)
    assert caught.value.kind is FaultKind.TOO_LARGE
    assert is_gone(seen[0])


def test_a_signal_reaches_the_command_and_not_its_children(wait: Wait, reporter: Specify) -> None:
    code = """
signal.signal(signal.SIGUSR1, lambda *_: os.write(out, b"stack of %d\\n" % os.getpid()))
child = os.fork()
if child == 0:
    while True: signal.pause()
os.write(out, b"ready\\n")
while True: signal.pause()
"""

    async def converse() -> tuple[bytes, int]:
        async with process.start(reporter(code)) as child:
            assert child.report is not None
            lines = aiter(child.report)
            assert await anext(lines) == b"ready"
            child.signal(signal.SIGUSR1)
            return await anext(lines), child.process_id

    line, process_id = wait(converse)
    assert line == b"stack of %d" % process_id


def test_a_signal_to_a_command_that_has_ended_does_nothing(wait: Wait, spec: Specify) -> None:
    async def converse() -> None:
        async with process.start(spec("true")) as child:
            child.signal(signal.SIGKILL)
            done = await child.wait()
            child.signal(signal.SIGKILL)
            assert await child.wait() == done
        child.signal(signal.SIGKILL)
        assert (await process.run(spec("sh", "-c", "exit 3"))).exit_code == 3

    wait(converse)


def test_an_unknown_signal_does_not_disturb_the_run(wait: Wait, spec: Specify) -> None:
    async def converse() -> None:
        async with process.start(spec("cat", stdin=b"x" * 100)) as child:
            child.signal(9999)
            assert (await child.wait()).exit_code == 0

    wait(converse)


def test_leaving_early_ends_the_command(wait: Wait, spec: Specify, is_gone: IsGone) -> None:
    async def leave() -> int:
        async with process.start(spec("sleep", "600")) as child:
            return child.process_id

    assert is_gone(wait(leave))


def test_an_exception_in_the_block_comes_out_as_it_is(wait: Wait, spec: Specify, is_gone: IsGone) -> None:
    seen: list[int] = []

    async def fail() -> None:
        async with process.start(spec("sleep", "600")) as child:
            seen.append(child.process_id)
            raise Fault(FaultKind.TIMEOUT, "mine")

    with pytest.raises(Fault, match="mine"):
        wait(fail)
    assert is_gone(seen[0])


def test_a_start_that_fails_is_the_same_fault(wait: Wait, spec: Specify) -> None:
    async def fail() -> None:
        async with process.start(spec("no-such-program")):
            pytest.fail("it runs")

    with pytest.raises(Fault, match="no such program"):
        wait(fail)


def test_a_deadline_passes_while_nobody_waits(wait: Wait, reporter: Specify) -> None:
    async def converse() -> process.Finished:
        async with process.start(reporter("signal.pause()", deadline_seconds=0.5)) as child:
            assert await read_lines(child) == []
            return await child.wait()

    assert wait(converse).timed_out


def test_passed_descriptors_keep_their_numbers_whatever_the_supervisor_uses(
    wait: Wait, spec: Specify
) -> None:
    pipes = [os.pipe() for _ in range(12)]
    write_ends = [write_end for _read_end, write_end in pipes]
    code = "import sys, os\nfor n in map(int, sys.argv[1:]): os.write(n, b'%d' % n)"
    command = (sys.executable, "-I", "-S", "-c", code, *map(str, write_ends))
    try:
        done = wait(lambda: process.run(spec(*command, pass_fds=write_ends, report=True)))
        assert (done.exit_code, done.stderr.text) == (0, "")
        assert [int(os.read(read_end, 10)) for read_end, _write_end in pipes] == write_ends
    finally:
        for pair in pipes:
            os.close(pair[0])
            os.close(pair[1])


@pytest.fixture
def talker(spec: Specify) -> Specify:
    """A command whose stdin and stdout are ours, without a deadline."""
    return lambda *command, **options: spec(*command, deadline_seconds=math.inf, streaming=True, **options)


async def read_all(descriptor: int) -> bytes:
    read = b""
    while True:
        await anyio.wait_readable(descriptor)
        if not (data := os.read(descriptor, 1 << 16)):
            return read
        read += data


def test_a_command_is_talked_with_over_its_own_streams(wait: Wait, talker: Specify) -> None:
    async def converse() -> tuple[bytes, bytes, process.Finished]:
        async with process.start(talker("sh", "-c", "echo log >&2; exec cat")) as child:
            os.write(child.stdin, b"hello")
            await anyio.wait_readable(child.stdout)
            first = os.read(child.stdout, 100)
            os.write(child.stdin, b"bye")
            child.close_stdin()
            rest = await read_all(child.stdout)
            return first, rest, await child.wait()

    first, rest, done = wait(converse)
    assert (first, rest) == (b"hello", b"bye")
    assert (done.exit_code, done.stdout.text, done.stderr.text) == (0, "", "log\n")


def test_stdout_ends_when_the_command_closes_it_although_it_lives_on(wait: Wait, talker: Specify) -> None:
    async def converse() -> bool:
        async with process.start(talker("sh", "-c", "echo said; exec sleep 600 >&-")) as child:
            assert await read_all(child.stdout) == b"said\n"
            return child.exited.is_set()

    assert not wait(converse)


def test_the_end_of_the_first_process_is_told_before_its_tree_is_gone(
    wait: Wait, talker: Specify, is_gone: IsGone
) -> None:
    script = (
        "sh -c 'trap \"\" TERM; echo $$; while :; do sleep 600; done' & read x; echo last words >&2; exit 7"
    )

    async def converse() -> tuple[tuple[int | None, str | None], str, int, process.Finished]:
        async with process.start(talker("sh", "-c", script, grace_seconds=60)) as child:
            await anyio.wait_readable(child.stdout)
            left = int(os.read(child.stdout, 100))
            os.write(child.stdin, b"go\n")
            await child.exited.wait()
            assert not is_gone(left)
            told = child.status, child.read_stderr().text
            child.stop(0)
            return *told, left, await child.wait()

    status, stderr, left, done = wait(converse)
    assert (status, stderr) == ((7, None), "last words\n")
    assert is_gone(left)
    assert done.exit_code == 7


def test_what_a_command_logs_is_passed_on_as_it_comes(wait: Wait, talker: Specify) -> None:
    chunks: list[bytes] = []

    async def converse() -> process.Finished:
        async with process.start(
            talker("sh", "-c", "echo one >&2; read x"), on_stderr=chunks.append
        ) as child:
            with anyio.fail_after(30):
                while not chunks:
                    await anyio.lowlevel.checkpoint()
            child.close_stdin()
            return await child.wait()

    assert wait(converse).stderr.text == "one\n"
    assert b"".join(chunks) == b"one\n"


def test_leaving_ends_a_command_that_has_no_deadline(wait: Wait, talker: Specify, is_gone: IsGone) -> None:
    async def leave() -> int:
        async with process.start(talker("sleep", "600")) as child:
            return child.process_id

    assert is_gone(wait(leave))


def test_a_command_that_is_talked_with_takes_no_prepared_input(talker: Specify) -> None:
    with pytest.raises(ValueError, match="written by the caller"):
        talker("cat", stdin=b"x")
