"""Turning a refused input model into a fault a caller can act on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticSerializationError, to_json

from faultless.contract import Fault, FaultKind, Json, clean
from faultless.contract.text import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

_ECHO_LIMIT = 200
"""Longest received value, as JSON, that is sent back."""
_LONGEST_MESSAGE = 400
"""Characters of violations after which the others are only counted: there is a hint to come."""

_TYPE_NAMES = {
    "bool_type": "a boolean",
    "dict_type": "an object",
    "float_type": "a number",
    "int_type": "an integer",
    "int_from_float": "an integer",
    "list_type": "an array",
    "model_type": "an object",
    "string_type": "a string",
    "tuple_type": "an array",
}


def explain_invalid(
    refused: ValidationError, schema: Mapping[str, Any], received: Mapping[str, Any]
) -> Fault:
    """Every violation, the first one in front."""
    properties = schema.get("properties", {})
    violations = [_violation(error, error["loc"], properties) for error in refused.errors(include_url=False)]
    return invalid_params(violations, hint=_hint(violations, properties, received))


def explain_refusal(refused: ValidationError) -> Fault:
    """The same for parameters of the protocol itself, which the SDK checks."""
    violations = [
        _violation(error, error["loc"][error["loc"][:1] == ("params",) :], {})
        for error in refused.errors(include_url=False)
    ]
    return invalid_params(violations, hint="see the protocol's schema for this method")


def invalid_params(violations: list[dict[str, Json]], *, hint: str | None = None) -> Fault:
    """The fault for arguments that break their schema; each violation has field, detail, received_value."""
    said = _say_first(violations[0])
    for told, violation in enumerate(violations[1:], 1):
        longer = f"{said}; {violation['field']}: {violation['detail']}"
        if len(longer) > _LONGEST_MESSAGE:
            said += f" (and {len(violations) - told} more)"
            break
        said = longer
    return Fault(
        FaultKind.INVALID_PARAMS,
        clean(f"Invalid params: {said}"),
        hint=hint,
        details={**violations[0], "violations": list(violations)},
    )


def _say_first(violation: dict[str, Json]) -> str:
    received = violation.get("received_value")
    echo = "" if received is None else f" (received {to_json(received).decode()})"
    return f"{violation['field']}: {violation['detail']}{echo}"


def bounded_echo(value: object) -> Json:
    """A received value, small enough to send back."""
    try:
        text = to_json(value, inf_nan_mode="strings").decode()
    except PydanticSerializationError:
        return clean(repr(value), _ECHO_LIMIT)
    return value if len(text) <= _ECHO_LIMIT else clean(text, _ECHO_LIMIT)  # type: ignore[return-value]  # it is JSON


def _violation(
    error: ErrorDetails, location: tuple[int | str, ...], properties: Mapping[str, Any]
) -> dict[str, Json]:
    missing = error["type"] == "missing"
    return {
        "field": clean(".".join(str(step) for step in location), _ECHO_LIMIT) or "arguments",
        "detail": _detail(error, properties.get(str(location[0]), {}) if location else {}, properties),
        "received_value": None if missing else bounded_echo(error["input"]),
    }


def _detail(error: ErrorDetails, rule: Mapping[str, Any], properties: Mapping[str, Any]) -> str:
    kind = error["type"]
    if kind == "missing":
        return "is required"
    if kind == "extra_forbidden":
        return f"unknown parameter{did_you_mean(str(error['loc'][-1]), properties)}"
    if kind in _TYPE_NAMES:
        return f"value must be {_TYPE_NAMES[kind]}"
    if kind in {"greater_than_equal", "less_than_equal", "greater_than", "less_than"}:
        return _range(rule, error["msg"])
    if kind == "value_error":
        return str(error.get("ctx", {}).get("error", error["msg"]))
    return error["msg"][:1].lower() + error["msg"][1:]


def _range(rule: Mapping[str, Any], fallback: str) -> str:
    options: list[Mapping[str, Any]] = [rule, *rule.get("anyOf", ())]
    match next((option for option in options if {"minimum", "maximum"} & set(option)), {}):
        case {"minimum": low, "maximum": high}:
            return f"value must be between {low} and {high}"
        case {"minimum": low}:
            return f"value must be at least {low}"
        case {"maximum": high}:
            return f"value must be at most {high}"
    return fallback


def _hint(
    violations: list[dict[str, Json]], properties: Mapping[str, Any], received: Mapping[str, Any]
) -> str:
    if any(name not in properties for name in received):
        return f"the parameters are: {', '.join(properties) or 'none'}"
    return (
        f"correct {', '.join(sorted({str(violation['field']) for violation in violations}))} and call again"
    )
