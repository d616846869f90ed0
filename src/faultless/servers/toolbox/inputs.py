"""From the arguments of a call to what the tool gets: checked, complete, and with paths proved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticSerializationError, to_json

from faultless.contract import Fault, FaultKind, clean
from faultless.servers.toolbox.faults import explain_violations, refuse

if TYPE_CHECKING:
    from faultless.kit.root import Root
    from faultless.servers.toolbox.definition import Definition


def prepare_arguments(definition: Definition, arguments: dict[str, Any], root: Root) -> dict[str, Any]:
    try:
        to_json(arguments)
    except (PydanticSerializationError, ValueError) as problem:
        # A tool gets its arguments as JSON text, and not everything in memory can be written as such.
        raise refuse("arguments", f"cannot be written as JSON: {clean(str(problem), 200)}", None) from problem
    violations = definition.checker.find_violations(arguments)
    if violations:
        raise explain_violations(definition, violations)
    if definition.fills_defaults:
        arguments = _fill_in(definition.input_schema, arguments)
    for place, path in definition.paths.find(arguments):
        _prove_path(".".join(place), path, root)
    return arguments


def _fill_in(rule: object, value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """With the defaults of absent properties, at every depth that `properties` and `items` describe."""
    if not isinstance(rule, dict):
        return value
    if isinstance(value, list):
        return [_fill_in(rule.get("items"), item) for item in value]
    properties = rule.get("properties")
    if not isinstance(value, dict) or not isinstance(properties, dict):
        return value
    absent = {
        name: inner["default"]
        for name, inner in properties.items()
        if name not in value and isinstance(inner, dict) and "default" in inner
    }
    return {name: _fill_in(properties.get(name), inner) for name, inner in (value | absent).items()}


def _prove_path(name: str, path: str, root: Root) -> None:
    try:
        root.resolve(path)
    except Fault as fault:
        if fault.kind is FaultKind.INVALID_PARAMS:
            raise refuse(name, fault.message, path) from fault
        raise Fault(
            fault.kind, f"{name}: {fault.message}", hint=fault.hint, details={"field": name}
        ) from fault
