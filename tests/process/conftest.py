"""Real processes, each wait with a deadline."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Protocol, TypeVar

import anyio
import psutil
import pytest

from faultless import process
from faultless.process import Launcher

T = TypeVar("T")
Family = Callable[[], set[psutil.Process]]
TEST_SECONDS = 100  # the machine may be busy with other work


class Specify(Protocol):
    def __call__(self, *command: str, deadline_seconds: float = 60, **rest: object) -> process.Spec: ...


class Wait(Protocol):
    def __call__(self, work: Callable[[], Awaitable[T]]) -> T: ...


@pytest.fixture
def wait() -> Wait:
    """Run an async function to its end, or fail."""

    def perform(work: Callable[[], Awaitable[T]]) -> T:
        async def under_deadline() -> T:
            with anyio.fail_after(TEST_SECONDS):
                return await work()

        return anyio.run(under_deadline)

    return perform


@pytest.fixture
def spec(tmp_path: Path) -> Specify:
    def build(*command: str, deadline_seconds: float = 60, **rest: object) -> process.Spec:
        options = {"cwd": tmp_path, "deadline_seconds": deadline_seconds} | rest
        return process.Spec(command=command, **options)  # type: ignore[arg-type]  # the tests' own shorthand

    return build


@pytest.fixture
def execute(wait: Wait, spec: Specify) -> Callable[..., process.Finished]:
    """Run a command."""
    return lambda *command, **options: wait(lambda: process.run(spec(*command, **options)))


@pytest.fixture
def execute_python(execute: Callable[..., process.Finished]) -> Callable[..., process.Finished]:
    return lambda code, **options: execute(sys.executable, "-I", "-S", "-c", code, **options)


@pytest.fixture
def is_gone() -> Callable[..., bool]:
    """Whether a process has ended, waiting for it at most so long."""

    def ask(process_id: int, within_seconds: float = 0) -> bool:
        try:
            handle = os.pidfd_open(process_id)
        except ProcessLookupError:
            return True
        try:
            return bool(select.select([handle], [], [], within_seconds)[0])
        finally:
            os.close(handle)

    return ask


def is_helper(member: psutil.Process) -> bool:
    try:
        return "faultless_target.warden" in " ".join(member.cmdline())
    except psutil.NoSuchProcess:  # or a zombie
        return False


@pytest.fixture
def family() -> Family:
    """What descends from us, but for servers of other tests that were there before: theirs come and go."""
    own = psutil.Process()
    others = {member for member in own.children(recursive=True) if not is_helper(member)}

    def look(below: psutil.Process = own) -> set[psutil.Process]:
        found = set[psutil.Process]()
        with suppress(psutil.NoSuchProcess):
            found = set(below.children()) - others
        return found.union(*(look(child) for child in found))

    return look


@pytest.fixture(autouse=True)
def nothing_left(wait: Wait, spec: Specify, family: Family) -> Iterator[None]:
    """Every test gives back its descriptors and leaves no process but the warden and idle supervisors."""
    wait(lambda: process.run(spec("true")))
    own = psutil.Process()
    descriptors = own.num_fds()
    yield
    strangers = [member for member in family() if not is_helper(member)]
    _gone, left = psutil.wait_procs(strangers, timeout=10)  # a supervisor too many may be just ending
    assert left == []
    assert own.num_fds() < descriptors + Launcher.idle_at_most  # as many more supervisors may stay idle
