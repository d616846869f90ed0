"""The symbolic server beside its peers, on the truth set: what each finds, claims wrongly, and how long it
takes.

`python -m bench symbolic` takes about an hour. Finished cases are kept in .bench/symbolic.json, so that it
can be stopped and goes on where it was; `BENCH_MINUTES=10` stops it by itself. Ours are asked again when the
server's code has changed. `BENCH_NOTE` goes onto the page: say there what was special about the run.
"""

import hashlib
import json
import os
import statistics
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from bench.figures import interleave, machine, medians, table
from bench.peers import PEERS, ROOT, environment
from bench.symbolic_engines import SECONDS, Engine, Result, ask_ours, crosshair_check, make_peers
from faultless.testing import WireClient
from tests.servers.symbolic.truth_set import BAD_NEWS, Case, all_cases

BUDGETS = (1, 5)
ROUNDS = 15
AT_ONCE = 2
PEERS_STRIDE, MUTANT_STRIDE = 4, 12
"""Slow peers get every fourth case and every twelfth mutant: all of them take hours."""
OURS = "faultless"
KEPT = PEERS / "symbolic.json"
PAGE = ROOT / "docs" / "reference" / "symbolic-figures.md"
PINNED = ROOT / "requirements" / "symbolic-peers.txt"
SERVER = [sys.executable, "-P", "-m", "faultless", "serve", "symbolic"]
WARM_CASES = ("clamp_stays_inside", "maximum_of_three", "off_by_one_clamp", "magic_number")
TOOLS = ("symbolic_check", "find_path_to_exception", "compare_functions")


class Kept:
    """Results by engine and case, written down as soon as they are known."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self.results: dict[str, dict[str, Result]] = json.loads(path.read_text()) if path.exists() else {}

    def lacks(self, engine: str, case: Case) -> bool:
        return key_of(case) not in self.results.get(engine, {})

    def add(self, engine: str, case: Case, result: Result) -> None:
        with self._lock:
            self.results.setdefault(engine, {})[key_of(case)] = result
            self._path.write_text(json.dumps(self.results))


def key_of(case: Case) -> str:
    """Another code under the same name is another case."""
    return f"{case.kind}/{case.name}/{hashlib.sha256(case.code.encode()).hexdigest()[:8]}"


def collect(kept: Kept) -> bool:
    """False when the time was up before everything was asked."""
    deadline = time.monotonic() + 60 * float(os.environ.get("BENCH_MINUTES", "inf"))
    peers = make_peers(environment("symbolic-peers", str(PINNED.relative_to(ROOT))))
    with WireClient(SERVER) as first, WireClient(SERVER) as second:
        clients = [first, second]
        for client in clients:
            client.open("handshake").call("health_check")

        def ask(case: Case) -> Result:
            client = clients.pop()
            try:
                return ask_ours(client, case)
            finally:
                clients.append(client)

        ours = Engine(our_build(), lambda _case: True, ask)
        asked = [(peer, all_cases() if peer.is_quick else peers_cases()) for peer in peers]
        asked.append((ours, all_cases()))
        return all(run(engine, cases, kept, deadline) for engine, cases in asked)


def peers_cases() -> list[Case]:
    cases = all_cases()
    mutants = [case for case in cases if case.kind.startswith("mutants")]
    others = [case for case in cases if not case.kind.startswith("mutants")]
    return others[::PEERS_STRIDE] + mutants[::MUTANT_STRIDE]


def run(engine: Engine, cases: list[Case], kept: Kept, deadline: float) -> bool:
    wanted = [case for case in cases if engine.applies(case)][:: engine.stride]
    missing = [case for case in wanted if kept.lacks(engine.name, case)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda case: ask_one(engine, kept, case, deadline), missing))
    left = sum(kept.lacks(engine.name, case) for case in wanted)
    print(f"{engine.name}: {len(wanted) - left} of {len(wanted)}", flush=True)
    return left == 0


def ask_one(engine: Engine, kept: Kept, case: Case, deadline: float) -> None:
    if time.monotonic() < deadline:
        result = engine.ask(case)
        kept.add(engine.name, case, result)
        print(f"  {engine.name} {key_of(case)}: {result['claim']} {result['seconds']:.2f} s", flush=True)


def our_build() -> str:
    """Figures of other code are not ours."""
    files = sorted((ROOT / "src" / "faultless" / "servers" / "symbolic").rglob("*.py"))
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    return f"{OURS} {digest[:8]}"


def warm_and_cold() -> dict[str, tuple[float, float]]:
    """For each case: seconds of a request to a running server and of a new `crosshair check`."""
    peers = environment("symbolic-peers", str(PINNED.relative_to(ROOT)))
    cases = [case for case in all_cases() if case.name in WARM_CASES]
    with WireClient(SERVER) as client:
        client.open("handshake").call("health_check")
        found = {case.name: interleave(rivals(client, peers, case), ROUNDS) for case in cases}
    return {name: (medians(f)["warm"], medians(f)["fresh"]) for name, f in found.items()}


def rivals(client: WireClient, peers: Path, case: Case) -> dict[str, Callable[[], float]]:
    return {
        "warm": lambda: float(ask_ours(client, case)["seconds"]),
        "fresh": lambda: float(crosshair_check(peers, case)["wall_seconds"]),
    }


def share(part: int, whole: int) -> str:
    return f"{part}/{whole} ({100 * part / whole:.0f} %)" if whole else "-"


def summarise(tool: str, name: str, mine: list[tuple[Case, Result]]) -> list[str]:
    bad = [(c, r) for c, r in mine if c.truth in BAD_NEWS]
    good = [(c, r) for c, r in mine if c.truth not in BAD_NEWS]
    hits = [r for c, r in bad if r["claim"] == c.truth and r["shown"]]
    alarms = [r for c, r in mine if r["claim"] in BAD_NEWS and (c.truth not in BAD_NEWS or not r["shown"])]
    false_proofs = [r for _, r in bad if r["claim"] not in {*BAD_NEWS, "timeout", "error", "refused"}]
    times = sorted(r["seconds"] for _, r in mine)
    return [
        tool,
        name,
        *(share(sum(r["seconds"] <= budget for r in hits), len(bad)) for budget in BUDGETS),
        share(len(hits), len(bad)),
        str(len(alarms)),
        share(sum(r["claim"] == c.truth for c, r in good), len(good)),
        str(len(false_proofs)),
        f"{statistics.median(times):.2f} s",
        f"{times[int(0.95 * (len(times) - 1))]:.2f} s",
        str(sum(r["hung"] for _, r in mine)),
    ]


HEADER = ["tool", "engine", "found in 1 s", "in 5 s", "given 10 s"]
HEADER += ["false alarms", "proved", "false proofs", "median", "p95", "hangs"]

NOTES = """{day}, {machine}, {cores} cores that did other work too
(load {load:.0f}), {at_once} cases at once, {seconds} s a case.

Median of all answers of faultless: {median:.2f} s.

Every counterexample, ours and theirs, was run again by the bench; one that does not show what it should is
a false alarm. What is not over 2 s after its time hangs. Our times are wall clock, theirs processor time,
which a busy machine does not stretch, from the start of their process. hypothesis gets 1000 examples a
test, 100 with the crosshair backend, and proves nothing. Its ghostwriter writes tests for pairs and for
exceptions, not for contracts; with the crosshair backend the same tests are run, and contracts with pre-
and postconditions as a property written by hand. `crosshair check` is asked where there is a contract;
`crosshair diffbehavior` answers when its time is over or every path is explored. The slow peers get a part
of the cases; below each of their rows stands ours on the same ones. Theirs are kept from run to run.
"""


def make_rows(results: dict[str, dict[str, Result]]) -> list[list[str]]:
    """Each peer's row is followed by ours on the same cases, where it was not asked all of them."""
    cases = {key_of(case): case for case in all_cases()}
    ours = results[our_build()]
    rows = []
    for tool in TOOLS:
        mine = {key: result for key, result in ours.items() if key in cases and cases[key].tool == tool}
        rows.append(summarise(tool, OURS, [(cases[key], result) for key, result in mine.items()]))
        for name, found in results.items():
            theirs = {key: r for key, r in found.items() if key in cases and cases[key].tool == tool}
            if not theirs or name.startswith(OURS):
                continue
            rows.append(summarise(tool, name, [(cases[key], result) for key, result in theirs.items()]))
            if theirs.keys() != mine.keys():
                same = [(cases[key], mine[key]) for key in theirs]
                rows.append(summarise(tool, f"{OURS}, those {len(same)}", same))
    return rows


def peers_versions() -> str:
    pins = [line.split(" ")[0] for line in PINNED.read_text().splitlines() if "==" in line]
    named = ("crosshair-tool", "hypothesis", "hypothesis-crosshair", "z3-solver")
    return ", ".join(pin.replace("==", " ") for pin in pins if pin.partition("==")[0] in named)


def write_page(results: dict[str, dict[str, Result]]) -> str:
    speeds = warm_and_cold()
    everything = [r["seconds"] for r in results[our_build()].values()]
    told = f"{machine('faultless', 'crosshair-tool', 'z3-solver')}; peers: {peers_versions()}"
    rows = [
        [name, f"{warm:.3f} s", f"{fresh:.3f} s", f"{warm / fresh:.2f}"]
        for name, (warm, fresh) in speeds.items()
    ]
    notes = NOTES.format(
        day=f"{datetime.now(UTC):%Y-%m-%d}",
        machine=told,
        cores=os.cpu_count(),
        load=os.getloadavg()[2],
        at_once=AT_ONCE,
        seconds=SECONDS,
        median=statistics.median(everything),
    )
    return "\n".join(
        [
            "# Symbolic server: figures\n\n<!-- Written by `python -m bench symbolic`. -->\n",
            notes,
            *([f"{note}\n"] if (note := os.environ.get("BENCH_NOTE")) else []),
            table("The truth set", HEADER, make_rows(results)),
            table("A warm request", ["case", "warm request", "fresh crosshair check", "ratio"], rows),
        ]
    )


def main() -> None:
    kept = Kept(KEPT)
    if collect(kept):
        text = write_page(kept.results)
        print(text)
        PAGE.write_text(text)
