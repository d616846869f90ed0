"""A run in a fork of a warm parent cannot be told from a fresh process, and leaves nothing for the next."""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from faultless import process
from faultless.process.warm import Pool, Recipe
from tests.waiting import until

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="forks are used on Linux only"),
]

DEADLINE_SECONDS = 60.0


def recipe(project: Path, interpreter: Path = Path(sys.executable)) -> Recipe:
    return Recipe(interpreter=interpreter, root=project, program="evaluate", env=environment())


def environment(**more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **more}


async def warmed(pool: Pool, wanted: Recipe) -> process.Launcher:
    found: list[process.Launcher] = []

    def is_there() -> bool:
        pool.prepare(wanted)
        if (launcher := pool.find(wanted)) is not None:
            found.append(launcher)
        return bool(found)

    await until(is_there, DEADLINE_SECONDS)
    return found[0]


async def evaluate(
    expression: str, project: Path, launcher: process.Launcher | None, **env: str
) -> process.Finished:
    spec = process.Spec(
        command=[sys.executable, "-m", "evaluate", "one", "two"],
        cwd=project,
        env=environment(**env),
        stdin=expression.encode(),
        deadline_seconds=DEADLINE_SECONDS,
    )
    return await process.run(spec, launcher=launcher)


async def value(expression: str, project: Path, launcher: process.Launcher | None, **env: str) -> Any:  # noqa: ANN401 - JSON
    finished = await evaluate(expression, project, launcher, **env)
    assert finished.stderr.text == ""
    return json.loads(finished.stdout.text)


SAME = {
    "arguments": "sys.argv",
    "working folder": "os.getcwd()",
    "environment": "sorted(os.environ.items())",
    "import path": "sys.path",
    "own modules": "[name for name in sys.modules if 'warden' in name or 'faultless' in name]",
    "main module": "sys.modules['__main__'].__spec__.name",
    "session leader": "os.getsid(0) == os.getpid() == os.getpgid(0)",
    "descriptors": "sorted(os.listdir('/proc/self/fd'), key=int)[:-1]",
    "signals": "[str(signal.getsignal(number)) for number in sorted(signal.valid_signals())]",
    "signal mask": "sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ()))",
    "wake-up descriptor": "signal.set_wakeup_fd(-1)",
    "threads": "len(os.listdir('/proc/self/task')), threading.current_thread() is threading.main_thread()",
    "garbage collection": "gc.isenabled(), gc.get_threshold()",
    "streams": "[(s.encoding, s.errors, s.line_buffering, s.name, s.mode) for s in (sys.stdin, sys.stdout, sys.stderr)]",
    "flags": "str(sys.flags)",
    "mask for new files": "os.umask(0)",
    "recursion limit": "sys.getrecursionlimit()",
    "exception context": "repr(sys.exc_info())",
    "import hooks": "[str(type(hook)) for hook in sys.meta_path]",
}


async def test_a_fork_sees_what_a_fresh_process_sees(pool: Pool, project: Path) -> None:
    launcher = await warmed(pool, recipe(project))
    expression = "{" + ", ".join(f"{name!r}: ({code})" for name, code in SAME.items()) + "}"
    warm = await value(expression, project, launcher, EXTRA="1", PYTHONPATH=str(project))
    cold = await value(expression, project, None, EXTRA="1", PYTHONPATH=str(project))
    assert warm == cold


async def test_a_planted_difference_would_be_seen(pool: Pool, project: Path) -> None:
    launcher = await warmed(pool, recipe(project))
    assert await value("sorted(os.environ.items())", project, launcher, EXTRA="1") != await value(
        "sorted(os.environ.items())", project, None
    )


async def test_a_safe_path_is_safe_in_a_fork_too(pool: Pool, project: Path) -> None:
    safe = {"PYTHONSAFEPATH": "1", "PYTHONPATH": str(project)}
    wanted = Recipe(
        interpreter=Path(sys.executable), root=project, program="evaluate", env=environment(**safe)
    )
    launcher = await warmed(pool, wanted)
    assert await value("sys.path", project, launcher, **safe) == await value(
        "sys.path", project, None, **safe
    )


async def test_random_numbers_differ_between_runs(pool: Pool, project: Path) -> None:
    launcher = await warmed(pool, recipe(project))
    drawn = [await value("random.random(), random.getrandbits(64)", project, launcher) for _ in range(3)]
    assert len({tuple(numbers) for numbers in drawn}) == 3


MUTATIONS = {
    "builtins": "__builtins__.__dict__.update(len=None) if hasattr(__builtins__, '__dict__') else __builtins__.update(len=None)",
    "sys.modules": "sys.modules.update(json=None)",
    "environment": "os.environ.update(LEFT='behind')",
    "working folder": "os.chdir('/')",
    "signal handlers": "str(signal.signal(signal.SIGUSR1, signal.SIG_IGN))",
    "mask for new files": "os.umask(0o777)",
    "random state": "random.seed(1)",
    "import path": "sys.path.clear()",
    "threads": "threading.Thread(target=threading.Event().wait, daemon=True).start()",
    "recursion limit": "sys.setrecursionlimit(50)",
    "descriptors": "os.closerange(3, 50)",
}


@pytest.mark.parametrize("mutation", MUTATIONS.values(), ids=MUTATIONS)
async def test_what_a_run_does_to_its_process_is_gone_with_it(
    pool: Pool, project: Path, mutation: str
) -> None:
    launcher = await warmed(pool, recipe(project))
    observed = "{" + ", ".join(f"{name!r}: ({code})" for name, code in SAME.items()) + "}"
    before = await value(observed, project, launcher)
    await evaluate(f"[{mutation}, 1]", project, launcher)
    assert await value(observed, project, launcher) == before


ENDINGS: dict[str, tuple[str, int | None, str | None]] = {
    "success": ("1", 0, None),
    "sys.exit": ("sys.exit(7)", 7, None),
    "sys.exit with words": ("sys.exit('words')", 1, None),
    "an exception": ("1 / 0", 1, None),
    "os._exit": ("os._exit(9)", 9, None),
    "a signal": ("os.kill(os.getpid(), signal.SIGKILL)", None, "SIGKILL"),
    "a keyboard interrupt": ("signal.raise_signal(signal.SIGINT)", None, "SIGINT"),
}


@pytest.mark.parametrize(("expression", "exit_code", "signal_name"), ENDINGS.values(), ids=ENDINGS)
async def test_a_fork_ends_as_a_fresh_process_does(
    pool: Pool, project: Path, expression: str, exit_code: int | None, signal_name: str | None
) -> None:
    launcher = await warmed(pool, recipe(project))
    for where in (launcher, None):
        finished = await evaluate(expression, project, where)
        assert (finished.exit_code, finished.signal) == (exit_code, signal_name)


async def test_what_is_registered_for_the_end_still_happens(pool: Pool, project: Path) -> None:
    launcher = await warmed(pool, recipe(project))
    late = "__import__('atexit').register(lambda: os.write(1, b'late')) and 0"
    for where in (launcher, None):
        assert (await evaluate(late, project, where)).stdout.text == "late0"
    thread = "threading.Thread(target=lambda: os.write(1, b'joined')).start()"
    assert "joined" in (await evaluate(thread, project, launcher)).stdout.text


async def test_a_deadline_ends_a_fork_and_its_children(pool: Pool, project: Path) -> None:
    launcher = await warmed(pool, recipe(project))
    spec = process.Spec(
        command=[sys.executable, "-m", "evaluate"],
        cwd=project,
        env=environment(),
        stdin=b"[os.fork(), os.write(1, b'%d ' % os.getpid()), signal.pause()]",
        deadline_seconds=2,
        grace_seconds=0.2,
    )
    finished = await process.run(spec, launcher=launcher)
    assert finished.timed_out
    for process_id in finished.stdout.text.split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(process_id), 0)
    assert await value("1 + 1", project, launcher) == 2


async def test_any_other_command_is_run_as_usual(pool: Pool, project: Path) -> None:
    launcher = await warmed(pool, recipe(project))
    spec = process.Spec(command=["echo", "hello"], cwd=project, deadline_seconds=DEADLINE_SECONDS)
    assert (await process.run(spec, launcher=launcher)).stdout.text == "hello\n"


async def test_runs_go_side_by_side(pool: Pool, project: Path) -> None:
    launcher = await warmed(pool, recipe(project))
    answers: list[int] = []

    async def add(number: int) -> None:
        answers.append(await value(f"{number} * 2", project, launcher))

    async with anyio.create_task_group() as tasks:
        for number in range(8):
            tasks.start_soon(add, number)
    assert sorted(answers) == [number * 2 for number in range(8)]


@pytest.mark.parametrize("version", ["3.8", "3.9", "3.10", "3.12", "3.13"])
async def test_it_works_in_other_interpreters(pool: Pool, project: Path, version: str) -> None:
    found = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}")) or [
        Path(folder) / f"python{version}"
        for folder in os.environ["PATH"].split(os.pathsep)
        if (Path(folder) / f"python{version}").exists() and "shims" not in folder
    ]
    if not found:
        pytest.skip(f"needs python{version}")
    interpreter = found[0]
    launcher = await warmed(pool, recipe(project, interpreter=interpreter))
    spec = process.Spec(
        command=[str(interpreter), "-m", "evaluate"],
        cwd=project,
        env=environment(),
        stdin=b"list(sys.version_info[:2])",
        deadline_seconds=DEADLINE_SECONDS,
    )
    finished = await process.run(spec, launcher=launcher)
    assert json.loads(finished.stdout.text) == [int(part) for part in version.split(".")]


def test_a_closed_pool_leaves_no_process(project: Path) -> None:
    async def use() -> int:
        pool = Pool()
        launcher = await warmed(pool, recipe(project))
        parent: int = await value("os.getppid()", project, launcher)
        pool.close()
        return parent

    supervisor = anyio.run(use)
    with anyio_deadline():
        while Path(f"/proc/{supervisor}").exists():
            os.sched_yield()


class anyio_deadline:  # noqa: N801 - reads as a statement
    """An alarm for waits outside of an event loop."""

    def __enter__(self) -> None:
        signal.alarm(int(DEADLINE_SECONDS))

    def __exit__(self, *_: object) -> None:
        signal.alarm(0)
