"""Test by test and warning by warning: what our server and plain pytest say about public suites."""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.figures import table
from bench.pytest import publish, suites
from bench.pytest.suites import Suite
from bench.warm.projects import Ours
from faultless.testing import WireClient

PLAIN = Path(__file__).with_name("plain")
WORST = {"passed": 0, "xpassed": 0, "skipped": 1, "xfailed": 1, "failed": 2, "error": 3}
NAMES = ["passed", "skipped", "failed", "error"]
EARLY_CALLS = 2
WARNINGS_AT_MOST = 200  # an answer names no more
# Suites whose order or number depends on chance are held still on both sides.
STILL = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}


@dataclass(frozen=True)
class Outcome:
    exit_code: int
    tests: Mapping[str, str]
    warnings: list[tuple[str, str, str]]

    def tell_difference(self, other: "Outcome") -> str:
        names = self.tests.keys() | other.tests.keys()
        differing = sorted(name for name in names if self.tests.get(name) != other.tests.get(name))
        warned = len(set(self.warnings) ^ set(other.warnings)) + abs(len(self.warnings) - len(other.warnings))
        if self.exit_code == other.exit_code and not differing and not warned:
            return "none"
        codes = f"exit {self.exit_code} and {other.exit_code}"
        return f"{len(differing)}, e.g. {differing[:3]}; {warned} warnings; {codes}"


def read_warnings(found: list[list[str]]) -> list[tuple[str, str, str]]:
    """Numbers in them are ports, descriptors and addresses."""
    return sorted(
        (category, re.sub(r"0x[0-9a-f]+|\d+", "#", message), when)
        for category, message, when in found[:WARNINGS_AT_MOST]
    )


def run_plain(suite: Suite, folder: Path) -> Outcome:
    with tempfile.TemporaryDirectory() as scratch:
        record = Path(scratch) / "record.json"
        env = {**os.environ, **STILL, "PYTHONPATH": str(PLAIN), "PLAIN_RECORD": str(record)}
        options = ["-q", "-p", "plain_recorder", "-p", "no:cacheprovider"]
        command = [suite.python, "-m", "pytest", *options, *suite.tests.split()]
        finished = subprocess.run(command, cwd=folder, env=env, capture_output=True, check=False)
        records, warned = json.loads(record.read_text())
    worst: dict[str, int] = {}
    for node_id, category in records:
        if category in WORST:
            worst[node_id] = max(worst.get(node_id, 0), WORST[category])
    rows = {node_id: NAMES[number] for node_id, number in worst.items()}
    return Outcome(finished.returncode, rows, read_warnings(warned))


def run_ours(suite: Suite, folder: Path) -> list[Outcome]:
    """Of one server: the first call is cold, the others must have begun before."""
    command = [sys.executable, "-m", "faultless", "serve", "pytest", f"--root={folder}"]
    env = {**os.environ, **STILL, "PYTEST_ADDOPTS": "-p no:cacheprovider"}
    found = []
    with WireClient([*command, f"--python={suite.python}"], env=env, deadline_seconds=1200) as client:
        server = Ours(client.open("handshake"))
        arguments = {"node_ids": suite.tests.split(), "verbosity": 1, "timeout": 1100, "json_report": True}
        for number in range(1 + EARLY_CALLS):
            if number:
                server.let_begin()
            response = client.call("execute_tests", arguments)
            found.append(read_answer(response, suite, "early" if number else "cold"))
    return found


def read_answer(response: Mapping[str, Any], suite: Suite, way: str) -> Outcome:
    if "error" in response:
        return Outcome(-1, {"fault": response["error"]["message"]}, [])
    start = response["result"]["_meta"]["faultless/start"]
    if start["way"] != way:
        raise RuntimeError(f"{suite.name} did not start as asked: {start}")
    answer = response["result"]["structuredContent"]
    rows = {row["node_id"]: row["outcome"] for row in answer["tests"]}
    if answer["summary"]["total"] != len(rows):
        raise RuntimeError(f"{suite.name}: the summary does not count the rows")
    warned = [[each["category"], each["message"], each["when"]] for each in answer["json_report"]["warnings"]]
    return Outcome(answer["exit_code"], rows, read_warnings(warned))


def compare(suite: Suite) -> list[str]:
    folder = suites.fetch(suite)
    plain = run_plain(suite, folder)
    cold, *early = run_ours(suite, folder)
    counts = ", ".join(f"{sum(value == name for value in cold.tests.values())} {name}" for name in NAMES)
    title = f"{suite.name} {suite.version}" + ("" if suite.tests in {"tests", "testing"} else " (in part)")
    said = [str(len(cold.warnings)), str(cold.exit_code)]
    begun = " and ".join(sorted({plain.tell_difference(each) for each in early}))
    return [title, counts, *said, plain.tell_difference(cold), begun]


def measure() -> str:
    differences = ["differences to plain pytest, cold", f"the same, {EARLY_CALLS} calls that began early"]
    header = ["suite", "our rows", "warnings", "exit code", *differences]
    rows = []
    for suite in [*suites.SUITES, *suites.MORE_SUITES]:
        rows.append(compare(suite))
        print(" · ".join(rows[-1]), flush=True)
    return table("Truth on public suites", header, rows)


def main() -> None:
    publish("truth", measure())
