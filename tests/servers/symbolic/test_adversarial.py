"""Claims that plain CPython shows to be false, of the kinds that were once believed; none is ever proved."""

from __future__ import annotations

import collections
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import pytest

from tests.servers.symbolic.conftest import Ask
from tests.servers.symbolic.truth_set import FOLDER

SECONDS = 3.0
LEAST_OF_A_FAMILY = 3
GOOD_NEWS = {"verified", "unreachable", "equivalent"}
HASH_SEEDS = range(12)
TOOLS = {
    "check": "symbolic_check",
    "exception": "find_path_to_exception",
    "compare": "compare_functions",
    "branches": "analyze_branches",
}


@dataclass(frozen=True)
class Claim:
    """`shown` runs below the code in CPython and ends well if the claim is false."""

    name: str
    family: str
    tool: str
    about: str
    code: str
    shown: str

    @property
    def arguments(self) -> dict[str, Any]:
        names: dict[str, Any] = {"function_name": "f"}
        if self.tool == "exception":
            names["exception_type"] = self.about
        elif self.tool == "compare":
            names = {"function_a": "a", "function_b": "b"}
        elif self.tool == "branches":
            names["symbolic_reachability"] = True
        return {"code": self.code, "timeout_seconds": SECONDS, **names}


def read_claims() -> list[Claim]:
    text = (FOLDER / "adversarial.txt").read_text(encoding="utf-8")
    return [_read(block) for block in text.split("=== ")[1:]]


def _read(block: str) -> Claim:
    head, body = block.split("\n", 1)
    name, family, asked = head.split(" | ")
    code, shown = body.split("---\n")
    tool, _, about = asked.partition(" ")
    return Claim(name, family, tool, about, code, shown)


CLAIMS = read_claims()
FIRST = {claim.family: claim.name for claim in reversed(CLAIMS)}


def test_each_family_has_several_claims() -> None:
    counted = collections.Counter(claim.family for claim in CLAIMS)
    assert {family: number for family, number in counted.items() if number < LEAST_OF_A_FAMILY} == {}


@pytest.mark.parametrize("family", sorted(FIRST))
def test_cpython_shows_that_the_claim_is_false(family: str) -> None:
    assert [claim.name for claim in CLAIMS if claim.family == family and not _is_shown(claim)] == []


def _is_shown(claim: Claim) -> bool:
    """Under one hash seed at least: an order that depends on it is part of what a claim may forget."""
    program = f"{claim.code}\n{claim.shown}"
    seeds = HASH_SEEDS if claim.family == "hash_order" else HASH_SEEDS[:1]
    for seed in seeds:
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": str(seed)},
            capture_output=True,
            timeout=60,
            check=False,
        )
        if done.returncode == 0:
            return True
    return False


@pytest.mark.parametrize(
    "claim",
    [
        pytest.param(claim, id=claim.name, marks=() if claim.name in FIRST.values() else pytest.mark.heavy)
        for claim in CLAIMS
    ],
)
def test_a_false_claim_is_never_proved(claim: Claim, ask: Ask) -> None:
    answer = ask(TOOLS[claim.tool], **claim.arguments)
    assert answer["status"] not in GOOD_NEWS, answer
    if claim.tool == "branches":
        assert int(claim.about) not in answer["dead_code_lines"], answer


CHANCE = {
    "random": "import random\ndef a(x: int) -> float:\n    return random.random()\n",
    "clock": "import time\ndef a(x: int) -> float:\n    return time.perf_counter()\n",
    "uuid": "import uuid\ndef a(x: int) -> str:\n    return str(uuid.uuid4())\n",
    "counter": "import itertools\nC = itertools.count()\ndef a(x: int) -> int:\n    return next(C)\n",
}


@pytest.mark.parametrize("code", CHANCE.values(), ids=CHANCE.keys())
def test_functions_that_are_not_deterministic_are_neither_the_same_nor_different(code: str, ask: Ask) -> None:
    twin = code[code.index("def ") :].replace("def a", "def b")
    answer = ask(
        "compare_functions", code=code + twin, function_a="a", function_b="b", timeout_seconds=SECONDS
    )
    assert answer["status"] == "timeout", answer
    assert "not deterministic" in answer["message"]
