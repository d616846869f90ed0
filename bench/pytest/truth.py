"""Test by test: what our server says about a public suite against what a plain plugin wrote down."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.figures import table
from bench.pytest import publish, suites
from bench.pytest.suites import Suite
from bench.warm.projects import begin_early
from faultless.testing import WireClient

PLAIN = Path(__file__).with_name("plain")
WORST = {"passed": 0, "xpassed": 0, "skipped": 1, "xfailed": 1, "failed": 2, "error": 3}
NAMES = ["passed", "skipped", "failed", "error"]
Outcome = tuple[int, dict[str, str]]
"""Exit code, and the outcome of every test."""
# Suites whose order or number depends on chance are held still on both sides.
STILL = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}


def run_plain(python: Path, folder: Path, tests: str) -> Outcome:
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


def run_ours(python: Path, folder: Path, suite: Suite, *, is_early: bool) -> Outcome:
    command = [sys.executable, "-m", "faultless", "serve", "pytest", f"--root={folder}", f"--python={python}"]
    env = {**os.environ, **STILL, "PYTEST_ADDOPTS": "-p no:cacheprovider"}
    with WireClient(
        [*command, *([] if is_early else ["--no-early"])], env=env, deadline_seconds=1200
    ) as client:
        client.open("handshake")
        arguments = {"node_ids": [suite.tests], "verbosity": 1, "timeout": 1100}
        if is_early:
            begin_early(client, arguments)
        response = client.call("execute_tests", arguments)
    if "error" in response:
        return -1, {"fault": response["error"]["message"]}
    if response["result"]["_meta"]["faultless/start"]["way"] != ("early" if is_early else "cold"):
        raise RuntimeError(f"{suite.name} did not start as asked")
    answer = response["result"]["structuredContent"]
    rows = {row["node_id"]: row["outcome"] for row in answer["tests"]}
    if answer["summary"]["total"] != len(rows):
        raise RuntimeError(f"{suite.name}: the summary does not count the rows")
    return answer["exit_code"], rows


def tell_difference(plain: Outcome, ours: Outcome) -> str:
    differing = sorted(
        name for name in plain[1].keys() | ours[1].keys() if plain[1].get(name) != ours[1].get(name)
    )
    if not differing and plain[0] == ours[0]:
        return "none"
    return f"{len(differing)}, e.g. {differing[:3]}; exit {plain[0]} and {ours[0]}"


def compare(suite: Suite) -> list[str]:
    python, folder = suites.python(), suites.fetch(suite)
    plain = run_plain(python, folder, suite.tests)
    cold = run_ours(python, folder, suite, is_early=False)
    early = run_ours(python, folder, suite, is_early=True)
    counts = ", ".join(f"{sum(value == name for value in cold[1].values())} {name}" for name in NAMES)
    title = f"{suite.name} {suites.version_of(suite.name)}"
    return [title, counts, str(cold[0]), tell_difference(plain, cold), tell_difference(plain, early)]


def measure() -> str:
    header = ["suite", "our rows", "exit code", "differences to plain pytest, cold", "the same, begun early"]
    rows = []
    for suite in suites.SUITES:
        rows.append(compare(suite))
        print(" · ".join(rows[-1]), flush=True)
    return table("Truth on public suites", header, rows)


def main() -> None:
    publish("truth", measure())
