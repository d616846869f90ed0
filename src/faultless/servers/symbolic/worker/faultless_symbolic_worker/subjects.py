"""What is asked of the code, as a judge of one call.

A subject gets concrete arguments from the random search and from replays, and symbolic ones from CrossHair;
the same lines judge all three, so a replay can be compared with what the explorer claimed.
"""

from __future__ import annotations

import copy
import inspect
import types
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .calls import Drained, Outcome, call, pass_engine_signals
from .shapes import conforms
from .values import IncomparableError, same

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .branches import Recorder
    from .contracts import Condition, Contract

_LEFT_DIFFERENT = "the arguments are left in different states"
PASS, FAIL, SKIP, LIMIT, UNCLEAR = "pass", "fail", "skip", "limit", "unclear"


@dataclass
class Judgement:
    """`label` is what must agree between an explored path and its replay."""

    verdict: str
    label: str = ""
    violation: str = ""
    outcomes: list[Outcome] = field(default_factory=list)
    mutated: dict[str, tuple[Any, Any]] = field(default_factory=dict)


@dataclass
class Subject:
    """`screen` re-raises what belongs to the engine; the explorer puts its own there."""

    function: Callable[..., Any]
    contract: Contract
    screen: Callable[[BaseException], None] = pass_engine_signals

    def judge(self, positional: list[Any], named: dict[str, Any]) -> Judgement:
        raise NotImplementedError

    def admits(self, scope: Mapping[str, Any], conditions: list[Condition]) -> bool:
        """A precondition that raises admits nothing."""
        for condition in conditions:
            try:
                if not condition.holds(scope):
                    return False
            except BaseException as error:  # noqa: BLE001 - user code
                self.screen(error)
                return False
        return True

    def scope(self, positional: list[Any], named: dict[str, Any]) -> dict[str, Any]:
        bound = inspect.signature(self.function).bind(*positional, **named)
        bound.apply_defaults()
        return dict(bound.arguments)


@dataclass
class CheckSubject(Subject):
    """Does the function keep its contract?"""

    returns: Any = inspect.Signature.empty

    def judge(self, positional: list[Any], named: dict[str, Any]) -> Judgement:
        contract = self.contract
        scope: dict[str, Any] = {}
        if contract.pre or contract.post:
            scope = self.scope(positional, named)
            if not self.admits(scope, contract.pre):
                return Judgement(SKIP, "outside the precondition")
        if contract.needs_old:
            scope["__old__"] = types.SimpleNamespace(**copy.deepcopy(scope))
        outcome = call(self.function, positional, named, self.screen)
        if outcome.is_limit:
            return Judgement(LIMIT, outcome.label, outcomes=[outcome])
        if outcome.error is not None:
            return self._judge_error(outcome)
        judgement = self._judge_result(outcome, scope)
        return _unclear_if_endless(judgement)

    def _judge_error(self, outcome: Outcome) -> Judgement:
        error = outcome.error
        if isinstance(error, AssertionError) and outcome.line in self.contract.assert_lines:
            return Judgement(SKIP, "outside the precondition")
        if any(declared in type(error).__mro__ for declared in self.contract.raises):
            return Judgement(PASS, outcome.label, outcomes=[outcome])
        name = type(error).__name__
        told = (
            "an assertion fails"
            if isinstance(error, AssertionError)
            else f"raises {name}, which is not declared"
        )
        violation = f"{told} (line {outcome.line})"
        return Judgement(FAIL, f"{outcome.label} in line {outcome.line}", violation, [outcome])

    def _judge_result(self, outcome: Outcome, scope: dict[str, Any]) -> Judgement:
        scope["_"] = scope["__return__"] = outcome.value
        for condition in self.contract.post:
            try:
                held = bool(condition.holds(scope))
            except BaseException as error:  # noqa: BLE001 - user code
                self.screen(error)
                told = f"the postcondition raises {type(error).__name__}: {condition.text}"
                return Judgement(FAIL, f"post {condition.text} raises", told, [outcome])
            if not held:
                told = f"the postcondition is false: {condition.text}"
                return Judgement(FAIL, f"post {condition.text} is false", told, [outcome])
        if self.contract.is_implicit and not conforms(outcome.value, self.returns):
            value, wanted = outcome.value, self.returns
            found = "generator" if isinstance(value, Drained) else type(value).__name__
            annotated = wanted.__name__ if isinstance(wanted, type) else str(wanted).replace("typing.", "")
            told = f"returns a {found}, not the annotated {annotated}"
            return Judgement(FAIL, "wrong type", told, [outcome])
        return Judgement(PASS, outcome.label, outcomes=[outcome])


@dataclass
class ExceptionSubject(Subject):
    """Can the function raise this exception (or a subclass)?"""

    target: type[BaseException] = Exception

    def judge(self, positional: list[Any], named: dict[str, Any]) -> Judgement:
        if self.contract.pre and not self.admits(self.scope(positional, named), self.contract.pre):
            return Judgement(SKIP, "outside the precondition")
        outcome = call(self.function, positional, named, self.screen)
        # By the class's own ancestry, as `except` decides: a metaclass can make isinstance say anything.
        hit = outcome.error is not None and self.target in type(outcome.error).__mro__
        if outcome.is_limit and not (hit and issubclass(self.target, RecursionError | MemoryError)):
            return Judgement(LIMIT, outcome.label, outcomes=[outcome])
        if hit:
            label = f"{outcome.label} in line {outcome.line}"
            return Judgement(FAIL, label, outcomes=[outcome])
        return _unclear_if_endless(Judgement(PASS, outcome.label, outcomes=[outcome]))


def _unclear_if_endless(judgement: Judgement) -> Judgement:
    """Nothing is known of the items a generator has not given yet."""
    value = judgement.outcomes[0].value
    if judgement.verdict == PASS and isinstance(value, Drained) and value.ending == "goes on":
        judgement.verdict = UNCLEAR
    return judgement


@dataclass
class CompareSubject(Subject):
    """Do two functions do the same?"""

    other: Callable[..., Any] = lambda: None
    other_contract: Contract | None = None

    def judge(self, positional: list[Any], named: dict[str, Any]) -> Judgement:
        if not self._admitted(positional, named):
            return Judgement(SKIP, "outside the precondition")
        twin_positional, twin_named = copy.deepcopy((positional, named))
        first = call(self.function, positional, named, self.screen)
        second = call(self.other, twin_positional, twin_named, self.screen)
        outcomes = [first, second]
        if first.is_limit or second.is_limit:
            return Judgement(LIMIT, f"{first.label}; {second.label}", outcomes=outcomes)
        mine, yours = _changeable(positional, named), _changeable(twin_positional, twin_named)
        verdict, told = self._compare(first, second, mine, yours)
        changed = {"arguments": (mine, yours)} if told == _LEFT_DIFFERENT else {}
        return Judgement(verdict, f"{first.label}; {second.label}", told, outcomes, changed)

    def _admitted(self, positional: list[Any], named: dict[str, Any]) -> bool:
        sides = [(self.function, self.contract), (self.other, self.other_contract)]
        for function, contract in sides:
            if contract is not None and contract.pre:
                bound = inspect.signature(function).bind(*positional, **named)
                bound.apply_defaults()
                if not self.admits(dict(bound.arguments), contract.pre):
                    return False
        return True

    def _compare(self, first: Outcome, second: Outcome, mine: list[Any], yours: list[Any]) -> tuple[str, str]:
        if first.error is not None or second.error is not None:
            if type(first.error) is not type(second.error):
                return FAIL, "one side raises what the other does not"
            verdict = _compare_values(_plain(first.value), _plain(second.value))
            if verdict != PASS:
                return verdict, "the items before the exception differ"
            if _compare_values(error_data(first.error), error_data(second.error)) != PASS:
                # A message is rarely what callers rely on, but it can be: neither the same nor different.
                return UNCLEAR, "the exceptions carry different data"
        else:
            verdict = _compare_values(_plain(first.value), _plain(second.value))
            if verdict != PASS:
                return verdict, "the results differ"
        verdict = _compare_values(mine, yours)
        if verdict != PASS:
            return verdict, _LEFT_DIFFERENT
        endless = isinstance(first.value, Drained) and first.value.ending == "goes on"
        return (UNCLEAR, "") if endless else (PASS, "")


def error_data(error: BaseException | None) -> list[Any]:
    """What a handler can read of an exception."""
    return [] if error is None else [error.args, dict(vars(error))]


def _changeable(positional: list[Any], named: dict[str, Any]) -> list[Any]:
    """What a call can have changed. Comparing symbolic strings that cannot differ would only cost paths."""
    return [value for value in [*positional, *named.values()] if type(value) not in _UNCHANGEABLE]


_UNCHANGEABLE = (int, bool, float, complex, str, bytes, type(None))


def _plain(value: Any) -> Any:
    return (value.items, value.ending) if isinstance(value, Drained) else value


def _compare_values(left: Any, right: Any) -> str:
    try:
        if same(left, right):
            return PASS
        return UNCLEAR if same(left, right, strict=False) else FAIL
    except IncomparableError:
        return UNCLEAR


@dataclass
class BranchSubject(Subject):
    """Which branches does a call take? The function is the instrumented one."""

    recorder: Recorder | None = None

    def judge(self, positional: list[Any], named: dict[str, Any]) -> Judgement:
        assert self.recorder is not None  # noqa: S101 - set where the subject is made
        self.recorder.reset()
        outcome = call(self.function, positional, named, self.screen)
        if outcome.is_limit:
            return Judgement(LIMIT, outcome.label, outcomes=[outcome])
        label = f"{outcome.label} {sorted(self.recorder.taken)}"
        return _unclear_if_endless(Judgement(PASS, label, outcomes=[outcome]))
