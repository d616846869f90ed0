"""What each engine says of one case of the truth set, and whether its counterexample holds when the bench
runs it.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.symbolic_peer_output import call_in, given_in
from faultless.testing import WireClient
from tests.servers.symbolic import witness
from tests.servers.symbolic.truth_set import BAD_NEWS, Case

SECONDS = 10
KILL_SECONDS = SECONDS + 2
"""What is not over by then hangs, and is ended. Wall clock for ours; processor time for peers, which are one
thread each: a busy machine does not stretch it.
"""
PEER = Path(__file__).with_name("symbolic_peer.py")
TRUE_WORD = {"symbolic_check": "verified", "compare_functions": "equivalent"}
FOUND_WORD = {
    "symbolic_check": "counterexample",
    "find_path_to_exception": "found",
    "compare_functions": "different",
}
Result = dict[str, Any]


@dataclass(frozen=True)
class Engine:
    """`applies` picks the cases it can be asked about at all; of those a slow one gets every `stride`th."""

    name: str
    applies: Callable[[Case], bool]
    ask: Callable[[Case], Result]
    stride: int = 1
    is_quick: bool = False
    """Quick enough to be asked every case."""


def ask_ours(client: WireClient, case: Case) -> Result:
    started = time.monotonic()
    response = client.call(case.tool, {**case.arguments, "timeout_seconds": SECONDS})
    seconds = time.monotonic() - started
    answer = response["result"]["structuredContent"]
    found = [*answer.get("counterexamples", []), *answer.get("triggering_inputs", [])]
    found += [answer["distinguishing_input"]] if answer.get("distinguishing_input") else []
    shown = all(fails_again(case, item["reproduction"]) for item in found)
    return {"claim": answer["status"], "seconds": seconds, "shown": shown, "hung": seconds >= KILL_SECONDS}


def fails_again(case: Case, reproduction: str) -> bool:
    """The reproduction as a person would run it: below the code, in a new interpreter."""
    name = reproduction.split("def ")[1].split("(", maxsplit=1)[0]
    program = f"{case.code}\n\n{reproduction}\n\n{name}()\n"
    try:
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=10, check=False)
    except subprocess.TimeoutExpired:
        return "never returns" in reproduction
    return done.returncode != 0


def shows_again(case: Case, call: str | None) -> bool:
    """A peer's counterexample, run by the bench; one that cannot be read does not count."""
    if call is None:
        return False
    try:
        done = subprocess.run(
            [sys.executable, str(witness.__file__)],
            input=witness.tell(case, call),
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.stdout.strip() == "true"


@dataclass(frozen=True)
class Ran:
    output: str
    seconds: float
    """Processor time."""
    wall_seconds: float

    @property
    def is_killed(self) -> bool:
        """The kernel looks at the clock only now and then."""
        return self.seconds > KILL_SECONDS - 0.1


def run_peer(command: list[str], code: str) -> Ran:
    """A peer gets the code as a module called `specimen`."""
    limited = ["sh", "-c", f'ulimit -t {KILL_SECONDS}; exec "$@"', "sh", *command]
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as output:
        (Path(folder) / "specimen.py").write_text(code, encoding="utf-8")
        started = time.monotonic()
        peer = subprocess.Popen(
            limited,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": folder},
            stdout=output,
            stderr=subprocess.DEVNULL,
        )
        _, status, used = os.wait4(peer.pid, 0)
        peer.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode(errors="replace")
        return Ran(text, used.ru_utime + used.ru_stime, time.monotonic() - started)


def judge(case: Case, ran: Ran, *, call: str | None, is_alarm: bool, is_proof: bool = False) -> Result:
    claim = "timeout"
    if is_alarm:
        claim = FOUND_WORD[case.tool]
    elif is_proof:
        claim = TRUE_WORD[case.tool]
    shown = shows_again(case, call) if is_alarm else True
    return _result(claim, ran, shown=shown, call=call)


def _result(claim: str, ran: Ran, *, shown: bool = True, call: str | None = None) -> Result:
    times = {"seconds": ran.seconds, "wall_seconds": ran.wall_seconds, "hung": ran.is_killed}
    return {"claim": claim, "shown": shown, "call": call, **times}


def crosshair_check(python: Path, case: Case) -> Result:
    options = ["--report_all", f"--per_condition_timeout={SECONDS}", "--analysis_kind=PEP316,asserts"]
    ran = run_peer([str(python), "-m", "crosshair", "check", "specimen.f", *options], case.code)
    alarm = " error: " in ran.output
    proof = "Confirmed over all paths" in ran.output
    return judge(case, ran, call=call_in(ran.output), is_alarm=alarm, is_proof=proof)


def crosshair_diff(python: Path, case: Case) -> Result:
    options = ["specimen.a", "specimen.b", f"--per_condition_timeout={SECONDS}"]
    ran = run_peer([str(python), "-m", "crosshair", "diffbehavior", *options], case.code)
    proof = "All paths exhausted" in ran.output
    return judge(case, ran, call=given_in(ran.output), is_alarm="Given: " in ran.output, is_proof=proof)


def hypothesis(python: Path, how: str, backend: str, case: Case) -> Result:
    ran = run_peer([str(python), "-P", str(PEER), how, backend], case.code)
    lines = ran.output.strip().splitlines()
    if ran.is_killed or not lines:
        return _result("timeout" if ran.is_killed else "refused", ran)
    call = json.loads(lines[-1])
    if call and case.exception and not shows_again(case, call):
        call = None  # it raises something else, which was not asked
    return judge(case, ran, call=call, is_alarm=call is not None)


def has_clauses(case: Case) -> bool:
    return "pre:" in case.code or "post:" in case.code


def has_contract(case: Case) -> bool:
    return has_clauses(case) or "assert " in case.code


def make_peers(python: Path) -> list[Engine]:
    def ghostwriter(case: Case) -> Result:
        return hypothesis(python, how_to(case), "hypothesis", case)

    def with_crosshair(case: Case) -> Result:
        return hypothesis(python, how_to(case), "crosshair", case)

    return [
        Engine(
            "crosshair check",
            lambda case: case.tool == "symbolic_check" and has_contract(case),
            lambda case: crosshair_check(python, case),
            is_quick=True,
        ),
        Engine(
            "crosshair diffbehavior",
            lambda case: case.tool == "compare_functions",
            lambda case: crosshair_diff(python, case),
        ),
        Engine(
            "hypothesis ghostwriter",
            lambda case: case.tool != "symbolic_check" or not has_clauses(case),
            ghostwriter,
        ),
        Engine("hypothesis, crosshair backend", lambda _case: True, with_crosshair, stride=2),
    ]


def how_to(case: Case) -> str:
    if case.tool == "compare_functions":
        return "equivalent"
    return "property" if has_clauses(case) else "fuzz"


__all__ = ["BAD_NEWS", "SECONDS", "Engine", "Result", "ask_ours", "crosshair_check", "make_peers"]
