"""The process of the next run waits before it is asked for, and nobody can tell."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from faultless import process
from faultless.process.warm import Pool, Recipe
from tests.process.warm.test_forks import DEADLINE_SECONDS, SAME, environment, value, warmed
from tests.waiting import let_pass, until

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="forks are used on Linux only"),
]


def recipe(project: Path, warm_up: str = "") -> Recipe:
    script = project / "warm_up.py"
    script.write_text(warm_up)
    return Recipe(
        interpreter=Path(sys.executable),
        root=project,
        program="evaluate",
        env=environment(),
        warm_up=script,
    )


async def standbys(project: Path, launcher: process.Launcher) -> list[psutil.Process]:
    """Those that wait, once there are any."""
    supervisor = psutil.Process(await value("os.getppid()", project, launcher))
    await until(supervisor.children)
    return supervisor.children()


async def told_by_standby(expression: str, project: Path, launcher: process.Launcher, **env: str) -> Any:  # noqa: ANN401 - JSON
    """What the run says that is the process which waited; one that is not ready yet is passed over."""
    with anyio.fail_after(DEADLINE_SECONDS):
        while True:
            waiting = await standbys(project, launcher)
            process_id, told = await value(f"[os.getpid(), {expression}]", project, launcher, **env)
            if process_id in {each.pid for each in waiting}:
                return told


async def test_it_sees_what_a_fresh_process_sees(pool: Pool, project: Path) -> None:
    launcher = await warmed(pool, recipe(project))
    expression = "{" + ", ".join(f"{name!r}: ({code})" for name, code in SAME.items()) + "}"
    waited = await told_by_standby(expression, project, launcher, EXTRA="1", PYTHONPATH=str(project))
    assert waited == await value(expression, project, None, EXTRA="1", PYTHONPATH=str(project))


PREWARMING = """
import os, random, sys

def prewarm():
    print("prewarmed")
    sys.argv.append("prewarmed")
    os.environ["PREWARMED"] = "1"
    sys.path.append("/prewarmed")
    random.seed(1)
    sys.prewarmed = True
"""


async def test_what_prewarming_prints_and_sets_is_not_seen_in_the_run(pool: Pool, project: Path) -> None:
    launcher = await warmed(pool, recipe(project, PREWARMING))
    told = await told_by_standby(
        "[getattr(sys, 'prewarmed', False), sys.argv, 'PREWARMED' in os.environ, '/prewarmed' in sys.path, random.random()]",
        project,
        launcher,
    )
    assert told[0] is True
    assert told[1][1:] == ["one", "two"]
    assert told[2:4] == [False, False]
    assert told[4] != 0.13436424411240122  # what random.seed(1) leads to


async def test_the_parent_itself_never_prewarms(pool: Pool, project: Path) -> None:
    launcher = await warmed(pool, recipe(project, PREWARMING))
    assert await value("hasattr(sys, 'prewarmed')", project, launcher) is False


SPOILED = {
    "raises": "raise ValueError",
    "exits": "import os; os._exit(3)",
    "hangs": "import signal; signal.pause()",
    "leaves a thread": "import threading; threading.Thread(target=threading.Event().wait).start()",
    "leaves a child": "import os, signal; os.fork() or signal.pause()",
    "leaves a descriptor": "import os; os.open('/dev/null', os.O_RDONLY)",
}


@pytest.mark.parametrize("body", SPOILED.values(), ids=SPOILED)
async def test_a_run_does_without_a_prewarming_that_went_wrong(pool: Pool, project: Path, body: str) -> None:
    launcher = await warmed(pool, recipe(project, f"def prewarm():\n    {body}\n"))
    (waiting, *_) = await standbys(project, launcher)
    for _attempt in range(3):
        assert await value("os.getpid()", project, launcher) != waiting.pid


async def test_one_that_is_killed_while_it_waits_is_not_missed(pool: Pool, project: Path) -> None:
    launcher = await warmed(pool, recipe(project))
    (waiting,) = await standbys(project, launcher)
    waiting.send_signal(signal.SIGKILL)
    await until(lambda: waiting.status() == psutil.STATUS_ZOMBIE)
    assert await value("1 + 1", project, launcher) == 2
    assert await told_by_standby("1 + 1", project, launcher) == 2


async def test_another_command_does_not_wait_for_it(pool: Pool, project: Path) -> None:
    launcher = await warmed(pool, recipe(project))
    await standbys(project, launcher)
    spec = process.Spec(command=["echo", "hello"], cwd=project, deadline_seconds=DEADLINE_SECONDS)
    finished = await process.run(spec, launcher=launcher)
    assert (finished.stdout.text, finished.leftovers) == ("hello\n", 0)


async def test_every_run_happens_once_however_close_it_follows_another(pool: Pool, project: Path) -> None:
    launcher = await warmed(pool, recipe(project))
    pauses = [number % 10 * 0.012 for number in range(60)]  # from none to more than it takes to stand by
    for number, seconds in enumerate(pauses):
        await value(f"open('runs', 'a').write('{number}\\n')", project, launcher)
        await let_pass(seconds)
    assert (project / "runs").read_text().split() == [str(number) for number in range(60)]


async def test_a_megabyte_of_arguments_reaches_it(pool: Pool, project: Path) -> None:
    launcher = await warmed(pool, recipe(project))
    many = [f"argument-{number:06}" for number in range(60_000)]
    with anyio.fail_after(DEADLINE_SECONDS):
        while True:
            (waiting, *_) = await standbys(project, launcher)
            spec = process.Spec(
                command=[sys.executable, "-m", "evaluate", *many],
                cwd=project,
                env=environment(),
                stdin=b"[os.getpid(), len(sys.argv), sys.argv[-1]]",
                deadline_seconds=DEADLINE_SECONDS,
            )
            finished = await process.run(spec, launcher=launcher)
            assert finished.stdout.text.endswith(f', {len(many) + 1}, "argument-059999"]')
            if finished.stdout.text.startswith(f"[{waiting.pid},"):
                return


async def test_a_deadline_ends_it_with_its_children(pool: Pool, project: Path) -> None:
    launcher = await warmed(pool, recipe(project))
    await told_by_standby("1", project, launcher)
    await standbys(project, launcher)
    spec = process.Spec(
        command=[sys.executable, "-m", "evaluate"],
        cwd=project,
        env=environment(),
        stdin=b"[os.fork(), os.write(1, b'%d ' % os.getpid()), signal.pause()]",
        deadline_seconds=2,
        grace_seconds=0.2,
    )
    finished = await process.run(spec, launcher=launcher)
    assert finished.timed_out, finished.stderr.text
    assert not any(psutil.pid_exists(int(number)) for number in finished.stdout.text.split())


async def test_none_is_left_when_the_pool_closes(pool: Pool, project: Path) -> None:
    launcher = await warmed(pool, recipe(project))
    (waiting,) = await standbys(project, launcher)
    pool.close()
    await until(lambda: not waiting.is_running())


async def test_none_is_left_when_its_supervisor_is_killed(pool: Pool, project: Path) -> None:
    launcher = await warmed(pool, recipe(project))
    (waiting,) = await standbys(project, launcher)
    os.kill(waiting.ppid(), signal.SIGKILL)
    await until(lambda: not waiting.is_running())
    assert await value("1 + 1", project, launcher) == 2


async def test_no_more_than_two_wait_after_many_runs_at_once(pool: Pool, project: Path) -> None:
    launcher = await warmed(pool, recipe(project))
    async with anyio.create_task_group() as tasks:
        for _number in range(8):
            tasks.start_soon(value, "1", project, launcher)
    await standbys(project, launcher)
    assert launcher.process_id is not None
    parent = psutil.Process(launcher.process_id)
    await until(
        lambda: len(parent.children(recursive=True)) <= 4
    )  # two supervisors, each with one that waits
