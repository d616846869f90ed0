"""The wheel without extras, in an environment that has nothing else: every command works or names the extra."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from faultless.servers import SERVERS

ROOT = Path(__file__).parents[2]
UV = Path(sys.executable).with_name("uv")
DEADLINE_SECONDS = 120

Run = Callable[..., subprocess.CompletedProcess[str]]

CALLS = {
    "gmail": ("list_labels",),
    "obsidian": ("list_notes",),
    "pytest": ("discover_tests",),
    "symbolic": ("health_check",),
    "toolbox": ("hello", "name=world"),
}
WITHOUT_EXTRA = {name for name, entry in SERVERS.items() if entry.extra is None}


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that is not the checkout, with one test and one tool in it."""
    folder = tmp_path_factory.mktemp("elsewhere")
    (folder / "test_one.py").write_text("def test_one():\n    pass\n")
    (folder / "tools").mkdir()
    tool = folder / "tools" / "hello"
    tool.write_text("#!/bin/sh\n# @tool Greet somebody\n# @param name: str  Who\necho hello $ARG_NAME\n")
    tool.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def base_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    python = folder / "env" / "bin" / "python"
    wheels = folder / "wheels"
    for step in (
        (UV, "build", "--quiet", "--wheel", "--no-build-isolation", "--out-dir", wheels, ROOT),
        (UV, "venv", "--quiet", "--python", sys.executable, folder / "env"),
        (
            UV, "pip", "install", "--quiet", "--python", python,
            "--require-hashes", "-r", ROOT / "requirements" / "base.txt",
        ),
    ):  # fmt: skip
        done = run(*step, cwd=ROOT)
        assert done.returncode == 0, done.stderr
    (wheel,) = wheels.glob("*.whl")
    done = run(UV, "pip", "install", "--quiet", "--python", python, "--no-deps", wheel, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return python


@pytest.fixture(scope="module")
def command(base_python: Path, elsewhere: Path) -> Run:
    def call(*words: str) -> subprocess.CompletedProcess[str]:
        return run(base_python.with_name("faultless"), *words, cwd=elsewhere)

    return call


def test_the_version_and_the_help_are_told(command: Run) -> None:
    assert command("--version").stdout.startswith("faultless ")
    assert "Exit status" in command("--help").stdout


def test_doctor_looks_at_everything_and_names_each_missing_extra(command: Run) -> None:
    finished = command("doctor")
    assert "report it" not in finished.stdout + finished.stderr
    for name, entry in SERVERS.items():
        assert f"server {name}" in finished.stdout
        if entry.extra:
            assert f"pip install 'faultless[{entry.extra}]'" in finished.stdout


@pytest.mark.parametrize("name", sorted(SERVERS))
@pytest.mark.parametrize("verb", ["serve", "call", "tools"])
def test_the_help_of_every_server_is_there(command: Run, verb: str, name: str) -> None:
    finished = command(verb, name, "--help")
    assert finished.returncode == 0
    assert "--root" in finished.stdout


@pytest.mark.parametrize("name", sorted(WITHOUT_EXTRA - {"pytest"}))
def test_a_server_without_an_extra_lists_its_tools_and_answers(command: Run, name: str) -> None:
    assert command("tools", name).returncode == 0
    assert command("call", name, *CALLS[name]).returncode == 0


def test_the_pytest_server_says_that_this_environment_has_no_pytest(command: Run, base_python: Path) -> None:
    assert command("tools", "pytest").returncode == 0
    finished = command("call", "pytest", *CALLS["pytest"], "--python", str(base_python))
    assert finished.returncode == 2
    assert "report it" not in finished.stderr
    assert "pip install pytest" in finished.stderr


@pytest.mark.parametrize("name", sorted(set(SERVERS) - WITHOUT_EXTRA))
def test_a_server_whose_extra_is_missing_names_it(command: Run, name: str) -> None:
    for words in (("tools", name), ("call", name, *CALLS[name])):
        finished = command(*words)
        assert finished.returncode == 2
        assert f"pip install 'faultless[{SERVERS[name].extra}]'" in finished.stderr
        assert "report it" not in finished.stderr


def test_logging_in_without_the_extra_names_it(command: Run) -> None:
    finished = command("login", "gmail")
    assert finished.returncode == 2
    assert "pip install 'faultless[gmail]'" in finished.stderr
