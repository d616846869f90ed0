"""JSON Schema: is a value as described, and if not, where and why, all of it at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jsonschema_rs

from faultless.contract import Json, clean
from faultless.contract.text import did_you_mean
from faultless.kit.validation import bounded_echo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_TYPE_NAMES = {
    "array": "an array",
    "boolean": "a boolean",
    "integer": "an integer",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "a string",
}
_SHOWN_OPTIONS = 20


class SchemaError(ValueError):
    """Why something is not a schema, in one sentence."""


class Schema:
    """A compiled schema. Draft 2020-12 unless it says otherwise; nothing is ever fetched."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._properties = schema.get("properties", {})
        kind: Callable[..., Any] = jsonschema_rs.validator_for
        if "$schema" not in schema:
            kind = jsonschema_rs.Draft202012Validator
        try:
            self._validator = kind(
                dict(schema), mask="the value", validate_formats=True, retriever=_refuse_fetching
            )
        except (jsonschema_rs.ValidationError, ValueError, TypeError) as refused:
            place = ".".join(str(step) for step in getattr(refused, "instance_path", ()))
            where = f"{place}: " if place else ""
            raise SchemaError(f"the schema is invalid: {where}{_first_line(refused)}") from None

    def find_violations(self, value: object) -> list[dict[str, Json]]:
        try:
            errors = list(self._validator.iter_errors(value))
        except ValueError as refused:  # nested too deeply, or half a character
            return [_violation("arguments", f"cannot be checked: {_first_line(refused).lower()}", None)]
        return [violation for error in errors for violation in self._explain(error)]

    def _explain(self, error: Any) -> Iterator[dict[str, Json]]:  # noqa: ANN401 - a class the library does not type
        place = [str(step) for step in error.instance_path]
        facts = error.kind.as_dict()
        match error.kind.name:
            case "required":
                yield _violation(_join([*place, facts["property"]]), "is required", None)
            case "additionalProperties" | "unevaluatedProperties":
                for name in facts["unexpected"]:
                    near = did_you_mean(name, self._properties) if not place else ""
                    value = error.instance.get(name) if isinstance(error.instance, dict) else None
                    yield _violation(_join([*place, name]), f"unknown parameter{near}", value)
            case _:
                violation = _violation(_join(place), _describe(error), error.instance)
                if "options" in facts:
                    violation["allowed"] = list(facts["options"][:_SHOWN_OPTIONS])
                elif "expected_value" in facts:
                    violation["allowed"] = [facts["expected_value"]]
                yield violation


def _describe(error: Any) -> str:  # noqa: ANN401 - as above
    """The common keywords in our words; the library's do for the rest."""
    facts = error.kind.as_dict()
    match error.kind.name:
        case "type":
            names = sorted(_TYPE_NAMES.get(name, name) for name in facts["types"])
            return f"value must be {' or '.join(names)}"
        case "enum":
            options = facts["options"]
            shown = ", ".join(repr(option) for option in options[:_SHOWN_OPTIONS])
            return f"value must be one of {shown}{' …' if len(options) > _SHOWN_OPTIONS else ''}"
        case "const":
            return f"value must be {facts['expected_value']!r}"
        case "minimum":
            return f"value must be at least {facts['limit']}"
        case "maximum":
            return f"value must be at most {facts['limit']}"
        case "falseSchema":
            return "no value is allowed here"
        case "anyOf" | "oneOf" if "context" in facts:
            tried = dict.fromkeys(_describe(errors[0]) if errors else "" for errors in facts["context"])
            return clean("none of the alternatives fits: " + "; ".join(tried), 500)
    return _first_line(error)


def _violation(field: str, detail: str, received: object) -> dict[str, Json]:
    return {"field": field, "detail": detail, "received_value": bounded_echo(received)}


def _join(place: list[str]) -> str:
    return clean(".".join(place), 200) or "arguments"


def _first_line(error: Exception) -> str:
    return clean(str(getattr(error, "message", error)).split("\n", 1)[0], 300)


def _refuse_fetching(address: str) -> dict[str, Any]:
    raise ValueError(f"{address} is elsewhere, and schemas are not fetched")
