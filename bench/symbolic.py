"""The symbolic server beside its peers, on the truth set: what each finds, claims wrongly, and how long it
takes.

`python -m bench symbolic` runs everything (an hour and more); finished cases are kept in
.bench/symbolic.json, and only missing ones are run again.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.figures import interleave, machine, medians, table
from bench.peers import PEERS, ROOT, environment
from faultless.kit.testing import WireClient
from tests.servers.symbolic.truth_set import BAD_NEWS, Case, all_cases

SECONDS = 10
BUDGETS = (1, 5, 10)
ROUNDS = 7
KILL_SECONDS = 60
"""Wall clock; peers count processor time, which passes more slowly on a busy machine."""
STRIDE = 5
"""Peers get every fifth pair: all of them take hours."""
KEPT = PEERS / "symbolic.json"
PAGE = ROOT / "docs" / "reference" / "symbolic-figures.md"
PEER = Path(__file__).with_name("symbolic_peer.py")
Result = dict[str, Any]


def ask_ours(client: WireClient, case: Case) -> Result:
    started = time.monotonic()
    answer = client.call(case.tool, {**case.arguments, "timeout_seconds": SECONDS})["result"][
        "structuredContent"
    ]
    found = [*answer.get("counterexamples", []), *answer.get("triggering_inputs", [])]
    found += [answer["distinguishing_input"]] if answer.get("distinguishing_input") else []
    shown = all(fails_again(case, item["reproduction"]) for item in found)
    return {
        "claim": answer["status"],
        "seconds": time.monotonic() - started if not found else answer["time_seconds"],
        "shown": shown,
    }


def fails_again(case: Case, reproduction: str) -> bool:
    """The reproduction as a person would run it: below the code, in a new interpreter; not ending counts as
    failing.
    """
    name = reproduction.split("def ")[1].split("(", maxsplit=1)[0]
    program = f"{case.code}\n\n{reproduction}\n\n{name}()\n"
    try:
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=5, check=False)
    except subprocess.TimeoutExpired:
        return "never returns" in reproduction
    return done.returncode != 0


def run_program(command: list[str], code: str) -> tuple[str, int, float]:
    """Output, exit status and seconds of a peer given the code as a module called `specimen`."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "specimen.py").write_text(code)
        started = time.monotonic()
        try:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, timeout=KILL_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return "", -1, time.monotonic() - started
        return done.stdout, done.returncode, time.monotonic() - started


def crosshair_check(python: Path, case: Case) -> Result:
    options = ["--report_all", f"--per_condition_timeout={SECONDS}", "--analysis_kind=PEP316,asserts"]
    command = [str(python), "-m", "crosshair", "check", "specimen.f", *options]
    output, _, seconds = run_program(command, case.code)
    claim = (
        "counterexample"
        if " error: " in output
        else ("verified" if "Confirmed over all paths" in output else "timeout")
    )
    return {"claim": claim, "seconds": seconds, "hung": seconds >= KILL_SECONDS}


def crosshair_diff(python: Path, case: Case) -> Result:
    command = [
        str(python),
        "-m",
        "crosshair",
        "diffbehavior",
        "specimen.a",
        "specimen.b",
        f"--per_condition_timeout={SECONDS}",
    ]
    output, _, seconds = run_program(command, case.code)
    claim = (
        "different"
        if "Given: " in output
        else ("equivalent" if "All paths exhausted" in output else "timeout")
    )
    return {"claim": claim, "seconds": seconds, "hung": seconds >= KILL_SECONDS}


def hypothesis_pair(python: Path, backend: str, case: Case) -> Result:
    output, _, seconds = run_program([str(python), str(PEER), backend, "specimen.py"], case.code)
    claim = "different" if "different" in output else "timeout"
    return {"claim": claim, "seconds": seconds, "hung": seconds >= KILL_SECONDS}


def pick(tool: str) -> list[Case]:
    cases = [case for case in all_cases() if not tool or case.tool == tool]
    return cases[::STRIDE] if tool == "compare_functions" else cases


def collect() -> dict[str, dict[str, Result]]:
    kept: dict[str, dict[str, Result]] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    peers = environment("symbolic-peers", "requirements/symbolic-peers.txt")
    command = [sys.executable, "-P", "-m", "faultless", "serve", "symbolic"]
    with WireClient(command) as client:
        client.open("handshake").call("health_check")
        runners: dict[str, tuple[str, Callable[[Case], Result]]] = {
            "faultless": ("", lambda case: ask_ours(client, case)),
            "crosshair check": ("symbolic_check", lambda case: crosshair_check(peers, case)),
            "hypothesis ghostwriter": (
                "compare_functions",
                lambda case: hypothesis_pair(peers, "hypothesis", case),
            ),
            "crosshair diffbehavior": ("compare_functions", lambda case: crosshair_diff(peers, case)),
            "hypothesis + crosshair": (
                "compare_functions",
                lambda case: hypothesis_pair(peers, "crosshair", case),
            ),
        }
        for name, (tool, run) in runners.items():
            for case in pick(tool):
                key = f"{case.kind}/{case.name}"
                if key not in kept.setdefault(name, {}):
                    kept[name][key] = run(case)
                    KEPT.write_text(json.dumps(kept))
    return kept


def warm_and_cold() -> dict[str, float]:
    """A request to a running server beside a new `crosshair check`, on the same small function."""
    peers = environment("symbolic-peers", "requirements/symbolic-peers.txt")
    case = next(case for case in all_cases() if case.name == "clamp_stays_inside")
    with WireClient([sys.executable, "-P", "-m", "faultless", "serve", "symbolic"]) as client:
        client.open("handshake").call("health_check")
        found = interleave(
            {
                "warm request": lambda: ask_ours(client, case)["seconds"],
                "fresh crosshair check": lambda: crosshair_check(peers, case)["seconds"],
            },
            ROUNDS,
        )
    return medians(found)


def share(part: int, whole: int) -> str:
    return f"{part}/{whole} ({100 * part / whole:.0f} %)" if whole else "-"


def summarise(name: str, results: dict[str, Result], cases: dict[str, Case]) -> list[list[str]]:
    rows = []
    for tool in ("symbolic_check", "find_path_to_exception", "compare_functions"):
        mine = [
            (cases[key], result)
            for key, result in results.items()
            if key in cases and cases[key].tool == tool
        ]
        if mine:
            rows.append([tool, name, *figures(mine)])
    return rows


def figures(mine: list[tuple[Case, Result]]) -> list[str]:
    bad = [result for case, result in mine if case.truth in BAD_NEWS and result["claim"] == case.truth]
    count_bad = sum(case.truth in BAD_NEWS for case, _ in mine)
    good = [result for case, result in mine if case.truth not in BAD_NEWS and result["claim"] == case.truth]
    count_good = len(mine) - count_bad
    alarms = [
        r for c, r in mine if r["claim"] in BAD_NEWS and (c.truth not in BAD_NEWS or not r.get("shown", True))
    ]
    proofs = [
        r for c, r in mine if c.truth in BAD_NEWS and r["claim"] in {"verified", "unreachable", "equivalent"}
    ]
    times = sorted(result["seconds"] for _, result in mine)
    return [
        *(share(sum(r["seconds"] <= budget for r in bad), count_bad) for budget in BUDGETS[:-1]),
        share(len(bad), count_bad),
        str(len(alarms)),
        share(len(good), count_good),
        str(len(proofs)),
        f"{statistics.median(times):.2f} s",
        f"{times[int(0.95 * (len(times) - 1))]:.2f} s",
        str(sum(bool(r.get("hung")) for _, r in mine)),
    ]


HEADER = ["tool", "engine", "found in 1 s", "in 5 s", "in 10 s"]
HEADER += ["false alarms", "proved", "false proofs", "median", "p95", "hangs"]


def main() -> None:
    results = collect()
    cases = {f"{case.kind}/{case.name}": case for case in all_cases()}
    sampled = {f"{case.kind}/{case.name}" for case in pick("compare_functions")}
    ours = results["faultless"]
    results["faultless, the peers' pairs"] = {key: found for key, found in ours.items() if key in sampled}
    rows = [row for name, found in results.items() for row in summarise(name, found, cases)]
    rows.sort(key=lambda row: row[0] != "symbolic_check")
    speeds = warm_and_cold()
    warm, cold = speeds["warm request"], speeds["fresh crosshair check"]
    text = table("The truth set, 10 s a case", HEADER, rows)
    told = machine("faultless", "crosshair-tool", "z3-solver", "hypothesis")
    notes = [
        f"{told}. Load while measuring: {os.getloadavg()[1]:.1f} on {os.cpu_count()} cores.",
        "Counterexamples of faultless were run again by the bench; the others' are counted as reported.",
        f"A warm request takes {warm:.2f} s, a fresh `crosshair check` {cold:.2f} s ({warm / cold:.2f}).",
    ]
    title = "# Symbolic server: figures\n\n<!-- Written by `python -m bench symbolic`. -->\n"
    print(text, *notes, sep="\n")
    PAGE.write_text("\n".join([title, " ".join(notes), "", text]))
