"""Contracts written with icontract and deal, read through what those libraries keep on the function."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from faultless.servers.symbolic.worker.contracts import Condition, Contract
from faultless.servers.symbolic.worker.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def read_foreign(function: Callable[..., Any]) -> tuple[Contract, Callable[..., Any]] | None:
    """The contract and the bare function below its decorators, or nothing."""
    if hasattr(function, "__preconditions__") or hasattr(function, "__postconditions__"):
        return _read_icontract(function)
    if "deal" in sys.modules:
        return _read_deal(function)
    return None


def _read_icontract(function: Any) -> tuple[Contract, Callable[..., Any]]:
    contract = Contract("icontract")
    groups = getattr(function, "__preconditions__", [])
    if len(groups) > 1:
        raise Refusal("unsupported", "Preconditions weakened by inheritance are not supported")
    for group in groups:
        contract.pre.extend(_from_icontract(item) for item in group)
    contract.post.extend(_from_icontract(item) for item in getattr(function, "__postconditions__", []))
    snapshots = getattr(function, "__postcondition_snapshots__", [])
    if snapshots:
        contract.post = [_with_snapshots(condition, snapshots) for condition in contract.post]
    contract.needs_old = bool(snapshots)
    return contract, _unwrap(function)


def _from_icontract(item: Any) -> Condition:
    names = list(item.condition_args)

    def holds(scope: Mapping[str, Any]) -> Any:
        known = {**scope, "result": scope.get("_")}
        return item.condition(**{name: known[name] for name in names})

    return Condition(_describe(item), getattr(item.location, "lineno", 0) if item.location else 0, holds)


def _with_snapshots(condition: Condition, snapshots: list[Any]) -> Condition:
    def holds(scope: Mapping[str, Any]) -> Any:
        before = vars(scope["__old__"])
        taken = {item.name: item.capture(**{name: before[name] for name in item.args}) for item in snapshots}
        return condition.holds({**scope, "OLD": SimpleNamespace(**taken)})

    return Condition(condition.text, condition.line, holds)


def _describe(item: Any) -> str:
    if item.description:
        return str(item.description)
    code = item.condition.__code__
    return f"{code.co_name} in line {code.co_firstlineno}"


def _unwrap(function: Any) -> Any:
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def _read_deal(function: Any) -> tuple[Contract, Callable[..., Any]] | None:
    introspection = sys.modules["deal"].introspection
    found = list(introspection.get_contracts(function))
    if not found:
        return None
    contract = Contract("deal")
    for item in found:
        if hasattr(item, "init"):
            item.init()
        if isinstance(item, introspection.Pre):
            contract.pre.append(_from_deal(item, with_result=False))
        elif isinstance(item, introspection.Ensure | introspection.Example):
            contract.post.append(_from_deal(item, with_result=True))
        elif isinstance(item, introspection.Post):
            contract.post.append(_from_deal_post(item))
        elif isinstance(item, introspection.Raises):
            contract.raises += tuple(item.exceptions)
        elif not isinstance(item, introspection.Has):
            raise Refusal("unsupported", f"The deal contract {type(item).__name__} is not supported")
    return contract, introspection.unwrap(function)


def _from_deal(item: Any, *, with_result: bool) -> Condition:
    error = sys.modules["deal"].ContractError

    def holds(scope: Mapping[str, Any]) -> bool:
        arguments = {name: value for name, value in scope.items() if not name.startswith("_")}
        if with_result:
            arguments["result"] = scope["_"]
        return _validates(lambda: item.validate(**arguments), error)

    return Condition(_deal_text(item), 0, holds)


def _from_deal_post(item: Any) -> Condition:
    error = sys.modules["deal"].ContractError
    return Condition(_deal_text(item), 0, lambda scope: _validates(lambda: item.validate(scope["_"]), error))


def _validates(check: Callable[[], object], error: type[BaseException]) -> bool:
    try:
        check()
    except error:
        return False
    return True


def _deal_text(item: Any) -> str:
    return str(getattr(item, "source", "") or type(item).__name__.lower())
