"""The truth set is true, and large enough; a part of it is asked in every run of the suite."""

from __future__ import annotations

import collections

import pytest

from tests.servers.symbolic.conftest import Ask
from tests.servers.symbolic.truth_set import BAD_NEWS, KINDS, Case, all_cases
from tests.servers.symbolic.witness import shows

CASES = all_cases()
SIZES = {
    "verified": 60,
    "counterexample": 60,
    "found": 40,
    "unreachable": 20,
    "different": 60,
    "equivalent": 60,
}
CATEGORIES = [
    "ints",
    "nonlinear",
    "strings",
    "regex",
    "lists",
    "dicts",
    "floats",
    "recursion",
    "loops",
    "datetime",
    "bits",
    "aliasing",
    "unicode",
    "types",
]
# One of each kind and category: what the engine should settle at once, asked through the wire.
QUICK = {(case.kind, case.category): case for case in reversed(CASES)}
QUICK_SECONDS = 1.0


def test_the_set_is_large_enough() -> None:
    found = collections.Counter(case.truth for case in CASES)
    assert {truth: found[truth] >= size for truth, size in SIZES.items()} == dict.fromkeys(SIZES, True)
    assert {case.category for case in CASES} >= set(CATEGORIES)
    assert len({(case.kind, case.name) for case in CASES}) == len(CASES)


@pytest.mark.parametrize("kind", [kind for kind, truth in KINDS.items() if truth in BAD_NEWS])
def test_every_witness_shows_what_it_should(kind: str) -> None:
    cases = [case for case in CASES if case.kind == kind]
    assert cases
    assert [case.name for case in cases if case.witness is None] == []
    assert [case.name for case in cases if not shows(case, case.witness or "")] == []


def test_a_witness_that_shows_nothing_is_noticed() -> None:
    planted = {
        "magic_number": "48610",
        "late_assert": "12",
        "wrong_type_sometimes": "1",
        "off_by_one_clamp": "5",
        "divide": "1, 1",
        "less_or_equal": "11",
    }
    cases = {case.name: case for case in CASES}
    assert [name for name, call in planted.items() if shows(cases[name], call)] == []


ALWAYS = ("ints", "floats", "aliasing", "recursion")
KEYS = [
    pytest.param(key, marks=() if key[1] in ALWAYS else pytest.mark.heavy, id="/".join(key)) for key in QUICK
]


@pytest.mark.parametrize("key", KEYS)
def test_an_answer_is_right_or_not_known(key: tuple[str, str], ask: Ask) -> None:
    case: Case = QUICK[key]
    answer = ask(case.tool, **case.arguments, timeout_seconds=QUICK_SECONDS)
    assert answer["status"] in {case.truth, "timeout"}, answer


def test_bad_news_is_found_at_once_for_most(ask: Ask) -> None:
    cases = [case for case in QUICK.values() if case.truth in BAD_NEWS][:20]
    found = [ask(case.tool, **case.arguments, timeout_seconds=2.0)["status"] == case.truth for case in cases]
    assert sum(found) >= 0.9 * len(found)
