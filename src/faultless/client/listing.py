"""What a server says about its tools: the schemas of arguments and answers, and what may be repeated.

The schemas come from strangers, so the engine that runs them fetches nothing and has no pattern that hangs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jsonschema_rs
from pydantic_core import PydanticSerializationError, from_json, to_json

from faultless.contract import Fault, FaultKind, clean
from faultless.contract.portable import make_portable
from faultless.contract.text import replace_surrogates

if TYPE_CHECKING:
    from collections.abc import Iterable

    from faultless.contract import Json

_DETAIL_CHARACTERS = 300
_VIOLATIONS = 10


@dataclass
class ListedTool:
    name: str
    description: str = ""
    input_schema: dict[str, Any] = field(default_factory=dict)
    output_schema: dict[str, Any] | None = None
    annotations: dict[str, Any] = field(default_factory=dict)
    raw: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """As the server wrote it; empty for a tool that it does not list."""

    @property
    def is_listed(self) -> bool:
        return bool(self.raw)

    @property
    def is_read_only(self) -> bool:
        return self.annotations.get("readOnlyHint") is True

    @property
    def is_repeatable(self) -> bool:
        return self.is_read_only or self.annotations.get("idempotentHint") is True

    @property
    def needs_nothing(self) -> bool:
        return not self.input_schema.get("required")

    @cached_property
    def _input(self) -> jsonschema_rs.Validator | None:
        return _compile(self.input_schema)

    @cached_property
    def _output(self) -> jsonschema_rs.Validator | None:
        return None if self.output_schema is None else _compile(self.output_schema)

    def check_arguments(self, arguments: dict[str, Any]) -> None:
        if self._input is None or self._input.is_valid(arguments):
            return
        violations = _list_violations(self._input, arguments)
        first = violations[0]
        raise Fault(
            FaultKind.INVALID_PARAMS,
            f"{self.name}: {first['field']}: {first['detail']}",
            hint=f"the parameters are: {', '.join(self.input_schema.get('properties', {})) or 'none'}",
            details={**first, "violations": list(violations)},
            layer="protocol",
            outcome="not_done",
        )

    def check_answer(self, result: Mapping[str, Any]) -> None:
        if self._output is None:
            return
        value = result.get("structuredContent")
        if value is not None and self._output.is_valid(value):
            return
        missing: list[dict[str, Json]] = [{"field": "structuredContent", "detail": "is missing"}]
        violations = missing if value is None else _list_violations(self._output, value)
        first = violations[0]
        raise Fault(
            FaultKind.UPSTREAM_ERROR,
            f"{self.name} answered outside its own output schema: {first['field']}: {first['detail']}",
            hint="the tool may well have done its job; report its answer to the server's maintainers",
            details={"violations": list(violations), "answer": make_portable(value)},
            origin="peer",
            layer="payload",
            outcome="done",
        )


def check_text(what: str, value: object) -> str:
    """Text that can be sent, or an invalid_params fault: the mistake is the caller's."""
    if not isinstance(value, str):
        raise _refuse(f"{what} is text, not {type(value).__name__}")
    if value != replace_surrogates(value):
        raise _refuse(f"{what} holds half a character (a lone surrogate), which cannot be sent")
    return value


def check_mapping(what: str, value: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if not isinstance(value, Mapping | None):
        raise _refuse(f"{what} is a dictionary, not {type(value).__name__}")
    return value or {}


def _refuse(message: str) -> Fault:
    return Fault(
        FaultKind.INVALID_PARAMS,
        clean(message, _DETAIL_CHARACTERS),
        hint="pass strings, finite numbers, booleans, lists and dictionaries only",
        layer="protocol",
        outcome="not_done",
    )


def make_plain(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as the JSON that will be sent, or an invalid_params fault."""
    try:
        written = to_json(arguments, inf_nan_mode="constants")  # which the next line refuses
        plain: dict[str, Any] = from_json(written, allow_inf_nan=False)
    except (PydanticSerializationError, ValueError, RecursionError) as refused:
        words = "the arguments cannot be written as JSON, which has no NaN and no infinity"
        raise _refuse(f"{tool}: {words}: {refused}") from None
    return plain


def read_listing(tools: Iterable[object]) -> dict[str, ListedTool]:
    """The tools of a listing; what is not a tool is left out, and of two with one name the first counts."""
    listing: dict[str, ListedTool] = {}
    for tool in tools:
        if isinstance(tool, dict) and isinstance(name := tool.get("name"), str) and name not in listing:
            description = tool.get("description")
            listing[name] = ListedTool(
                name,
                description if isinstance(description, str) else "",
                _find_object(tool, "inputSchema") or {},
                _find_object(tool, "outputSchema"),
                _find_object(tool, "annotations") or {},
                tool,
            )
    return listing


def simplify_listing(result: dict[str, Any]) -> dict[str, Any]:
    """A copy the SDK can read: one malformed tool must not cost all the others.

    Output schemas are left out: the SDK would run the server's patterns over the server's text, with an
    engine that can be made to hang. Answers are checked by `ListedTool`, with one that cannot.
    """
    listed = result.get("tools")
    if not isinstance(listed, list):
        return result
    tools = []
    for tool in listed:
        if isinstance(tool, dict) and isinstance(tool.get("name"), str):
            schema = _find_object(tool, "inputSchema") or {}
            is_usable = schema.get("type") == "object"
            tools.append({"name": tool["name"], "inputSchema": schema if is_usable else {"type": "object"}})
    return {**result, "tools": tools}


def _find_object(tool: dict[str, Any], key: str) -> dict[str, Any] | None:
    value = tool.get(key)
    return value if isinstance(value, dict) else None


def find_drift(known: ListedTool | None, now: ListedTool | None) -> Fault | None:
    """The fault for a tool that is no longer what the caller was told; a description may change."""
    if known is None or now is None:
        return None
    parts = ("input_schema", "output_schema", "annotations")
    changed: list[Json] = [part for part in parts if getattr(known, part) != getattr(now, part)]
    if not changed:
        return None
    return Fault(
        FaultKind.CONFLICT,
        f"{now.name} changed since its schema was listed: {', '.join(map(str, changed))}",
        hint="read the new schema in details, adapt the arguments and call again",
        details={"changed": changed, "input_schema": now.input_schema, "output_schema": now.output_schema},
        layer="protocol",
        outcome="not_done",
    )


def _compile(schema: dict[str, Any]) -> jsonschema_rs.Validator | None:
    """A broken schema checks nothing: the server is the judge of what it meant."""
    try:
        return jsonschema_rs.validator_for(schema, offline=True)
    except (ValueError, jsonschema_rs.ReferencingError):
        return None


def _list_violations(validator: jsonschema_rs.Validator, value: object) -> list[dict[str, Json]]:
    found: list[dict[str, Json]] = []
    for error in validator.iter_errors(value):
        path = ".".join(str(step) for step in error.instance_path)
        found.append({"field": path or "(all)", "detail": clean(error.message, _DETAIL_CHARACTERS)})
        if len(found) == _VIOLATIONS:
            break
    return found
