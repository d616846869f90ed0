"""The same answers from pytest 7, 8 and 9 on every Python that can be had here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.servers.pytest.conftest import Answer, Server, WriteProject, is_running_a_test, run_into_deadline

Serve = Callable[..., Server]
UV = Path(sys.executable).with_name("uv")
DEADLINE_SECONDS = 300

TARGETS = [
    ("3.8", "7.0.1"),
    ("3.8", "8.3.*"),
    ("3.9", "7.4.*"),
    ("3.10", "7.4.*"),
    ("3.11", "8.4.*"),
    ("3.12", "8.3.*"),
    ("3.12", "9.*"),
    ("3.13", "9.*"),
    ("3.14", "9.*"),
]

FILES = {
    "pytest.ini": "[pytest]\nfilterwarnings = error\nmarkers =\n    slow\n",
    "tests/test_it.py": """
        import unittest

        import pytest


        @pytest.fixture
        def broken_end():
            yield
            raise OSError("no disk")


        @pytest.mark.parametrize("n", range(3))
        def test_numbers(n):
            print("heard", n)
            assert n != 1


        def test_end(broken_end):
            pass


        @pytest.mark.slow
        @pytest.mark.skip(reason="later")
        def test_skipped():
            pass


        @pytest.mark.xfail(reason="known")
        def test_expected():
            assert False


        class TestOuter:
            class TestOld(unittest.TestCase):
                def test_equal(self):
                    self.assertEqual(1, 1)
    """,
    "broken/test_syntax.py": "def test_two(:\n    pass\n",
    "broken/test_import.py": "import os\nimport nowhere\n",
    "hang/test_hang.py": "import threading\ndef test_hang():\n    threading.Event().wait()\n",
    "crash/test_crash.py": "import os\ndef test_crash():\n    os._exit(0)\n",
    "flaky/test_flaky.py": "tries = []\ndef test_flaky():\n    tries.append(1)\n    assert len(tries) == 2\n",
    "sub/test_sub.py": "def test_sub(subtests):\n    for n in range(3):\n        with subtests.test(n=n):\n            assert n != 1\n",
}


def run(*command: str | Path) -> str:
    finished = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_SECONDS, check=False)
    if finished.returncode != 0:
        pytest.skip(f"{' '.join(map(str, command[1:]))}: {finished.stderr.strip().splitlines()[-1]}")
    return finished.stdout.strip()


def find_python(version: str) -> Path:
    """On PATH, or where pyenv keeps them; skips, visibly, where there is none."""
    on_path = shutil.which(f"python{version}")
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    kept = sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}"))
    for candidate in [*kept, *([Path(on_path)] if on_path else [])]:
        if subprocess.run([candidate, "--version"], capture_output=True, check=False).returncode == 0:
            return candidate
    pytest.skip(f"no Python {version} here")


@pytest.fixture(scope="module", params=TARGETS, ids="-".join)
def target(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    python, version = request.param
    found = find_python(python)
    home = tmp_path_factory.mktemp("target") / "venv"
    run(UV, "venv", "--quiet", "--python", found, home)
    packages = [f"pytest=={version}", "pytest-xdist", "pytest-rerunfailures"]
    subtests = [] if version.startswith(("7.0", "9")) else ["pytest-subtests"]
    run(UV, "pip", "install", "--quiet", "--python", home / "bin" / "python", *packages, *subtests)
    return home / "bin" / "python"


@pytest.fixture
def root(write_project: WriteProject) -> Path:
    return write_project({})


@pytest.fixture
def server(serve: Serve, target: Path) -> Server:
    return serve(FILES, python=target)


def configure(root: Path, options: str) -> None:
    (root / "pytest.ini").write_text(f"[pytest]\naddopts = {options}\n")


def counts(answer: Answer) -> dict[str, int]:
    return {
        key: answer["summary"][key]
        for key in ("passed", "failed", "skipped", "errors")
        if answer["summary"][key]
    }


@pytest.mark.heavy
class TestEveryVersion:
    def test_gives_the_same_rows(self, server: Server) -> None:
        answer = server.run(node_ids=["tests"], verbosity=1)
        assert answer["exit_code"] == 1
        assert counts(answer) == {"passed": 3, "failed": 1, "skipped": 2, "errors": 1}
        rows = {test["node_id"].split("::", 1)[1]: test for test in answer["tests"]}
        assert rows["test_numbers[1]"]["message"].startswith("AssertionError: assert 1 != 1")
        assert "heard 1" in rows["test_numbers[1]"]["traceback"]
        assert rows["test_end"]["message"] == "in teardown: OSError: no disk"
        assert rows["test_expected"]["message"] == "xfail: known"
        assert "1 failed" in answer["text_output"]

    def test_gives_the_same_rows_under_xdist(self, server: Server, root: Path) -> None:
        configure(root, "-p xdist -p xdist.looponfail -n 2")
        answer = server.run(node_ids=["tests"])
        assert counts(answer) == {"passed": 3, "failed": 1, "skipped": 2, "errors": 1}

    def test_lists_tests_with_their_lines_and_broken_files_as_data(self, server: Server) -> None:
        answer = server.discover()
        assert answer["count"] == 11
        lines = {test["function"]: test["line"] for test in answer["tests"]}
        assert (lines["test_numbers"], lines["test_skipped"], lines["test_equal"]) == (14, 25, 36)
        errors = {
            error["file"]: (error["error_type"], error["line"]) for error in answer["collection_errors"]
        }
        assert errors == {
            "broken/test_syntax.py": ("SyntaxError", 1),
            "broken/test_import.py": ("ModuleNotFoundError", 2),
        }

    def test_never_takes_a_silent_exit_for_success(self, server: Server) -> None:
        error = server.fail(node_ids=["crash"])
        assert (error["data"]["kind"], error["data"]["running"]) == (
            "crash",
            ["crash/test_crash.py::test_crash"],
        )

    def test_names_the_line_where_a_test_hangs(self, server: Server) -> None:
        error = run_into_deadline(server, is_running_a_test, node_ids=["hang"])
        assert "at hang/test_hang.py:3 in test_hang. Hint: " in error["message"]

    def test_counts_a_rerun_once(self, server: Server, root: Path) -> None:
        configure(root, "-p pytest_rerunfailures --reruns 2")
        assert counts(server.run(node_ids=["flaky"])) == {"passed": 1}

    def test_counts_subtests_for_their_test(self, server: Server, root: Path, target: Path) -> None:
        if list(target.parents[1].glob("lib/python*/site-packages/pytest_subtests")):
            configure(root, "-p pytest_subtests.plugin")
        elif list(target.parents[1].glob("lib/python*/site-packages/pytest-7*")):
            pytest.skip("no pytest-subtests works with this pytest")
        answer = server.run(node_ids=["sub"])
        assert counts(answer) == {"failed": 1}
        assert "(n=1) AssertionError: assert 1 != 1" in answer["tests"][0]["message"]

    def test_refuses_a_broken_marker_as_pytest_does(self, server: Server) -> None:
        answer = server.run(node_ids=["tests"], markers="not slow", keywords="numbers")
        assert counts(answer) == {"passed": 2, "failed": 1}
        assert server.run(node_ids=["tests"], last_failed=True)["summary"]["total"] >= 1
