"""Fail the first operation, then the second, … until a run completes untouched.

Each answer is a typed fault or the fault-free one: never silence, never another success, nothing left behind.
"""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from faultless import process
from faultless.contract import Fault
from faultless.process.launcher import LOAD_TARGET, TARGET_PATH
from tests.process.conftest import Family

Wait = Callable[..., Any]
Specify = Callable[..., process.Spec]
Answer = tuple[list[bytes], process.Finished] | Fault
Scenario = tuple[tuple[str, ...], dict[str, Any]]
OPERATIONS_AT_MOST = 400


class FailingKernel(process.Kernel):
    """Counts every operation and fails one."""

    def __init__(self, fail_at: int, number: int) -> None:
        self._left = fail_at
        self._number = number

    @property
    def fired(self) -> bool:
        return self._left <= 0

    def _count(self) -> None:
        self._left -= 1
        if self._left == 0:
            raise OSError(self._number, "planted")

    def launch(
        self, command: Sequence[str], door: int, env: Mapping[str, str] | None
    ) -> subprocess.Popen[bytes]:
        self._count()
        return super().launch(command, door, env)

    def pipe(self) -> tuple[int, int]:
        self._count()
        return super().pipe()

    def selector(self) -> Any:  # noqa: ANN401 - the platform's own class
        self._count()
        return super().selector()

    def open_null(self) -> int:
        self._count()
        return super().open_null()

    def socketpair(self) -> tuple[socket.socket, socket.socket]:
        self._count()
        return super().socketpair()

    def send(self, target: socket.socket, data: bytes | memoryview, descriptors: Sequence[int]) -> int:
        self._count()
        return super().send(target, data, descriptors)

    def read(self, descriptor: int, size: int) -> bytes:
        self._count()
        return super().read(descriptor, size)

    def write(self, descriptor: int, data: bytes | memoryview) -> int:
        self._count()
        return super().write(descriptor, data)

    def close(self, descriptor: int) -> None:
        super().close(descriptor)  # a close that fails has closed all the same
        self._count()


# The same for the warden's side, in its own processes: whoever gets there first creates the flag.
FAILING_WARDEN = """
import os
from faultless_target.system import System
from faultless_target.warden import main

FLAG, FAIL_AT, NUMBER = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])

class Failing(System):
    done = 0

def counted(name):
    real = getattr(System, name)
    def operation(self, *arguments):
        self.done += 1
        if self.done == FAIL_AT:
            try:
                os.close(os.open(FLAG, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass
            else:
                raise OSError(NUMBER, "planted")
        return real(self, *arguments)
    return operation

for name in [name for name in vars(System) if not name.startswith("_")]:
    setattr(Failing, name, counted(name))
main(Failing())
"""

PLAIN: Scenario = ("sh", "-c", "cat; echo err >&2; exit 3"), {"stdin": b"hello " * 20000}
DAEMON = "setsid sleep 600 & trap '' TERM; echo ready; while :; do sleep 600 & wait; done"
DEADLINE: Scenario = ("sh", "-c", DAEMON), {"deadline_seconds": 0.5, "grace_seconds": 0.05}
TALK = "echo out; for n in 1 2 3; do echo $n >&3; done; exec 3>&-"
TALKING: Scenario = ("sh", "-c", TALK), {"report": True}
SCENARIOS = {
    "a command that ends by itself": PLAIN,
    "a command that reports": TALKING,
    "a tree that meets its deadline": DEADLINE,
}


def choose(*names: str, light: Sequence[str] = ()) -> list[Any]:
    """Every scenario with every error; each run of the last takes its deadline, so most are heavy."""
    *quick, slow = SCENARIOS
    heavy = pytest.mark.heavy
    return [
        *(pytest.param(plain, name, id=f"{plain}-{name}") for plain in quick for name in names),
        *(
            pytest.param(slow, name, id=f"{slow}-{name}", marks=() if name in light else heavy)
            for name in names
        ),
    ]


@pytest.fixture
def scenario(request: pytest.FixtureRequest, spec: Specify) -> process.Spec:
    command, options = SCENARIOS[request.param]
    return spec(*command, **options)


@pytest.fixture
def check(
    wait: Wait, scenario: process.Spec, family: Family
) -> Iterator[Callable[[process.Launcher], Answer]]:
    """Run the scenario, then look at what it left."""
    own = psutil.Process()
    expected = wait(lambda: perform(scenario, None))
    before = own.num_fds(), family()

    def run(launcher: process.Launcher) -> Answer:
        try:
            answer: Answer = wait(lambda: perform(scenario, launcher))
        except Fault as fault:
            answer = fault
        finally:
            launcher.close()
        assert isinstance(answer, Fault) or answer == expected
        assert (own.num_fds(), family()) == before
        return answer

    yield run
    assert not orphans()


async def perform(
    scenario: process.Spec, launcher: process.Launcher | None
) -> tuple[list[bytes], process.Finished]:
    if not scenario.report:
        return [], timeless(await process.run(scenario, launcher=launcher))
    async with process.start(scenario, launcher=launcher) as child:
        assert child.report is not None
        lines = [line async for line in child.report]
        return lines, timeless(await child.wait())


def timeless(done: process.Finished) -> process.Finished:
    return replace(done, duration_seconds=0)


def orphans() -> list[int]:
    mark = str(os.getpid())
    family = psutil.process_iter(["environ"])
    return [
        one.pid
        for one in family
        if (one.info["environ"] or {}).get("BY_COUNT") == mark and one.pid != os.getpid()
    ]


@pytest.fixture(autouse=True)
def marked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever carries this mark in its environment was started by this test."""
    monkeypatch.setenv("BY_COUNT", str(os.getpid()))


@pytest.mark.parametrize(
    ("scenario", "name"),
    choose("EMFILE", "ENOMEM", "EIO", "EINTR", "EAGAIN", light=["EIO"]),
    indirect=["scenario"],
)
def test_every_operation_of_the_server_may_fail(
    check: Callable[[process.Launcher], Answer], name: str
) -> None:
    faults = 0
    for fail_at in range(1, OPERATIONS_AT_MOST):
        kernel = FailingKernel(fail_at, getattr(errno, name))
        faults += isinstance(check(process.Launcher(kernel)), Fault)
        if not kernel.fired:
            break
    else:
        pytest.fail("no run was untouched")
    assert fail_at > 10
    assert faults >= 4  # or nothing was planted


@pytest.mark.parametrize(("scenario", "name"), choose("EMFILE", "EIO", "EINTR"), indirect=["scenario"])
def test_every_operation_of_the_warden_may_fail(
    check: Callable[[process.Launcher], Answer], tmp_path: Path, name: str
) -> None:
    faults = 0
    for fail_at in range(1, OPERATIONS_AT_MOST):
        flag = tmp_path / str(fail_at)
        arguments = (TARGET_PATH, str(flag), str(fail_at), str(getattr(errno, name)))
        warden = (sys.executable, "-I", "-S", "-c", LOAD_TARGET + FAILING_WARDEN, *arguments)
        faults += isinstance(check(process.Launcher(warden=warden)), Fault)
        if not flag.exists():
            break
    else:
        pytest.fail("no run was untouched")
    assert fail_at > 10
    assert faults >= 4  # or nothing was planted
