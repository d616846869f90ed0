"""When a warm parent is used, replaced and refused."""

import ctypes
import os
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from faultless.process import Launcher
from faultless.process.warm import Pool, Recipe
from tests.process.warm.test_forks import environment, value, warmed
from tests.waiting import until

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="forks are used on Linux only"),
]

DEADLINE_SECONDS = 60.0
RETIRING = """
import ctypes, threading
over = threading.Event()
thread = threading.Thread(target=over.wait, daemon=True)
thread.start()
END = ctypes.CFUNCTYPE(None)(lambda: (over.set(), thread.join()) and None)
getattr(ctypes.CDLL(None), "__register_atfork")(END, None, None, None)
"""
"""A library that ends its thread before a fork, as OpenBLAS does."""
PROGRAM = "import json, os, sys\nsys.stdout.write(json.dumps(eval(sys.stdin.read())))"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    (project / "evaluate.py").write_text(PROGRAM)
    return project


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder that counts as installed packages."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    modules = {
        "threading_one": "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()",
        "retiring_one": RETIRING,
        "opening_one": "import os\nKEPT = os.open('/dev/null', os.O_RDONLY)",
        "raising_one": "raise SystemExit(3)",
    }
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)
    return folder


def recipe(project: Path, installed: Path | None = None, **env: str) -> Recipe:
    path = {"PYTHONPATH": str(installed)} if installed else {}
    return Recipe(
        interpreter=Path(sys.executable), root=project, program="evaluate", env=environment(**path, **env)
    )


def warm_up(folder: Path, module: str) -> Path:
    script = folder / "warm_up.py"
    script.write_text(f"import {module}")
    return script


async def preloaded(names: list[str], wanted: Recipe, project: Path, launcher: Launcher) -> list[str]:
    """Which of the names a run finds loaded before it imports anything."""
    expression = f"[name for name in {names!r} if name in sys.modules]"
    found: list[str] = await value(expression, project, launcher, **dict(wanted.env))
    return found


async def test_the_first_run_is_cold_and_nobody_waits(pool: Pool, project: Path) -> None:
    assert pool.find(recipe(project)) is None


async def test_who_waits_gets_a_parent(pool: Pool, project: Path) -> None:
    wanted = recipe(project)
    launcher = await pool.wait_for(wanted, DEADLINE_SECONDS)
    assert launcher is not None
    assert pool.find(wanted) is launcher


async def test_who_waits_for_a_parent_that_cannot_be_is_told_to_run_cold(pool: Pool, project: Path) -> None:
    script = project / "warm_up.py"
    script.write_text("raise SystemExit(3)")
    wanted = replace(recipe(project), warm_up=script)
    assert await pool.wait_for(wanted, DEADLINE_SECONDS) is None
    assert pool.why_cold(wanted) is not None


async def test_code_of_ones_own_may_be_loaded_and_retires_the_parent_when_it_changes(
    pool: Pool, project: Path, tmp_path: Path
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "engine.py").write_text("VALUE = 1")
    script = tmp_path / "warm_up.py"
    script.write_text("import engine")
    foreign = replace(recipe(project, PYTHONPATH=str(own)), warm_up=script)
    assert await pool.wait_for(foreign, DEADLINE_SECONDS) is None
    wanted = replace(foreign, trusted_folder=own)
    launcher = await pool.wait_for(wanted, DEADLINE_SECONDS)
    assert launcher is not None
    assert await preloaded(["engine"], wanted, project, launcher) == ["engine"]
    (own / "engine.py").write_text("VALUE = 22")
    assert pool.find(wanted) is None


async def test_recipes_that_differ_share_nothing(pool: Pool, project: Path) -> None:
    one = await warmed(pool, recipe(project, SETTING="1"))
    assert pool.find(recipe(project, SETTING="2")) is None
    assert pool.find(recipe(project, SETTING="1")) is one


@pytest.mark.parametrize(
    ("spoiler", "reason"),
    [
        ("threading_one", "threads are running"),
        ("opening_one", "descriptors were left open"),
        ("raising_one", "did not come up"),
    ],
)
async def test_a_warm_up_that_changes_the_process_means_cold(
    pool: Pool, project: Path, installed: Path, tmp_path: Path, spoiler: str, reason: str
) -> None:
    wanted = replace(recipe(project, installed), warm_up=warm_up(tmp_path, spoiler))
    assert await pool.wait_for(wanted, DEADLINE_SECONDS) is None
    assert reason in (pool.why_cold(wanted) or "")


async def test_a_library_that_ends_its_threads_before_a_fork_may_be_loaded(
    pool: Pool, project: Path, installed: Path, tmp_path: Path
) -> None:
    if not hasattr(ctypes.CDLL(None), "__register_atfork"):
        pytest.skip("needs the GNU C library")
    wanted = replace(recipe(project, installed), warm_up=warm_up(tmp_path, "retiring_one"))
    launcher = await pool.wait_for(wanted, DEADLINE_SECONDS)
    assert launcher is not None
    assert await preloaded(["retiring_one"], wanted, project, launcher) == ["retiring_one"]
    alive = "sys.modules['retiring_one'].thread.is_alive()"
    assert await value(alive, project, launcher, **dict(wanted.env)) is False


async def test_a_package_that_is_installed_or_removed_retires_the_parent(
    pool: Pool, project: Path, tmp_path: Path
) -> None:
    home = tmp_path / "environment"
    packages = home / "lib" / "python3.11" / "site-packages"
    packages.mkdir(parents=True)
    (home / "bin").mkdir()
    (home / "bin" / "python").symlink_to(sys.executable)
    wanted = Recipe(interpreter=home / "bin" / "python", root=project, program="evaluate", env=environment())
    await warmed(pool, wanted)
    (packages / "new.pth").write_text("")
    assert pool.find(wanted) is None


async def test_a_parent_is_replaced_after_its_share_of_runs(project: Path) -> None:
    pool = Pool(runs_at_most=2)
    wanted = recipe(project)
    await warmed(pool, wanted)
    assert pool.find(wanted) is not None
    assert pool.find(wanted) is None
    pool.close()


async def test_a_parent_that_was_killed_is_noticed(pool: Pool, project: Path) -> None:
    wanted = recipe(project)
    launcher = await warmed(pool, wanted)
    assert launcher.process_id is not None
    os.kill(launcher.process_id, 9)
    await until(lambda: pool.find(wanted) is None, DEADLINE_SECONDS)


async def test_an_idle_parent_gives_its_memory_back(project: Path) -> None:
    pool = Pool(idle_seconds=0.05)
    wanted = recipe(project)
    before = {child.pid for child in psutil.Process().children()}
    pool.prepare(wanted)
    begun = [child for child in psutil.Process().children() if child.pid not in before]
    await until(lambda: not any(child.is_running() for child in begun), DEADLINE_SECONDS)
    assert pool.find(wanted) is None


async def test_a_warm_up_that_loads_the_project_is_refused(pool: Pool, project: Path, tmp_path: Path) -> None:
    script = tmp_path / "warm_up.py"
    script.write_text(
        textwrap.dedent(f"""
        import sys
        sys.path.insert(0, {str(project)!r})
        sys.stdin.read = lambda: "1"
        import secretly_loaded
        """)
    )
    (project / "secretly_loaded.py").write_text("")
    wanted = Recipe(
        interpreter=Path(sys.executable), root=project, program="evaluate", env=environment(), warm_up=script
    )
    assert await pool.wait_for(wanted, DEADLINE_SECONDS) is None
    assert "secretly_loaded is no installed package" in (pool.why_cold(wanted) or "")


async def test_an_interpreter_that_does_not_start_means_cold(
    pool: Pool, project: Path, tmp_path: Path
) -> None:
    wanted = Recipe(interpreter=tmp_path / "none", root=project, program="evaluate", env=environment())
    pool.prepare(wanted)
    assert pool.find(wanted) is None
