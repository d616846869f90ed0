"""Which Python runs the tests, in the order the design fixes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from faultless.contract import Fault, FaultKind
from faultless.servers.pytest.interpreter import Interpreter, Surroundings, find_interpreter, make_variables
from tests.servers.pytest.conftest import Server, WriteProject


def make_environment(folder: Path) -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text("home = /usr/bin\n")
    python = folder / "bin" / "python"
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "repository" / "packages" / "shop"
    folder.mkdir(parents=True)
    (tmp_path / "repository" / ".git").mkdir()
    return folder


def look(root: Path, own: Path | None = None, **variables: str) -> Interpreter:
    return find_interpreter(root, None, Surroundings({"PATH": "", **variables}, own))


def test_the_option_comes_first(root: Path, tmp_path: Path) -> None:
    make_environment(root / ".venv")
    chosen = find_interpreter(root, tmp_path / "python", Surroundings({}, None))
    assert (chosen.path, chosen.reason) == (tmp_path / "python", "--python")


@pytest.mark.parametrize("name", [".venv", "venv"])
def test_an_environment_in_the_root_comes_next(root: Path, tmp_path: Path, name: str) -> None:
    make_environment(root / name)
    make_environment(tmp_path / "active")
    found = look(root, VIRTUAL_ENV=str(tmp_path / "active"))
    assert (found.path, found.reason) == (root / name / "bin" / "python", f"{name} in the root")


def test_then_one_in_a_parent_up_to_the_repositorys_top(root: Path, tmp_path: Path) -> None:
    make_environment(tmp_path / ".venv")
    make_environment(tmp_path / "repository" / ".venv")
    assert look(root).path == tmp_path / "repository" / ".venv" / "bin" / "python"


def test_a_parent_above_the_repository_is_none_of_ours(root: Path, tmp_path: Path) -> None:
    make_environment(tmp_path / ".venv")
    with pytest.raises(Fault) as caught:
        look(root)
    assert caught.value.kind is FaultKind.UNAVAILABLE


def test_then_the_active_environment(root: Path, tmp_path: Path) -> None:
    make_environment(tmp_path / "active")
    make_environment(tmp_path / "conda")
    both = look(root, VIRTUAL_ENV=str(tmp_path / "active"), CONDA_PREFIX=str(tmp_path / "conda"))
    assert (both.path.parts[-3], both.reason) == ("active", "VIRTUAL_ENV")
    assert look(root, CONDA_PREFIX=str(tmp_path / "conda")).reason == "CONDA_PREFIX"


def test_then_python_on_path(root: Path, tmp_path: Path) -> None:
    make_environment(tmp_path / "system")
    found = look(root, PATH=str(tmp_path / "system" / "bin"))
    assert (found.path, found.reason) == (tmp_path / "system" / "bin" / "python", "python on PATH")


def test_the_servers_own_environment_is_passed_over(root: Path, tmp_path: Path) -> None:
    own = make_environment(tmp_path / "tool")
    make_environment(tmp_path / "system")
    path = os.pathsep.join([str(own / "bin"), str(tmp_path / "system" / "bin")])
    assert look(root, own, VIRTUAL_ENV=str(own), PATH=path).path == tmp_path / "system" / "bin" / "python"


def test_the_servers_own_environment_is_taken_where_it_is_the_projects(root: Path, tmp_path: Path) -> None:
    own = make_environment(tmp_path / "shared")
    record = own / "lib" / "python3.12" / "site-packages" / "shop-1.0.dist-info" / "direct_url.json"
    record.parent.mkdir(parents=True)
    record.write_text(json.dumps({"url": root.as_uri(), "dir_info": {"editable": True}}))
    assert look(root, own, VIRTUAL_ENV=str(own)).reason == "VIRTUAL_ENV"
    (root / ".venv").symlink_to(own)
    assert look(root, own).reason == ".venv in the root"


@pytest.mark.parametrize("broken", ["the folder", "the interpreter"])
def test_an_environment_that_leads_nowhere_is_to_be_recreated(
    root: Path, tmp_path: Path, broken: str
) -> None:
    if broken == "the folder":
        (root / ".venv").symlink_to(tmp_path / "gone")
    else:
        python = make_environment(root / ".venv") / "bin" / "python"
        python.unlink()
        python.symlink_to(tmp_path / "gone")
    with pytest.raises(Fault) as caught:
        look(root)
    assert caught.value.kind is FaultKind.UNAVAILABLE
    assert (caught.value.hint or "").startswith("recreate it")


def test_a_program_that_is_no_python_is_unavailable(serve: Callable[..., Server]) -> None:
    error = serve({"test_a.py": "def test_a(): pass\n"}, python=Path("/bin/ls")).fail()
    assert error["data"]["kind"] == "unavailable"
    assert "it does not run Python code" in error["message"]


def test_tests_see_the_environment_as_if_it_were_activated(root: Path, tmp_path: Path) -> None:
    own, project = make_environment(tmp_path / "tool"), make_environment(root / ".venv")
    path = os.pathsep.join([str(own / "bin"), "/usr/bin"])
    surroundings = Surroundings(
        {"PATH": path, "VIRTUAL_ENV": str(own), "PYTEST_CURRENT_TEST": "x", "KEPT": "1"}, own
    )
    variables = make_variables(find_interpreter(root, None, surroundings), surroundings)
    expected = os.pathsep.join([str(project / "bin"), "/usr/bin"])
    assert variables == {"PATH": expected, "VIRTUAL_ENV": str(project), "KEPT": "1"}


def test_every_answer_says_which_interpreter_was_used_and_why(
    serve: Callable[..., Server], write_project: WriteProject
) -> None:
    response = serve({"test_a.py": "def test_a(): pass\n"}).call("execute_tests", {})
    assert response["result"]["_meta"]["faultless/interpreter"]["reason"] == "--python"


def test_nothing_of_ours_can_be_seen_by_the_tests(serve: Callable[..., Server]) -> None:
    text = """
        import os, sys, subprocess

        def test_environment():
            assert not [name for name in os.environ if "FAULTLESS" in name]
            assert "PYTEST_PLUGINS" not in os.environ
            assert not any("faultless" in entry and "worker" in entry for entry in sys.path)
            assert "worker" not in os.environ.get("PYTHONPATH", "")

        def test_child():
            code = "import sys; sys.exit('faultless_pytest_worker' in sys.modules)"
            assert subprocess.run([sys.executable, "-c", code]).returncode == 0

        def test_descriptors_are_not_inherited():
            out = subprocess.run(["ls", "/proc/self/fd"], capture_output=True, text=True).stdout.split()
            assert all(int(number) < 200 for number in out)
    """
    answer = serve({"test_a.py": text}).run(verbosity=1)
    assert [test["message"] for test in answer["tests"]] == [None, None, None]
