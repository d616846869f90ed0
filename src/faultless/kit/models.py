"""What goes in and out of a tool as models, and their JSON Schemas."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, get_args, is_typeddict

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import to_json
from pydantic_core.core_schema import EnumSchema, ModelSchema

from faultless.kit.docstrings import find_docstring
from faultless.kit.validation import explain_invalid


class Arguments(BaseModel):
    """Input of a tool: unknown fields refused, nothing coerced."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Answer(BaseModel):
    """Output of a tool: the verdict."""

    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="constants")


# For their subclasses: on these two it would only parse this file for docstrings that are not there.
Arguments.model_config["use_attribute_docstrings"] = True
Answer.model_config["use_attribute_docstrings"] = True

A = TypeVar("A", bound=Arguments)


B = TypeVar("B", bound=BaseModel)


def make_model(base: type[B], fields: Mapping[str, tuple[Any, Any]]) -> type[B]:
    """A model made now: each field with its hint and its default or `Field`.

    To look for docstrings below fields takes time, so it is done only for hints that have fields.
    """
    documented = any(_has_fields(hint) for hint, _ in fields.values())
    made: type[B] = create_model(  # type: ignore[call-overload]  # the fields are known only now
        base.__name__, __base__=base, __cls_kwargs__={"use_attribute_docstrings": documented}, **fields
    )
    return made


def _has_fields(hint: Any) -> bool:  # noqa: ANN401 - a type
    is_one = dataclasses.is_dataclass(hint) or is_typeddict(hint)
    return is_one or any(_has_fields(part) for part in get_args(hint))


def parse_arguments(model: type[A], raw: Mapping[str, Any], *, is_text: bool = False) -> A:
    """The typed input, or an invalid_params fault that names every violation.

    Validated as JSON, because strict validation of Python objects would refuse lists where a tuple is meant.
    Where all that can be sent is text, "3" is a number.
    """
    try:
        if is_text:
            return model.model_validate_strings(raw)
        return model.model_validate_json(to_json(raw))
    except ValidationError as refused:
        raise explain_invalid(refused, model.model_json_schema(), raw) from None


def schema_of(model: type[BaseModel], mode: Literal["validation", "serialization"]) -> dict[str, Any]:
    schema = model.model_json_schema(mode=mode, schema_generator=_SchemaWriter)
    _drop_titles(schema)
    schema = stand_alone(schema, schema.get("$defs", {}))
    schema.pop("description", None)
    return schema


def stand_alone(rule: dict[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """A part of a schema as a schema: not a reference itself, with the definitions that it refers to."""
    name = rule.get("$ref", "").removeprefix("#/$defs/")
    own = dict(definitions[name] if name else rule)
    own.pop("$defs", None)
    used = to_json([own, *(rule for other, rule in definitions.items() if other != name)]).decode()
    needed = {other: rule for other, rule in definitions.items() if f'"#/$defs/{other}"' in used}
    return {"$defs": needed, **own} if needed else own


class _SchemaWriter(GenerateJsonSchema):
    """Pydantic describes models and enumerations by their docstrings, which may have to be looked up."""

    def model_schema(self, schema: ModelSchema) -> JsonSchemaValue:
        _restore_docstring(schema["cls"])
        return super().model_schema(schema)

    def enum_schema(self, schema: EnumSchema) -> JsonSchemaValue:
        _restore_docstring(schema["cls"])
        return super().enum_schema(schema)


def _restore_docstring(described: type) -> None:
    described.__doc__ = described.__doc__ or find_docstring(described) or None


def _drop_titles(schema: object) -> None:
    """Pydantic titles every property with its own name, which only costs tokens."""
    if isinstance(schema, dict):
        if isinstance(schema.get("title"), str):
            del schema["title"]
        for value in schema.values():
            _drop_titles(value)
    elif isinstance(schema, list):
        for value in schema:
            _drop_titles(value)
