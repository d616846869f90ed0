"""From a request to a subject: the code loaded, the contract read, the parameters known."""

from __future__ import annotations

import builtins
import inspect
import typing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .contracts import (
    Contract,
    declared_exceptions,
    read_asserts,
    read_docstring,
    read_foreign,
)
from .loading import Loaded, Target
from .parameters import Parameters, join, read_parameters
from .protocol import CHECK, COMPARE, EXCEPTION, Question, Refusal
from .subjects import (
    BranchSubject,
    CheckSubject,
    CompareSubject,
    ExceptionSubject,
    Subject,
)

if TYPE_CHECKING:
    from .operations import Ledger
    from .source import Source


@dataclass
class Prepared:
    question: Question
    loaded: Loaded
    targets: list[Target]
    subject: Subject
    parameters: Parameters
    notes: list[str] = field(default_factory=list)


def prepare(
    source: Source, question: Question, *, record: bool = False, ledger: Ledger | None = None
) -> Prepared:
    """Runs the user's module. With `record` the functions note the branches they take, with a `ledger` their
    operations.
    """
    loaded = Loaded(source, record=question.names if record else (), ledger=ledger)
    targets = [loaded.find(name) for name in question.names]
    contracts = [_read_contract(target, traced=ledger is not None) for target in targets]
    parameters = read_parameters(targets[0].function, targets[0].node, targets[0].owner)
    notes: list[str] = []
    if question.tool == COMPARE:
        second = read_parameters(targets[1].function, targets[1].node, targets[1].owner)
        parameters, notes = join(parameters, second)
    subject = _make_subject(question, loaded, targets, contracts, notes)
    return Prepared(question, loaded, targets, subject, parameters, notes)


def _read_contract(target: Target, *, traced: bool) -> Contract:
    """Also puts the bare function into the target where a library had wrapped it."""
    foreign = read_foreign(target.function)
    if foreign is not None:
        contract, target.function = foreign
        return contract
    contract = read_docstring(target.function, target.node, traced=traced) or Contract()
    asserts = read_asserts(target.node)
    if asserts is not None:
        contract.assert_lines = asserts.assert_lines
        contract.style = "asserts" if contract.is_implicit else contract.style
    if not contract.raises:
        text = getattr(target.function, "__doc__", None) or ""
        contract.raises = declared_exceptions(
            text, getattr(inspect.unwrap(target.function), "__globals__", {})
        )
    return contract


def _make_subject(
    question: Question, loaded: Loaded, targets: list[Target], contracts: list[Contract], notes: list[str]
) -> Subject:
    target, contract = targets[0], contracts[0]
    if question.tool == CHECK:
        notes.extend(_describe_contract(contract, question.function))
        returns = typing.get_type_hints(target.function).get("return", typing.Any)
        return CheckSubject(target.function, contract, returns=returns)
    if question.tool == EXCEPTION:
        wanted = _find_exception(question.exception, loaded)
        if contract.pre:
            notes.append("only inputs that satisfy the precondition are considered")
        return ExceptionSubject(target.function, contract, target=wanted)
    if question.tool == COMPARE:
        if contract.pre or contracts[1].pre:
            notes.append("only inputs that satisfy the preconditions are considered")
        return CompareSubject(
            target.function, contract, other=targets[1].function, other_contract=contracts[1]
        )
    return BranchSubject(target.function, contract, recorder=loaded.recorder)


def _describe_contract(contract: Contract, name: str) -> list[str]:
    if contract.is_implicit:
        return [f"{name} has no contract: only exceptions and the type of its result were checked"]
    if contract.assert_lines:
        lines = ", ".join(map(str, sorted(contract.assert_lines)))
        return [f"the asserts at the top (line {lines}) are read as preconditions"]
    return []


def _find_exception(name: str, loaded: Loaded) -> type[BaseException]:
    first, *rest = name.split(".")
    value: Any = loaded.namespace.get(first, getattr(builtins, first, None))
    for part in rest:
        value = getattr(value, part, None)
    if not (isinstance(value, type) and issubclass(value, BaseException)):
        raise Refusal(
            "not_found",
            f"Exception type '{name}' is neither built in nor defined in the code",
            hint="name a built-in exception, one the code defines, or a dotted one such as "
            "decimal.InvalidOperation",
        )
    return value
