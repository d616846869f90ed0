"""From the arguments of a call to what the tool gets: checked, complete, and with paths proved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticSerializationError, to_json

from faultless.contract import Fault, FaultKind, clean
from faultless.kit.validation import invalid_params
from faultless.servers.toolbox.argv import refuse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from faultless.contract import Json
    from faultless.kit.root import Root
    from faultless.servers.toolbox.definition import Definition


def prepare(definition: Definition, raw: dict[str, Any], root: Root) -> dict[str, Any]:
    _refuse_unwritable(raw)
    violations = definition.checker.find_violations(raw)
    if violations:
        raise invalid_params(violations, hint=_hint(definition, violations))
    arguments = _fill_in(definition, raw) if definition.fills_defaults else raw
    for name, path in _find_paths(definition, arguments):
        _prove(name, path, root)
    return arguments


def _refuse_unwritable(raw: dict[str, Any]) -> None:
    """A tool gets its arguments as JSON text, and not everything in memory can be written as such."""
    try:
        to_json(raw)
    except (PydanticSerializationError, ValueError) as problem:
        reason = f"cannot be written as JSON: {clean(str(problem), 200)}"
        raise refuse("arguments", reason, None) from problem


def _prove(name: str, path: str, root: Root) -> None:
    try:
        root.resolve(path)
    except Fault as fault:
        if fault.kind is FaultKind.INVALID_PARAMS:
            raise refuse(name, fault.message, path) from fault
        raise Fault(
            fault.kind, f"{name}: {fault.message}", hint=fault.hint, details={"field": name}
        ) from fault


def _fill_in(definition: Definition, raw: dict[str, Any]) -> dict[str, Any]:
    absent = {
        name: rule["default"]
        for name, rule in definition.properties.items()
        if name not in raw and isinstance(rule, dict) and "default" in rule
    }
    return raw | absent


def _find_paths(definition: Definition, arguments: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Strings whose schema says "format": "path", alone, in a list, or as one of several types."""
    for name, rule in definition.properties.items():
        if name in arguments:
            yield from ((name, path) for path in _paths_in(rule, arguments[name]))


def _paths_in(rule: object, value: object) -> Iterator[str]:
    if not isinstance(rule, dict):
        return
    if isinstance(value, str) and rule.get("format") == "path":
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _paths_in(rule.get("items"), item)
    for option in rule.get("anyOf", ()):
        yield from _paths_in(option, value)


def _hint(definition: Definition, violations: list[dict[str, Json]]) -> str:
    if any(str(violation["detail"]).startswith("unknown parameter") for violation in violations):
        return f"the parameters are: {', '.join(definition.properties) or 'none'}"
    fields = dict.fromkeys(str(violation["field"]) for violation in violations)
    return f"correct {', '.join(fields)} and call again"
