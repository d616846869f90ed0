"""Plain pytest, a cold run and six that had begun before say the same: test by test, warning by warning."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from faultless.testing import WireClient
from tests.servers.pytest.conftest import (
    LIGHT,
    Answer,
    WireServer,
    WriteProject,
    serving_command,
    start_of,
)
from tests.servers.pytest.situations import SITUATIONS, SMALL_SHARE

CALLS = 6
ENDED_EARLY = ("an option that is unknown",)  # it ends by itself before anything could be asked
RECORDER = """
import json, os
import pytest

WORST = {"passed": 0, "skipped": 1, "failed": 2, "error": 3}
found, warned = {}, []

def pytest_collectreport(report):
    if report.outcome != "passed" and report.nodeid.endswith(".py"):
        found[report.nodeid] = "skipped" if report.outcome == "skipped" else "error"

def pytest_runtest_logreport(report):
    outcome = report.outcome
    if outcome == "failed" and report.when != "call":
        outcome = "error"
    if WORST[outcome] >= WORST.get(found.get(report.nodeid), -1):
        found[report.nodeid] = outcome

def pytest_warning_recorded(warning_message, when, nodeid):
    warned.append([warning_message.category.__name__, str(warning_message.message), when, nodeid])

def pytest_unconfigure():
    with open(os.environ["PLAIN_RECORD"], "w") as file:
        json.dump([found, warned], file)
"""
Said = tuple[int, dict[str, str], list[list[str]]]
"""Exit code, every test's outcome, every warning."""


def ask_plain(root: Path, env: Mapping[str, str], scratch: Path) -> Said:
    (scratch / "plain_recorder.py").write_text(RECORDER)
    record = scratch / "record.json"
    path = f"{scratch}{os.pathsep}{env['PYTHONPATH']}"
    finished = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "plain_recorder", "-p", "no:cacheprovider"],
        cwd=root,
        env={**env, "PYTHONPATH": path, "PLAIN_RECORD": str(record)},
        capture_output=True,
        check=False,
    )
    found, warned = json.loads(record.read_text()) if record.exists() else ({}, [])
    return finished.returncode, found, sorted(warned)


def read(response: Answer) -> Said:
    if "error" in response:
        data = response["error"]["data"]
        broken = {error["file"]: "error" for error in data["collection_errors"]}
        return (
            data["exit_code"],
            {**broken, **{row["node_id"]: row["outcome"] for row in data.get("tests", [])}},
            [],
        )
    answer = response["result"]["structuredContent"]
    warned = [
        [warning["category"], warning["message"], warning["when"], warning["test"]]
        for warning in answer["json_report"]["warnings"]
    ]
    return answer["exit_code"], {row["node_id"]: row["outcome"] for row in answer["tests"]}, sorted(warned)


@pytest.mark.parametrize(
    "situation",
    [pytest.param(name, marks=() if name in SMALL_SHARE else pytest.mark.heavy) for name in SITUATIONS],
)
def test_a_run_that_began_before_says_what_plain_pytest_says(
    write_project: WriteProject, tmp_path: Path, situation: str
) -> None:
    root = write_project({"pytest.ini": "[pytest]", **SITUATIONS[situation]})
    env = {
        **LIGHT,
        "PYTHONPATH": str(root / "packages"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(tmp_path),
    }
    plain = ask_plain(root, env, tmp_path)
    with WireClient(serving_command(root), env=env, deadline_seconds=180) as client:
        server = WireServer(client.open("handshake"))
        for number in range(1 + CALLS):
            response = server.call("execute_tests", {"verbosity": 1, "json_report": True})
            assert read(response) == plain, number
            if "result" in response:
                start = start_of(response)
                assert start["way"] == ("early" if number else "cold"), start
            if situation not in ENDED_EARLY:
                server.let_begin()


def test_the_battery_would_see_a_difference(write_project: WriteProject, tmp_path: Path) -> None:
    """Another environment than plain pytest had, as a preloaded module would have read it."""
    root = write_project(
        SITUATIONS["a variable that nobody set"] | {"packages/reads.py": "import os\nVALUE = 'unset'"}
    )
    env = {**LIGHT, "PYTHONPATH": str(root / "packages")}
    plain = ask_plain(root, env, tmp_path)
    (root / "packages" / "reads.py").write_text("VALUE = 'as it was before'")
    with WireClient(serving_command(root), env=env, deadline_seconds=180) as client:
        server = WireServer(client.open("handshake"))
        assert read(server.call("execute_tests", {"verbosity": 1, "json_report": True})) != plain


def test_at_least_forty_situations_are_tried() -> None:
    assert len(SITUATIONS) >= 40
