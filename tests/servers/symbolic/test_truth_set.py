"""The truth set is true, and large enough; a part of it is asked in every run of the suite."""

from __future__ import annotations

import collections
import copy
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

from tests.servers.symbolic.conftest import Ask
from tests.servers.symbolic.truth_set import BAD_NEWS, Case, all_cases

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
ENDLESS_SECONDS = 0.5
# One of each kind and category: what the engine should settle at once, asked through the wire.
QUICK = {(case.kind, case.category): case for case in reversed(CASES)}
QUICK_SECONDS = 1.0


class EndlessError(Exception):
    pass


@contextmanager
def limit() -> Iterator[None]:
    def ring(_number: int, _frame: FrameType | None) -> None:
        raise EndlessError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, ENDLESS_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def observe(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[object, ...]:
    kept = copy.deepcopy(arguments)
    try:
        with limit():
            result = function(*kept)
            return (
                "returns",
                type(result),
                repr(list(result) if hasattr(result, "__next__") else result),
                repr(kept),
            )
    except EndlessError:
        return ("endless",)
    except Exception as error:  # noqa: BLE001 - the outcome of the specimen
        return ("raises", type(error), repr(kept))


def test_the_set_is_large_enough() -> None:
    found = collections.Counter(case.truth for case in CASES)
    assert {truth: found[truth] >= size for truth, size in SIZES.items()} == dict.fromkeys(SIZES, True)
    assert {case.category for case in CASES} >= set(CATEGORIES)
    assert len({(case.kind, case.name) for case in CASES}) == len(CASES)


@pytest.mark.parametrize("kind", ["exceptions_reachable", "pairs_different", "mutants_different"])
def test_every_witness_shows_what_it_should(kind: str) -> None:
    for case in CASES:
        if case.kind == kind:
            namespace: dict[str, Any] = {}
            exec(case.code, namespace)
            arguments = eval(f"({case.witness},)" if case.witness else "()", namespace)
            if case.truth == "different":
                outcomes = [observe(namespace[name], arguments) for name in ("a", "b")]
                assert outcomes[0] != outcomes[1], case
            else:
                raised = observe(namespace["f"], arguments)
                wanted = eval(case.exception, {**namespace, "decimal": __import__("decimal")})
                assert raised[0] == "raises", (case, raised)
                assert issubclass(raised[1], wanted), case  # type: ignore[arg-type]  # an exception's class


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
