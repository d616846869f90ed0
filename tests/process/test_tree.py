"""Nothing outlives a run, wherever it hid; nothing else is touched."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from faultless import process
from faultless.contract import Fault, FaultKind
from faultless.process.launcher import LOAD_TARGET, TARGET_PATH

Execute = Callable[..., process.Finished]
Specify = Callable[..., process.Spec]
Wait = Callable[..., Any]
IsGone = Callable[..., bool]

# Each says the process id of somebody who is hard to find.
HIDEOUTS = {
    "a grandchild": """
        if os.fork() == 0: hide()
    """,
    "in a session of its own": """
        if os.fork() == 0: os.setsid(); hide()
    """,
    "a daemon, forked twice": """
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0: hide()
            os._exit(0)
        os.wait()
    """,
    "a daemon without our environment": """
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0: say(); os.execve("/bin/sleep", ["sleep", "600"], {})
            os._exit(0)
        os.wait()
    """,
    "a daemon that ignores SIGTERM": """
        if os.fork() == 0:
            os.setsid()
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            if os.fork() == 0: hide()
            os._exit(0)
        os.wait()
    """,
    "a stopped daemon": """
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0: say(); os.kill(os.getpid(), signal.SIGSTOP)
            os._exit(0)
        os.wait()
    """,
}
FIRST = """
import os, signal
gate, ready = os.pipe()
def say():
    target = os.environ.get("SAY") or os.environ.get("FAULTLESS_REPORT_FD") or 1
    os.write(int(target), b"%d\\n" % os.getpid()); os.write(ready, b"!")
def hide():
    say()
    while True: signal.pause()
"""


def hide(hideout: str, last: str) -> tuple[str, ...]:
    lines = HIDEOUTS[hideout].replace("\n        ", "\n")
    return sys.executable, "-I", "-S", "-c", f"{FIRST}{lines}\nos.read(gate, 1)\n{last}\n"


def test_a_deadline_ends_the_whole_tree(wait: Wait, spec: Specify, is_gone: IsGone) -> None:
    results: dict[str, process.Finished] = {}

    async def run(hideout: str) -> None:
        command = hide(hideout, "signal.pause()")
        results[hideout] = await process.run(spec(*command, deadline_seconds=4, grace_seconds=0.2))

    async def run_all() -> None:
        async with anyio.create_task_group() as tasks:
            for hideout in HIDEOUTS:
                tasks.start_soon(run, hideout)

    wait(run_all)
    assert {hideout: done.timed_out for hideout, done in results.items()} == dict.fromkeys(HIDEOUTS, True)
    assert {done.leftovers + done.survivors for done in results.values()} == {0}
    assert all(is_gone(int(done.stdout.text)) for done in results.values())


@pytest.mark.parametrize("hideout", HIDEOUTS)
def test_what_outlives_a_normal_exit_and_holds_the_pipes_is_ended_and_counted(
    execute: Execute, is_gone: IsGone, hideout: str
) -> None:
    done = execute(*hide(hideout, "os._exit(4)"), grace_seconds=0.2)
    assert (done.exit_code, done.timed_out, done.leftovers) == (4, False, 1)
    assert is_gone(int(done.stdout.text))


@pytest.mark.parametrize("hideout", HIDEOUTS)
def test_cancelling_the_caller_ends_the_whole_tree(
    wait: Wait, spec: Specify, is_gone: IsGone, hideout: str
) -> None:
    async def cancel_when_hidden() -> int:
        read_end, write_end = os.pipe()
        command = hide(hideout, "signal.pause()")
        asked = spec(*command, pass_fds=(write_end,), env={"SAY": str(write_end)})
        with os.fdopen(read_end, "rb") as lines, os.fdopen(write_end, "wb"):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(process.run, asked)
                await anyio.wait_readable(read_end)
                tasks.cancel_scope.cancel()
            return int(lines.readline())

    assert is_gone(wait(cancel_when_hidden))


def test_runs_beside_each_other_do_not_touch_each_others_trees(
    wait: Wait, spec: Specify, is_gone: IsGone
) -> None:
    hideout = "a daemon, forked twice"

    async def end_one_keep_the_other() -> None:
        async with process.start(spec(*hide(hideout, "signal.pause()"), report=True)) as keeper:
            assert keeper.report is not None
            daemon = int(await anext(aiter(keeper.report)))
            other = await process.run(spec(*hide(hideout, "os._exit(0)")))
            assert other.leftovers == 1
            assert not is_gone(daemon)
            assert not is_gone(keeper.process_id)
        assert is_gone(daemon)
        assert is_gone(keeper.process_id)

    wait(end_one_keep_the_other)


def test_a_chain_that_forks_away_from_its_killer_is_caught(execute_python: Execute) -> None:
    """Each link starts the next in a new session and ends at once: every process id is soon stale."""
    code = (
        "import os, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile os.fork() == 0: os.setsid()"
    )
    done = execute_python(code, grace_seconds=0)
    assert (done.exit_code, done.survivors) == (0, 0)
    assert done.leftovers >= 1  # two, if a link is seen in the moment between its fork and its end


def test_a_command_that_kills_its_supervisor_is_a_fault_and_gone(
    wait: Wait, spec: Specify, is_gone: IsGone, tmp_path: Path
) -> None:
    daemon = "setsid sh -c 'echo $$ >daemon; exec sleep 600' & while ! [ -s daemon ]; do :; done"
    with pytest.raises(Fault, match="supervised sh was killed") as caught:
        wait(lambda: process.run(spec("sh", "-c", f"{daemon}; echo $$ >self; kill -9 $PPID; sleep 600")))
    assert caught.value.kind is FaultKind.CRASH
    assert all(is_gone(int((tmp_path / name).read_text())) for name in ("daemon", "self"))


def test_a_command_that_stops_its_supervisor_does_not_stop_the_clock(execute: Execute) -> None:
    done = execute("sh", "-c", "kill -STOP $PPID; exec sleep 600", deadline_seconds=0.5)
    assert done.timed_out


def test_a_stranger_who_was_handed_the_pipe_does_not_hold_up_the_answer(
    execute_python: Execute, tmp_path: Path
) -> None:
    """A descriptor on its way through a socket nobody reads stays open for ever."""
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.bind(str(tmp_path / "stranger"))
        stranger.listen()
        code = (
            "import socket; mail = socket.socket(socket.AF_UNIX); mail.connect('stranger');"
            "socket.send_fds(mail, [b'!'], [1]); print('said')"
        )
        done = execute_python(code)
    assert (done.exit_code, done.stdout.text) == (0, "said\n")


WITHOUT_ADOPTION = """
import os
from faultless_target import tree, warden
del os.pidfd_open
tree.adopt_orphans = lambda: None
tree.make_tree = lambda system: tree.GroupTree()
warden.main()
"""


@pytest.fixture
def elsewhere() -> Iterator[process.Launcher]:
    """A warden as on a system that has neither subreapers nor /proc."""
    program = LOAD_TARGET + WITHOUT_ADOPTION
    launcher = process.Launcher(warden=(sys.executable, "-I", "-S", "-c", program, TARGET_PATH))
    yield launcher
    launcher.close()


@pytest.mark.parametrize("hideout", ["a grandchild", "in a session of its own"])
def test_elsewhere_a_deadline_ends_all_that_still_hang_together(
    wait: Wait, spec: Specify, is_gone: IsGone, elsewhere: process.Launcher, hideout: str
) -> None:
    asked = spec(*hide(hideout, "signal.pause()"), deadline_seconds=3)
    done = wait(lambda: process.run(asked, launcher=elsewhere))
    assert (done.timed_out, done.survivors) == (True, 0)
    assert is_gone(int(done.stdout.text))


def test_elsewhere_what_stays_in_the_group_is_ended_and_counted(
    wait: Wait, spec: Specify, is_gone: IsGone, elsewhere: process.Launcher
) -> None:
    asked = spec(*hide("a grandchild", "os._exit(4)"), grace_seconds=0.5)
    done = wait(lambda: process.run(asked, launcher=elsewhere))
    assert (done.exit_code, done.leftovers, done.survivors) == (4, 1, 0)
    assert is_gone(int(done.stdout.text))
    assert wait(lambda: process.run(spec("true"), launcher=elsewhere)).leftovers == 0
