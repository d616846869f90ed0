"""The server, the warden or a supervisor is killed: nobody is left, and the next run works."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from faultless import process
from faultless.contract import Fault, FaultKind
from faultless.process import session
from faultless.process.launcher import LOAD_TARGET, TARGET_PATH
from tests.process.conftest import Family

Wait = Callable[..., Any]
Specify = Callable[..., process.Spec]
IsGone = Callable[..., bool]
FindHelpers = Callable[[], list[psutil.Process]]

SERVER = """
import anyio, os, pathlib, signal, sys
from faultless import process

SCRIPT = '''
exec >&3
echo $$
(trap "" TERM; setsid sh -c 'echo $$; setsid sleep 600 & echo $!; wait' &)
exec sleep 600
'''

async def serve():
    spec = process.Spec(command=["sh", "-c", SCRIPT], cwd=pathlib.Path("/"), deadline_seconds=90, report=True)
    async with process.start(spec) as child:
        lines = aiter(child.report)
        numbers = [(await anext(lines)).decode() for _ in range(3)]
        if sys.argv[1] == "fork" and os.fork() == 0:
            signal.pause()
        print(*numbers, flush=True)
        await anyio.Event().wait() if sys.argv[1] != "leave" else None

anyio.run(serve)
"""


def start_server(mode: str) -> tuple[subprocess.Popen[str], list[int]]:
    server = subprocess.Popen([sys.executable, "-c", SERVER, mode], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    return server, [int(number) for number in server.stdout.readline().split()]


def test_a_server_killed_outright_takes_every_descendant_with_it_within_2_seconds(is_gone: IsGone) -> None:
    server, tree = start_server("stay")
    with server:
        helpers = [child.pid for child in psutil.Process(server.pid).children(recursive=True)]
        assert len(tree) == 3
        assert set(tree) < set(helpers)
        assert not any(map(is_gone, helpers))
        server.kill()
        assert all(is_gone(number, within_seconds=2) for number in helpers)


def test_a_fork_of_a_killed_server_keeps_no_command_alive(is_gone: IsGone) -> None:
    server, tree = start_server("fork")
    with server:
        (fork,) = [
            child for child in psutil.Process(server.pid).children() if "import anyio" in child.cmdline()[2]
        ]
        assert len(tree) == 3
        server.kill()
        try:
            assert all(is_gone(number, within_seconds=2) for number in tree)
            assert not is_gone(fork.pid)
        finally:
            fork.kill()


def test_a_server_that_ends_leaves_nobody(is_gone: IsGone) -> None:
    server, tree = start_server("leave")
    with server:
        assert len(tree) == 3
        assert server.wait(60) == 0
        assert all(is_gone(number, within_seconds=0) for number in tree)


@pytest.fixture
def launcher() -> process.Launcher:
    return process.Launcher()


@pytest.fixture
def find_helpers(family: Family) -> FindHelpers:
    """Those that this test has: the warden first, then its supervisors."""
    before = family()
    return lambda: sorted(family() - before, key=lambda one: one.create_time())


@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_warden_or_idle_supervisor_is_replaced(
    wait: Wait, spec: Specify, launcher: process.Launcher, victim: int, find_helpers: FindHelpers
) -> None:
    try:
        wait(lambda: process.run(spec("true"), launcher=launcher))
        helper = find_helpers()[victim]
        helper.kill()
        helper.wait(30)
        if victim == 1:  # until the warden has noticed, a run is refused
            assert select.select([launcher._idle[0].control], [], [], 30)[0]
        for _again in range(3):
            assert wait(lambda: process.run(spec("true"), launcher=launcher)).exit_code == 0
    finally:
        launcher.close()
    assert find_helpers() == []


def test_a_request_that_a_killed_supervisor_never_read_is_refused(
    wait: Wait, spec: Specify, launcher: process.Launcher, find_helpers: FindHelpers
) -> None:
    asked = spec("touch", "started")

    async def ask() -> Fault:
        await process.run(spec("true"), launcher=launcher)
        warden, supervisor = find_helpers()
        warden.suspend()  # so that the end of its supervisor goes unseen
        supervisor.kill()
        faults: list[Fault] = []

        async def run() -> None:
            try:
                await process.run(asked, launcher=launcher)
            except Fault as fault:
                faults.append(fault)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            await anyio.wait_all_tasks_blocked()
            warden.resume()
        return faults[0]

    try:
        fault = wait(ask)
    finally:
        launcher.close()
    assert fault.kind is FaultKind.UNAVAILABLE
    assert not (asked.cwd / "started").exists()


DEAF_WARDEN = """
import signal
from faultless_target import supervisor, warden

def serve_nobody(spawner, control):
    spawner.system.receive(control, 1)
    while True:
        signal.pause()

supervisor.serve = serve_nobody
warden.main()
"""


def test_a_supervisor_that_hears_nothing_is_killed_by_the_warden(
    wait: Wait, spec: Specify, monkeypatch: pytest.MonkeyPatch, find_helpers: FindHelpers
) -> None:
    monkeypatch.setattr(session, "_MARGIN_SECONDS", 0.2)
    launcher = process.Launcher(
        warden=(sys.executable, "-I", "-S", "-c", LOAD_TARGET + DEAF_WARDEN, TARGET_PATH)
    )
    asked = spec("true", deadline_seconds=0.1, grace_seconds=0)

    async def ask() -> list[psutil.Process]:
        with pytest.raises(Fault, match="its fate is not known"):
            await process.run(asked, launcher=launcher)
        return find_helpers()

    try:
        _warden, *supervisors = wait(ask)
        assert psutil.wait_procs(supervisors, timeout=30)[1] == []
    finally:
        launcher.close()


def test_a_run_goes_on_when_the_warden_is_killed(
    wait: Wait, spec: Specify, is_gone: IsGone, launcher: process.Launcher, find_helpers: FindHelpers
) -> None:

    async def kill_the_warden() -> process.Finished:
        read_end, write_end = os.pipe()
        with os.fdopen(read_end), os.fdopen(write_end, "w") as gate:
            command = ("sh", "-c", f"read x </dev/fd/{read_end}; exit 6")
            async with process.start(spec(*command, pass_fds=(read_end,)), launcher=launcher) as child:
                warden = find_helpers()[0]
                warden.kill()
                assert is_gone(warden.pid, within_seconds=30)
                gate.write("go\n")
                gate.flush()
                return await child.wait()

    try:
        assert wait(kill_the_warden).exit_code == 6
    finally:
        launcher.close()


def test_a_supervisor_killed_from_outside_is_a_fault_and_its_tree_is_gone(
    wait: Wait, spec: Specify, is_gone: IsGone
) -> None:
    seen: list[int] = []

    async def kill_the_supervisor() -> None:
        async with process.start(spec("sleep", "600")) as child:
            seen.append(child.process_id)
            supervisor = psutil.Process(child.process_id).ppid()
            os.kill(supervisor, signal.SIGKILL)
            await child.wait()

    with pytest.raises(Fault) as caught:
        wait(kill_the_supervisor)
    assert caught.value.kind is FaultKind.CRASH
    assert is_gone(seen[0])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_to_a_whole_group_of_processes_end_no_supervisor(
    wait: Wait, spec: Specify, number: signal.Signals
) -> None:
    """A service manager that stops us signals everybody; the server decides what becomes of its runs."""

    async def disturb() -> process.Finished:
        async with process.start(spec("sleep", "600")) as child:
            supervisor = psutil.Process(child.process_id).parent()
            assert supervisor is not None
            for helper in (supervisor.pid, supervisor.ppid()):
                os.kill(helper, number)
            child.signal(signal.SIGUSR1)
            return await child.wait()

    assert wait(disturb).signal == "SIGUSR1"


def test_a_forked_server_gets_a_warden_of_its_own(wait: Wait, tmp_path: Path) -> None:
    code = """
import anyio, os, pathlib, sys
from faultless import process
spec = process.Spec(command=["sh", "-c", "exit 3"], cwd=pathlib.Path("/"), deadline_seconds=60)
assert anyio.run(process.run, spec).exit_code == 3
child = os.fork()
assert anyio.run(process.run, spec).exit_code == 3
if child: sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("runs", [500])
def test_many_runs_leak_neither_descriptors_nor_zombies(
    wait: Wait, spec: Specify, family: Family, runs: int
) -> None:
    own = psutil.Process()

    async def run_many(count: int) -> None:
        for _run in range(count):
            assert (await process.run(spec("/bin/true"))).exit_code == 0

    wait(lambda: run_many(1))
    descriptors, before = own.num_fds(), family()
    wait(lambda: run_many(runs))
    assert own.num_fds() == descriptors
    assert family() == before
    assert all(one.status() != psutil.STATUS_ZOMBIE for one in before)


def test_many_runs_at_once_leak_nothing(wait: Wait, spec: Specify, launcher: process.Launcher) -> None:
    descriptors = psutil.Process().num_fds()
    exit_codes: list[int | None] = []

    async def run_one(code: int) -> None:
        done = await process.run(spec("sh", "-c", f"exit {code}"), launcher=launcher)
        exit_codes.append(done.exit_code)

    async def run_all() -> None:
        async with anyio.create_task_group() as tasks:
            for code in range(30):
                tasks.start_soon(run_one, code)

    wait(run_all)
    launcher.close()
    assert sorted(code for code in exit_codes if code is not None) == list(range(30))
    assert psutil.Process().num_fds() == descriptors
