"""Test by test: what our server says about a public suite against what a plain plugin wrote down."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.figures import table
from bench.pytest import suites
from bench.pytest.suites import Suite
from faultless.kit.testing import WireClient

PLAIN = Path(__file__).with_name("plain")
WORST = {"passed": 0, "xpassed": 0, "skipped": 1, "xfailed": 1, "failed": 2, "error": 3}
NAMES = ["passed", "skipped", "failed", "error"]
# Suites whose order or number depends on chance are held still on both sides.
STILL = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}


def run_plain(python: Path, folder: Path, tests: str) -> tuple[int, dict[str, str]]:
    with tempfile.TemporaryDirectory() as scratch:
        record = Path(scratch) / "record.json"
        env = {**os.environ, **STILL, "PYTHONPATH": str(PLAIN), "PLAIN_RECORD": str(record)}
        command = [python, "-m", "pytest", "-q", "-p", "plain_recorder", "-p", "no:cacheprovider", tests]
        finished = subprocess.run(command, cwd=folder, env=env, capture_output=True, check=False)
        records = json.loads(record.read_text())
    worst: dict[str, int] = {}
    for node_id, category in records:
        if category in WORST:
            worst[node_id] = max(worst.get(node_id, 0), WORST[category])
    return finished.returncode, {node_id: NAMES[number] for node_id, number in worst.items()}


def run_ours(python: Path, folder: Path, tests: str) -> tuple[int, dict[str, str], dict[str, int]]:
    command = [sys.executable, "-m", "faultless", "serve", "pytest", f"--root={folder}", f"--python={python}"]
    env = {**os.environ, **STILL, "PYTEST_ADDOPTS": "-p no:cacheprovider"}
    with WireClient(command, env=env, deadline_seconds=1200) as client:
        response = client.open("handshake").call(
            "execute_tests", {"node_ids": [tests], "verbosity": 1, "timeout": 1100}
        )
    if "error" in response:
        return -1, {"fault": response["error"]["message"]}, {"total": 0}
    answer = response["result"]["structuredContent"]
    return answer["exit_code"], {row["node_id"]: row["outcome"] for row in answer["tests"]}, answer["summary"]


def compare(suite: Suite) -> list[str]:
    python, folder = suites.python(), suites.fetch(suite)
    plain_code, plain = run_plain(python, folder, suite.tests)
    our_code, ours, summary = run_ours(python, folder, suite.tests)
    differing = [name for name in plain.keys() | ours.keys() if plain.get(name) != ours.get(name)]
    counts = ", ".join(f"{sum(value == name for value in ours.values())} {name}" for name in NAMES)
    same = not differing and plain_code == our_code and summary["total"] == len(ours)
    shown = (
        "none"
        if same
        else f"{len(differing)}, e.g. {sorted(differing)[:3]}; exit {plain_code} and {our_code}"
    )
    return [f"{suite.name} {suites.version_of(suite.name)}", counts, str(our_code), shown]


def measure() -> str:
    header = ["suite", "our rows", "exit code", "differences to plain pytest, test by test"]
    rows = []
    for suite in suites.SUITES:
        rows.append(compare(suite))
        print(" · ".join(rows[-1]), flush=True)
    return table("Truth on public suites", header, rows)


def main() -> None:
    print(measure())
