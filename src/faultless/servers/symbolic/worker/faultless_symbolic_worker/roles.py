"""What a sandboxed child does: one role each, in the order in which a request may need them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .arguments import Written, read_arguments
from .calls import BlockedError, OverrunError, call, limited, prepare_alarm
from .events import (
    Ended,
    Endless,
    Event,
    Facts,
    Finished,
    MemoryExhausted,
    Refused,
    Replayed,
    Shrunk,
)
from .evidence import gather
from .explore import Exploration
from .prepare import Prepared, prepare
from .protocol import BRANCHES, Question, Refusal
from .replay import (
    Measure,
    describe,
    describe_outcome,
    judge_repeatedly,
    shrink_call,
)
from .search import Search, finite_domain
from .shapes import doubt_inputs
from .subjects import FAIL

if TYPE_CHECKING:
    from collections.abc import Callable

    from .source import Source

    Emit = Callable[[Event], None]

_LOAD_SECONDS = 5.0
_DEEP_RECURSION = 20_000


@dataclass(frozen=True)
class Task:
    """Everything a child is told."""

    role: str
    source: Source
    question: Question
    seconds: float = 0.0
    seed: int = 0
    inputs: tuple[Written, ...] = ()
    measured: tuple[Written, ...] = ()
    is_proof: bool = False


def perform(task: Task, emit: Emit) -> None:
    """Runs in the sandbox. Refusals and crashes of user code become events; anything else kills the child."""
    prepare_alarm()
    try:
        _ROLES[task.role](task, emit)
    except Refusal as refusal:
        emit(Refused(**refusal.as_json()))
    except BlockedError as error:
        emit(Refused(**_blocked(error).as_json()))
    except OverrunError:
        late = Refusal("timeout", f"Loading the code takes longer than {_LOAD_SECONDS:g} seconds")
        emit(Refused(**late.as_json()))
    except MemoryError:
        emit(MemoryExhausted())


def _blocked(error: BlockedError) -> Refusal:
    return Refusal(
        "permission_denied",
        f"Blocked while running: the code {error}",
        hint="input, output and processes cannot be analysed; move them out of the function",
    )


def _explore(task: Task, emit: Emit) -> None:
    with limited(_LOAD_SECONDS):
        prepared = prepare(task.source, task.question, record=task.question.tool == BRANCHES)
    emit(_facts(prepared))
    Exploration(prepared, emit, task.seconds).run()


def _facts(prepared: Prepared) -> Facts:
    shapes = [item.shape for item in prepared.parameters.items]
    mutable = [shape for shape in shapes if shape.is_mutable]
    return Facts(
        notes=[*prepared.parameters.assumptions, *prepared.notes],
        doubts=[*prepared.parameters.doubts, *prepared.subject.contract.doubts, *doubt_inputs(shapes)],
        sides=2 * len(prepared.loaded.branches),
        contract=prepared.subject.contract.style,
        has_int=any(inner.kind == "int" for shape in shapes for inner in shape.walk()),
        may_alias=len(mutable) > 1 or any(inner.is_mutable for shape in mutable for inner in shape.parts),
    )


def _search(task: Task, emit: Emit) -> None:
    with limited(_LOAD_SECONDS):
        prepared = prepare(task.source, task.question, record=task.question.tool == BRANCHES)
        if finite_domain([item.shape for item in prepared.parameters.items]) is None:
            prepared = prepare(task.source, task.question, record=True)
    Search(prepared, emit, task.seed).run()


def _shrink(task: Task, emit: Emit) -> None:
    with limited(_LOAD_SECONDS):
        prepared = prepare(task.source, task.question)
    emit(Shrunk(shrink_call(prepared, task.inputs[0])))


def _replay(task: Task, emit: Emit) -> None:
    """Each input plain; then, with `measured`, coverage and the path of the first input on the recording
    copy.
    """
    with limited(_LOAD_SECONDS):
        prepared = prepare(task.source, task.question, record=task.question.tool == BRANCHES)
    for written in task.inputs:
        judgement = judge_repeatedly(prepared, written)
        taken = sorted(prepared.loaded.recorder.taken)
        emit(Replayed(describe(prepared, written, judgement), taken))
        if judgement.verdict == FAIL and len(task.inputs) > 1:
            # A witness of a proof that fails ends the proof; nothing more need be run.
            break
    if task.measured:
        with limited(_LOAD_SECONDS):
            recorded = prepare(task.source, task.question, record=True)
        measure = Measure(recorded)
        traces = [measure.run(written) for written in task.measured]
        emit(measure.report(traces[0]))
    if task.is_proof:
        emit(gather(task.source, task.question, task.inputs))
    emit(Finished())


def _time(task: Task, emit: Emit) -> None:
    """One side alone, for as long as the task allows: does it end?"""
    with limited(_LOAD_SECONDS):
        prepared = prepare(task.source, task.question)
    target = prepared.targets[task.seed]
    positional, named = read_arguments(task.inputs[0], prepared.loaded.namespace)
    sys.setrecursionlimit(_DEEP_RECURSION)
    try:
        with limited(task.seconds):
            outcome = call(target.function, positional, named, prepared.subject.screen)
    except OverrunError:
        emit(Endless())
        return
    if isinstance(outcome.error, RecursionError):
        emit(Endless())
    else:
        emit(Ended(describe_outcome(outcome, prepared), outcome.is_limit))


_ROLES: dict[str, Callable[[Task, Emit], None]] = {
    "explore": _explore,
    "search": _search,
    "shrink": _shrink,
    "replay": _replay,
    "time": _time,
}
