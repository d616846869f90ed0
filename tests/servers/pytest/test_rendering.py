"""What a person sees: the rendered answer, the exit status, the doctor's line."""

from __future__ import annotations

import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

from rich.console import Console

from faultless.servers.pytest import doctor, rendering
from tests.servers.pytest.conftest import EXAMPLES, LIGHT, WriteProject

DEADLINE_SECONDS = 120


def render(tool: str, answer: dict[str, Any]) -> str:
    screen = Console(file=StringIO(), width=120)
    screen.print(rendering.render(tool, answer))
    output = screen.file
    assert isinstance(output, StringIO)
    return "\n".join(line.rstrip() for line in output.getvalue().splitlines())


def call(*words: str, root: Path = EXAMPLES / "project") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "faultless", "call", "pytest", *words]
    options = [f"--root={root}", f"--python={sys.executable}"]
    return subprocess.run(
        [*command, *options], capture_output=True, text=True, timeout=DEADLINE_SECONDS, check=False, env=LIGHT
    )


def test_a_red_run_is_readable_and_exits_1() -> None:
    finished = call("execute_tests", "node_ids=tests/test_receipt.py")
    assert finished.returncode == 1
    assert "failed tests/test_receipt.py::test_a_discount_is_taken_off" in finished.stdout
    assert "AssertionError: assert 'total: 20' == 'total: 18'" in finished.stdout
    assert "1 passed, 1 failed, 2 skipped in " in finished.stdout


def test_a_green_run_exits_0_and_a_fault_exits_2() -> None:
    assert call("execute_tests", "node_ids=tests/test_basket.py").returncode == 0
    refused = call("execute_tests", "verbosity=9")
    assert (refused.returncode, "fault: invalid_params" in refused.stderr) == (2, True)


def test_discovery_lists_names_and_broken_files() -> None:
    answer = {
        "tests": [{"node_id": "tests/test_a.py::test_a"}],
        "node_ids": [],
        "count": 7,
        "next_offset": 1,
        "collection_errors": [
            {"file": "b.py", "line": 3, "error_type": "SyntaxError", "message": "m", "traceback": "  there"}
        ],
    }
    assert rendering.is_bad_news("discover_tests", answer)
    assert render("discover_tests", answer).splitlines() == [
        "tests/test_a.py::test_a",
        "broken b.py:3: SyntaxError",
        "          there",
        "",
        "7 tests; the next page starts at 1",
    ]


def test_folded_tests_are_counted_for_people_too() -> None:
    cause = {"count": 2, "node_ids": ["t[{1..2}]"]}
    row = {"node_id": "t[0]", "outcome": "failed", "message": "m", "traceback": "tb", "same_cause": cause}
    summary = dict.fromkeys(("passed", "failed", "errors", "skipped", "not_run", "deselected"), 0)
    answer = {
        "tests": [row],
        "collection_errors": [],
        "summary": summary | {"failed": 3, "duration": 1.0},
        "hint": "look",
    }
    shown = render("execute_tests", answer)
    assert "and 2 more for the same cause: t[{1..2}]" in shown
    assert shown.endswith("0 passed, 3 failed in 1.00 s\nlook")


def test_the_doctor_names_the_interpreter_or_what_is_wrong_with_it(write_project: WriteProject) -> None:
    root = write_project({".venv/bin/python": "#!/bin/sh\nexit 3\n"})
    (check,) = doctor.diagnose(root)
    assert not check.ok
    assert str(root / ".venv/bin/python") in check.found
    assert check.fix
    (root / ".venv/bin/python").unlink()
    (root / ".venv/bin/python").symlink_to(sys.executable)
    (root / ".venv/pyvenv.cfg").write_text((Path(sys.prefix) / "pyvenv.cfg").read_text())
    (root / ".venv/lib").symlink_to(Path(sys.prefix) / "lib")
    check, early = doctor.diagnose(root)
    assert check.ok, check
    assert early.found == "yes, from the second call on"
    (root / "pytest").mkdir()
    assert doctor.diagnose(root)[1].found == "no: the project holds a module called pytest"
