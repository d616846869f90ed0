"""CrossHair's model of one operation against CPython, over extreme operands; run as a program, one row each.

An operand is symbolic and led to its extreme value by a comparison, so that the engine treats it as it treats an
argument. Each path is judged on its own witness: what the engine computed against what CPython computes.
"""

# mypy: disable-error-code="no-untyped-call"
# CrossHair annotates most of what is called here, but not all.

from __future__ import annotations

import itertools
import json
import sys
from typing import Any

from crosshair import core_and_libs  # noqa: F401 - importing it registers the symbolic types
from crosshair.copyext import CopyMode, deepcopyext
from crosshair.core import PathOutcome, deep_realize, explore_loop, proxy_for_type
from crosshair.libimpl import builtinslib
from crosshair.options import DEFAULT_OPTIONS, AnalysisOptionSet
from crosshair.statespace import CallAnalysis, RootNode, StateSpace, VerificationStatus
from crosshair.tracers import NoTracing, ResumedTracing
from crosshair.util import ControlFlowException, CrosshairUnsupported, IgnoreAttempt, UnexploredPath

from faultless.servers.symbolic.worker.faultless_symbolic_worker.values import same

_INTS = [
    0,
    1,
    -1,
    2,
    3,
    -7,
    10,
    255,
    2**31,
    2**53 + 1,
    2**63 - 1,
    2**63,
    -(2**63) - 1,
    2**1023,
    10**400,
    -(10**400),
]
_TEXTS = [
    "",
    "a",
    "ab",
    "abc",
    "A",
    "\u017f",
    "\u0130",
    "ß",
    "e\u0301",
    "\ud800",
    "\x00",
    "٣",
    " ",
    "\n",
    "aa",
]
EXTREMES: dict[str, list[Any]] = {
    "int": _INTS,
    "bool": [False, True],
    "str": _TEXTS,
    "None": [None],
    "float": [0.0, -0.0, 1.5, float("inf"), float("nan"), 1e308],
    "list[int]": [[], [0], [1, 2], [3, 1, 2], [10**400, -1], [2**63], [0] * 12],
    "list[str]": [[], [""], ["a", "b"], ["\ud800"], ["b", "a", "b"]],
    "list[bool]": [[], [True], [False, True]],
    "tuple[int]": [(0, 1), (1, 0), (10**400, 10**400), (2**63, -1)],
    "tuple[str]": [("", "a"), ("a", "a"), ("\ud800", "\u017f")],
    "tuple[bool]": [(False, True), (True, True)],
    "range": [range(0), range(3), range(-1, 2)],
}
_TYPES: dict[str, Any] = {
    "int": int,
    "bool": bool,
    "str": str,
    "float": float,
    "list[int]": list[int],
    "list[str]": list[str],
    "list[bool]": list[bool],
    "tuple[int]": tuple[int, int],
    "tuple[str]": tuple[str, str],
    "tuple[bool]": tuple[bool, bool],
}
_PATHS = 30
_SECONDS = 0.5
_MOST_INPUTS = 8


def draw_inputs(kinds: list[str]) -> list[tuple[Any, ...]]:
    """All of one operand's extremes; of several, each value of the one with a few of the others."""
    lists = [EXTREMES[kind] for kind in kinds]
    if len(lists) == 1:
        return [(value,) for value in lists[0]]
    every = list(itertools.product(*lists))
    step = max(1, len(every) // _MOST_INPUTS)
    while step > 1 and len(every) % step == 0:
        step += 1
    return every[::step]


class Check:
    def __init__(self, operation: str, kinds: list[str]) -> None:
        letters = "abcd"[: len(kinds)]
        self._function = eval(f"lambda {', '.join(letters)}: {operation}")
        self._kinds = kinds
        self.deviations: list[str] = []
        self.agreed = self.unsettled = 0

    def run(self) -> None:
        for values in draw_inputs(self._kinds):
            for symbolic in self._choices():
                self._explore(values, symbolic)

    def _choices(self) -> list[tuple[bool, ...]]:
        """All symbolic, and each one alone beside constants."""
        can = [kind in _TYPES for kind in self._kinds]
        alone = [tuple(at == i and can[i] for i in range(len(can))) for at in range(len(can))]
        return [choice for choice in dict.fromkeys([tuple(can), *alone]) if any(choice)]

    def _explore(self, values: tuple[Any, ...], symbolic: tuple[bool, ...]) -> None:
        options = DEFAULT_OPTIONS.overlay(
            AnalysisOptionSet(
                per_condition_timeout=_SECONDS,
                per_path_timeout=_SECONDS,
                max_iterations=_PATHS,
                max_uninteresting_iterations=0,
            )
        )
        explore_loop(options, RootNode(), lambda space: self._run_path(space, values, symbolic))

    def _run_path(
        self, space: StateSpace, values: tuple[Any, ...], symbolic: tuple[bool, ...]
    ) -> PathOutcome:
        given = [
            proxy_for_type(_TYPES[kind], f"{kind[:3]}{index}", allow_subtypes=False) if free else value
            for index, (kind, value, free) in enumerate(zip(self._kinds, values, symbolic, strict=True))
        ]
        try:
            working = deepcopyext(given, CopyMode.REGULAR, {})
            with ResumedTracing():
                self._lead(space, working, values)
                outcome = self._outcome(working)
                space.detach_path()
                outcome, witness = deep_realize(outcome), deep_realize(given)
        except (ControlFlowException, UnexploredPath, CrosshairUnsupported, IgnoreAttempt):
            self.unsettled += 1
            return PathOutcome(CallAnalysis(VerificationStatus.UNKNOWN))
        self._judge(outcome, witness)
        return PathOutcome(CallAnalysis(VerificationStatus.CONFIRMED))

    def _lead(self, space: StateSpace, items: list[Any], values: tuple[Any, ...]) -> None:
        """To the extreme value: numbers by the solver at once, the others by comparing."""
        for item, value in zip(items, values, strict=True):
            with NoTracing():
                variable = getattr(item, "var", None) if type(value) in (int, bool) else None
                if variable is not None:
                    space.add(variable == value)
            if variable is None and value == value and not item == value:  # noqa: PLR0124 - nan; as the code under test writes it
                raise IgnoreAttempt("another value")

    def _outcome(self, values: list[Any]) -> tuple[str, Any]:
        try:
            return "returns", self._function(*values)
        except Exception as error:
            with NoTracing():
                if isinstance(error, ControlFlowException):
                    raise
                return "raises", type(error).__name__

    def _judge(self, outcome: tuple[str, Any], witness: list[Any]) -> None:
        expected = self._outcome(list(witness))
        if same(outcome, expected):
            self.agreed += 1
        elif len(self.deviations) < 3:
            self.deviations.append(f"{witness!r}: CPython {expected!r}, the engine {outcome!r}"[:300])


def main() -> None:
    sys.set_int_max_str_digits(0)
    # Floats as the engine's exact pass has them.
    builtinslib._PYTYPE_TO_WRAPPER_TYPE[float] = ((builtinslib.PreciseIeeeSymbolicFloat, 1.0),)
    check = Check(sys.argv[1], sys.argv[2:])
    check.run()
    sys.stdout.write(
        json.dumps({"agreed": check.agreed, "unsettled": check.unsettled, "deviations": check.deviations})
    )


if __name__ == "__main__":
    main()
