"""What a proof rests on: its inputs run again on code that tells its operations, with an eye on what is left
behind.

Why one input speaks for its path: if the models of the operations so far are right on their whole kinds, the
next operation has operands of the same kinds for every input of the path.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from .arguments import read_arguments
from .calls import Drained, Outcome, OverrunError, limited
from .events import Operations
from .operations import Ledger, kind_of
from .prepare import prepare
from .protocol import BRANCHES, COMPARE
from .replay import RUN_SECONDS, tell_outcomes
from .search import finite_domain
from .state import State
from .subjects import SKIP, Judgement, error_data

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .arguments import Written
    from .prepare import Prepared
    from .protocol import Question
    from .source import Source

_Call = tuple[list[Any], dict[str, Any]]
_CHANGED = "a call changes what the module keeps"
_TRACED_DIFFERS = "the code does something else when its operations are watched"
_NOT_THE_SAME_TWICE = "not deterministic: the code does not do the same twice"


def gather(source: Source, question: Question, inputs: tuple[Written, ...]) -> Operations:
    """Without inputs those of the finite domain are run."""
    ledger = Ledger()
    plain, traced = prepare(source, question), prepare(source, question, ledger=ledger)
    before = State(traced.loaded.namespace)
    doubts = [f"the module keeps a {before.opaque}, which cannot be looked into"] if before.opaque else []
    ledger.keep(before.kept)
    for left, right in zip(_calls(plain, inputs), _calls(traced, inputs), strict=True):
        first, again = _run(plain, left), _run(plain, left)
        seen = _run(traced, right, ledger)
        if first != again:
            doubts.append(_NOT_THE_SAME_TWICE)
        elif first != seen:
            doubts.append(_TRACED_DIFFERS)
        elif State(traced.loaded.namespace) != before:
            doubts.append(_CHANGED)
        if doubts:
            break
    notes = [(operation, list(kinds), line) for (operation, kinds), line in ledger.notes.items()]
    return Operations(notes, _item_kinds(plain), doubts)


def _calls(prepared: Prepared, inputs: tuple[Written, ...]) -> Iterator[_Call]:
    domain = finite_domain([item.shape for item in prepared.parameters.items])
    if inputs or domain is None:
        for written in inputs:
            yield read_arguments(written, prepared.loaded.namespace)
    else:
        for values in domain():
            yield prepared.parameters.bind(list(values))


def _run(prepared: Prepared, given: _Call, ledger: Ledger | None = None) -> list[str]:
    """The verdict and what was seen, in words; objects of two loadings have no other equality."""
    positional, named = copy.deepcopy(given)
    try:
        with limited(RUN_SECONDS):
            judgement = prepared.subject.judge(positional, named)
            if ledger is not None:
                _note_judging(prepared, judgement, ledger, [*positional, *named.values()])
    except OverrunError:
        return ["still running"]
    verdict, label, *outcomes = tell_outcomes(prepared, judgement)
    # Branches are not recorded here, so there is no list of them to agree on.
    return [verdict, *outcomes] if prepared.question.tool == BRANCHES else [verdict, label, *outcomes]


def _note_judging(prepared: Prepared, judgement: Judgement, ledger: Ledger, arguments: list[Any]) -> None:
    """The judge runs in the engine too, so what it does are operations."""
    if judgement.verdict == SKIP:
        return
    for outcome in judgement.outcomes:
        if outcome.error is None or outcome.value is not None:
            ledger.result(outcome.value)
        if prepared.question.tool == COMPARE:
            ledger.note(0, "the same result", _seen(outcome))
    if prepared.question.tool == COMPARE:
        for value in arguments:
            ledger.note(0, "the same result", value)


def _seen(outcome: Outcome) -> Any:
    value = outcome.value.items if isinstance(outcome.value, Drained) else outcome.value
    return [value, *error_data(outcome.error)[:1]] if outcome.error else value


def _item_kinds(prepared: Prepared) -> list[str]:
    """What lists of the inputs may hold."""
    found: set[str] = set()
    for item in prepared.parameters.items:
        for shape in item.shape.walk():
            if shape.kind == "choice":
                found |= {kind_of(value) for value in shape.values}
            elif shape.kind == "none":
                found.add("None")
            elif not shape.parts:
                found.add(shape.kind)
    return sorted(found)
