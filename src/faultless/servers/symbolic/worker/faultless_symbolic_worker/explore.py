"""The symbolic engine: CrossHair explores paths; every path ends as a witness the supervisor can replay.

A path only counts towards a proof if CrossHair treated it exactly. What it approximates (real numbers for
floats), gives up on or calls not deterministic is remembered as a reason why there is no proof.
"""

# mypy: disable-error-code="no-untyped-call"
# CrossHair annotates most of what is called here, but not all.

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import z3  # type: ignore[import-untyped]  # it has no stubs
from crosshair import core_and_libs  # noqa: F401 - importing it registers the symbolic types
from crosshair.copyext import CopyMode, deepcopyext
from crosshair.core import (
    PathOutcome,
    deep_realize,
    explore_loop,
    proxy_for_type,
    suspected_proxy_intolerance_exception,
)
from crosshair.libimpl import builtinslib
from crosshair.options import DEFAULT_OPTIONS, AnalysisOptionSet
from crosshair.statespace import CallAnalysis, RootNode, StateSpace, VerificationStatus, context_statespace
from crosshair.tracers import NoTracing, ResumedTracing
from crosshair.util import (
    ControlFlowException,
    CrosshairUnsupported,
    IgnoreAttempt,
    NotDeterministic,
    PathTimeout,
    UnexploredPath,
    UnknownSatisfiability,
)

from .arguments import write_arguments
from .calls import pass_engine_signals
from .events import Candidate, Event, Explored, Restarted, Witness
from .generate import Unbuildable
from .parameters import OMITTED
from .replay import show
from .source import split_names
from .subjects import FAIL, LIMIT, PASS, SKIP, Judgement
from .values import NotRenderableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from .prepare import Prepared
    from .shapes import Shape

_STATUS = {
    PASS: VerificationStatus.CONFIRMED,
    SKIP: VerificationStatus.CONFIRMED,
    FAIL: VerificationStatus.REFUTED,
}
_MAX_PATHS = 20_000
# Shapes CrossHair builds itself; the others are built here from their parts.
_NATIVE = split_names(
    """
    int bool float complex str bytes bytearray list dict set frozenset vartuple date datetime time
    timedelta decimal fraction
    """
)


class Exploration:
    def __init__(self, prepared: Prepared, emit: Callable[[Event], None], seconds: float) -> None:
        self._prepared = prepared
        self._subject = prepared.subject
        self._subject.screen = _screen
        self._emit = emit
        self._seconds = seconds
        self._doubts: list[str] = []
        self._paths = 0

    def run(self) -> None:
        if self._is_supported():
            exhausted, confirmed = self._explore()
            if self._doubts == [_APPROXIMATED]:
                # Exact floats are slow, so they are only tried when nothing else is open.
                self._doubts, self._paths = [], 0
                builtinslib._PYTYPE_TO_WRAPPER_TYPE[float] = ((builtinslib.PreciseIeeeSymbolicFloat, 1.0),)  # noqa: SLF001 - no public switch
                self._emit(Restarted())
                exhausted, confirmed = self._explore()
        else:
            exhausted = confirmed = False
        self._emit(Explored(exhausted, confirmed, self._paths, self._doubts[:5]))

    def _explore(self) -> tuple[bool, bool]:
        root = RootNode()
        options = DEFAULT_OPTIONS.overlay(
            AnalysisOptionSet(
                per_condition_timeout=self._seconds,
                per_path_timeout=max(1.0, self._seconds / 4),
                max_iterations=_MAX_PATHS,
                max_uninteresting_iterations=0,
            )
        )
        explore_loop(options, root, self._run_path)
        status = root.child.get_result().verification_status
        return root.child.is_exhausted(), status == VerificationStatus.CONFIRMED

    def _is_supported(self) -> bool:
        for item in self._prepared.parameters.items:
            for shape in item.shape.walk()[1:]:
                if item.shape.kind in _NATIVE and shape.kind not in _NATIVE - {"vartuple"}:
                    self._doubt(
                        f"{item.name}: {shape.describe()} inside {item.shape.kind} is only tried at random"
                    )
                    return False
        return True

    def _doubt(self, why: str) -> None:
        if why not in self._doubts:
            self._doubts.append(why)

    def _run_path(self, space: StateSpace) -> PathOutcome:
        try:
            return self._run_path_or_give_up(space)
        except IgnoreAttempt as error:
            if str(error).startswith("deferred assumption failed"):
                # The path's constraints cannot hold together: there is no input behind it.
                return PathOutcome(CallAnalysis())
            self._doubt("a path was set aside by the solver")
        except NotDeterministic:
            self._doubt("the code does not do the same twice")
        except CrosshairUnsupported as error:
            self._doubt(f"not supported symbolically: {error}"[:200])
        except PathTimeout:
            self._doubt("a path took too long")
        except UnknownSatisfiability:
            self._doubt("the solver gave up on a path")
        except UnexploredPath as error:
            self._doubt(f"a path was given up: {type(error).__name__}")
        except (z3.Z3Exception, ControlFlowException) as error:
            self._doubt(f"the solver failed: {type(error).__name__}")
        return _outcome(LIMIT)

    def _run_path_or_give_up(self, space: StateSpace) -> PathOutcome:
        parameters = self._prepared.parameters
        try:
            values = self._make_values(space)
        except Unbuildable:
            # There is no input to run again, so nothing shows that the constructor refuses these values.
            self._doubt("a constructor refuses some values")
            return _outcome(SKIP)
        working = deepcopyext(values, CopyMode.REGULAR, {})
        with ResumedTracing():
            judgement = self._subject.judge(*parameters.bind(working))
            space.detach_path()
            values = deep_realize(values)
            results = [deep_realize(outcome.value) for outcome in judgement.outcomes]
        if space.status_cap is not None:
            self._doubt(_APPROXIMATED)
        self._paths += 1
        return self._report(judgement, values, results)

    def _report(self, judgement: Judgement, values: list[Any], results: list[Any]) -> PathOutcome:
        """Runs untraced and after the path is detached: everything here is concrete."""
        if judgement.verdict not in (PASS, SKIP, FAIL):
            self._doubt(
                "a path ran into a limit"
                if judgement.verdict == LIMIT
                else "a result cannot be compared exactly"
            )
        try:
            written = write_arguments(values, self._prepared.parameters, self._prepared.loaded.namespace)
        except NotRenderableError as error:
            self._doubt(f"a path has no input that can be written down: {error}")
            return _outcome(LIMIT)
        if judgement.verdict == FAIL:
            self._emit(Candidate(written, judgement.label, "explore"))
        else:
            shown = [show(result, self._prepared.loaded.namespace) for result in results]
            self._emit(Witness(written, judgement.verdict, judgement.label, shown))
        return _outcome(judgement.verdict)

    def _make_values(self, space: StateSpace) -> list[Any]:
        parameters = self._prepared.parameters
        omitted: set[int] = set()
        for index in parameters.omittable():
            if not space.smt_fork(desc=f"omit_{index}", probability_true=0.2):
                break
            omitted.add(index)
        omitted |= {i for i in parameters.free() if space.smt_fork(desc=f"omit_{i}", probability_true=0.2)}
        return [
            OMITTED if index in omitted else _make_symbolic(item.shape, f"{item.name}{space.uniq()}")
            for index, item in enumerate(parameters.items)
        ]


def _outcome(verdict: str) -> PathOutcome:
    # A new one each time: CrossHair changes the status in place.
    return PathOutcome(CallAnalysis(_STATUS.get(verdict, VerificationStatus.UNKNOWN)))


_APPROXIMATED = "floating point was approximated by real numbers"


def _make_symbolic(shape: Shape, name: str) -> Any:
    """Runs untraced, as CrossHair's own argument generation does."""
    space = context_statespace()
    if shape.kind in _NATIVE:
        return proxy_for_type(shape.python, name, allow_subtypes=False)
    if shape.kind == "none":
        return None
    if shape.kind == "choice":
        return _choose(space, list(shape.values), name)
    if shape.kind == "union":
        part = _choose(space, list(shape.parts), name)
        return _make_symbolic(part, f"{name}_{part.kind}")
    if shape.kind == "tuple":
        return tuple(_make_symbolic(part, f"{name}_{i}") for i, part in enumerate(shape.parts))
    if shape.kind == "typeddict":
        kept = [n for n in shape.names if n not in shape.optional or space.smt_fork(desc=f"{name}_{n}")]
        parts = dict(zip(shape.names, shape.parts, strict=True))
        return {n: _make_symbolic(parts[n], f"{name}_{n}") for n in kept}
    if shape.kind == "class":
        arguments = {
            n: _make_symbolic(p, f"{name}_{n}") for n, p in zip(shape.names, shape.parts, strict=True)
        }
        return _construct(shape.python, arguments)
    raise CrosshairUnsupported(f"{shape.describe()} is only tried at random")


def _choose(space: StateSpace, values: list[Any], name: str) -> Any:
    for index, value in enumerate(values[:-1]):
        if space.smt_fork(desc=f"{name}_choice_{index}", probability_true=1 / (len(values) - index)):
            return value
    return values[-1]


def _construct(cls: type, arguments: dict[str, Any]) -> Any:
    try:
        with ResumedTracing():
            return cls(**arguments)
    except Exception as error:
        _screen(error)
        # The constructor refuses these values, so they are not an input.
        with ResumedTracing():
            context_statespace().detach_path()
        raise Unbuildable from error


def _screen(error: BaseException) -> None:
    """Re-raise what is CrossHair's own, so that it is never taken for an exception of the user's."""
    pass_engine_signals(error)
    with NoTracing():
        if isinstance(error, ControlFlowException | NotDeterministic | z3.Z3Exception | KeyboardInterrupt):
            raise error
        if isinstance(error, Exception) and suspected_proxy_intolerance_exception(error):
            raise CrosshairUnsupported("a library function cannot take symbolic values")
