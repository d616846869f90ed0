"""A server's whole tree ends with it, wherever its processes hid and however the client ended."""

import json
import os
import select
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import anyio
import psutil
import pytest

from faultless.client import Client, RetryPolicy
from faultless.contract import Fault
from tests.client.hostile import command
from tests.client.processes import is_gone

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a daemon may escape"),
]
ECHO = {"text": "hello"}
WITHIN_SECONDS = 10.0
DEADLINE_SECONDS = 60.0
CALL = [sys.executable, "-P", "-m", "faultless", "call", "--command"]

# Each is started beside the server, writes its number to the pipe PIDS, and is hard to find.
HIDEOUTS = {
    "in a session of its own, without our environment": "setsid env -i PIDS=$PIDS sh -c '{say}; exec sleep 600' &",
    "a daemon, forked twice": "(setsid env -i PIDS=$PIDS sh -c '(({say}; exec sleep 600) &)')",
    "a daemon that ignores SIGTERM": "(setsid env -i PIDS=$PIDS sh -c 'trap \"\" TERM; {say}; while :; do sleep 600; done' &)",
}
SAY = 'read pid rest </proc/self/stat; echo $pid >"$PIDS"'
DAEMON = "a daemon that ignores SIGTERM"


def with_hidden(hideout: str, server: list[str]) -> list[str]:
    """The server's command, which first hides somebody."""
    script = HIDEOUTS[hideout].format(say=SAY) + '\nexec "$@"'
    return ["sh", "-c", script, "sh", *server]


class Pids:
    """A named pipe on which those who hide say their numbers."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self._pipe = os.open(path, os.O_RDWR)
        self.env = {"PIDS": str(path)}

    def next(self) -> int:
        assert select.select([self._pipe], [], [], DEADLINE_SECONDS)[0]
        return int(os.read(self._pipe, 64))

    def close(self) -> None:
        os.close(self._pipe)


@pytest.fixture
def pids(tmp_path: Path) -> Iterator[Pids]:
    with closing(Pids(tmp_path / "pids")) as opened:
        yield opened


@pytest.fixture(params=HIDEOUTS)
def hiding(request: pytest.FixtureRequest) -> list[str]:
    return with_hidden(request.param, command())


async def test_nobody_is_left_after_a_normal_end(hiding: list[str], pids: Pids) -> None:
    async with Client(hiding, env=pids.env, grace_seconds=0.5) as client:
        assert (await client.call("echo", ECHO)).value == ECHO
        daemon = pids.next()
        assert not is_gone(daemon)
    assert is_gone(daemon)


async def test_nobody_is_left_of_a_server_that_was_started_again(hiding: list[str], pids: Pids) -> None:
    async with Client(hiding, env=pids.env, grace_seconds=0.5, retry=RetryPolicy(attempts=1)) as client:
        with pytest.raises(Fault) as caught:
            await client.call("killed")
        assert caught.value.details["signal"] == "SIGKILL"
        first = pids.next()
        assert (await client.call("echo", ECHO)).value == ECHO
        assert client.starts == 2
        assert is_gone(first)
        second = pids.next()
        assert not is_gone(second)
    assert is_gone(second)


async def test_nobody_is_left_when_the_client_is_cancelled(hiding: list[str], pids: Pids) -> None:
    async with anyio.create_task_group() as tasks:

        async def call() -> None:
            async with Client(hiding, env=pids.env) as client:
                await client.call("echo", ECHO)
                reached.set()
                await client.call("stuck", timeout=DEADLINE_SECONDS)

        reached = anyio.Event()
        tasks.start_soon(call)
        with anyio.fail_after(DEADLINE_SECONDS):
            await reached.wait()
        tasks.cancel_scope.cancel()
    assert is_gone(pids.next())


CLIENT = """
import anyio, json, sys
from faultless.client import Client

async def main():
    async with Client(json.loads(sys.argv[1])) as client:
        await client.call("silent", timeout=600)

anyio.run(main)
"""


@pytest.fixture(params=["client", "command"])
def program(request: pytest.FixtureRequest) -> list[str]:
    """Waits for an answer that never comes."""
    hiding = with_hidden(DAEMON, command())
    if request.param == "client":
        return [sys.executable, "-c", CLIENT, json.dumps(hiding)]
    return [*CALL, shlex.join(hiding), "silent"]


def test_nobody_is_left_when_the_client_is_killed_outright(program: list[str], pids: Pids) -> None:
    with subprocess.Popen(program, env={**os.environ, **pids.env}) as client:
        daemon = pids.next()
        tree = {each.pid for each in psutil.Process(client.pid).children(recursive=True)}
        assert daemon in tree
        client.send_signal(signal.SIGKILL)
        assert all(is_gone(number, WITHIN_SECONDS) for number in tree)


def test_nobody_is_left_by_the_command(pids: Pids) -> None:
    hiding = with_hidden(DAEMON, command())
    finished = subprocess.run(
        [*CALL, shlex.join(hiding), "echo", "text=hello"],
        env={**os.environ, **pids.env},
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    assert is_gone(pids.next())


async def test_a_supervisor_that_is_killed_is_told_and_takes_the_server_with_it(pids: Pids) -> None:
    server = with_hidden("a daemon, forked twice", command())
    async with Client(server, env=pids.env, retry=RetryPolicy(attempts=1)) as client:
        await client.call("echo", ECHO)
        assert client.process_id is not None
        daemon = pids.next()
        number = client.process_id

        async def kill() -> None:
            os.kill(psutil.Process(number).ppid(), signal.SIGKILL)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(kill)
            with pytest.raises(Fault) as caught:
                await client.call("silent", timeout=DEADLINE_SECONDS)
        assert (caught.value.kind, caught.value.layer) == ("crash", "transport")
        assert is_gone(number, WITHIN_SECONDS)
        assert is_gone(daemon, WITHIN_SECONDS)
        assert (await client.call("echo", ECHO)).value == ECHO


async def test_the_log_of_a_server_is_passed_on_and_its_end_is_kept(
    capfd: pytest.CaptureFixture[str],
) -> None:
    async with Client(command(), echo_stderr=True, retry=RetryPolicy(attempts=1)) as client:
        with pytest.raises(Fault) as caught:
            await client.call("exits")
    assert str(caught.value.details["stderr"]).endswith("fatal: the licence has expired")
    assert "fatal: the licence has expired" in capfd.readouterr().err


async def test_a_relative_folder_and_further_variables_reach_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path)
    server = ["sh", "-c", 'echo "$MORE" >here; exec "$@"', "sh", *command()]
    async with Client(server, cwd=Path("inner"), env={"MORE": "words"}) as client:
        await client.call("echo", ECHO)
    assert (tmp_path / "inner" / "here").read_text() == "words\n"


UNCLOSED = """
import os, sys
from faultless import Fault, SyncClient
client = SyncClient(sys.argv[1:])
client.__enter__()
print(client.call("echo", {"text": "hello"}).text, flush=True)
if os.fork() == 0:
    try:
        client.call("echo", {"text": "hello"}, timeout=5)
    except Fault as fault:
        print(fault.kind, flush=True)
    os._exit(0)
os.wait()
if os.fork() == 0:
    sys.exit(3)
print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
"""


def test_a_script_that_never_leaves_its_client_ends_so_do_its_forks_and_they_are_told_whose_it_is() -> None:
    finished = subprocess.run(
        [sys.executable, "-c", UNCLOSED, *command("modern")],
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=True,
    )
    assert finished.stdout.splitlines() == ["hello", "usage_error", "3"]
