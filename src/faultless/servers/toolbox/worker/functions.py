"""Which functions of a module are tools: hints as JSON Schema, and JSON values as what the hints promise."""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime as dt
import enum
import inspect
import pathlib
import types
import typing

if typing.TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Hint = typing.Any
Value = typing.Any
"""A JSON value, or what became of one."""
Rule = typing.Dict[str, typing.Any]

UNIONS = {typing.Union, getattr(types, "UnionType", typing.Union)}
LISTS = (list, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection)
SETS = (set, frozenset, collections.abc.Set)
MAPPINGS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
POSITIONAL_ONLY = inspect.Parameter.POSITIONAL_ONLY
STARRED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class Unsupported(Exception):  # noqa: N818 - a refusal, not a failure
    pass


def keep(value: Value) -> Value:
    return value


class Plan:
    """What a hint means on the wire, and how a value from the wire becomes what it asks for."""

    def __init__(self, schema: Rule, load: typing.Callable[[Value], Value] = keep) -> None:
        self.schema = schema
        self.load = load


SIMPLE: typing.Dict[Hint, Plan] = {
    str: Plan({"type": "string"}),
    int: Plan({"type": "integer"}, int),
    float: Plan({"type": "number"}, float),
    bool: Plan({"type": "boolean"}),
    type(None): Plan({"type": "null"}),
    None: Plan({"type": "null"}),
    typing.Any: Plan({}),
    object: Plan({}),
    pathlib.Path: Plan({"type": "string", "format": "path", "minLength": 1}, pathlib.Path),
    dt.datetime: Plan(
        {"type": "string", "format": "date-time"},
        lambda text: dt.datetime.fromisoformat(text.replace("Z", "+00:00")),  # noqa: FURB162 - before 3.11
    ),
    dt.date: Plan({"type": "string", "format": "date"}, dt.date.fromisoformat),
    list: Plan({"type": "array"}),
    tuple: Plan({"type": "array"}, tuple),
    set: Plan({"type": "array", "uniqueItems": True}, set),
    dict: Plan({"type": "object"}),
}


def plan(hint: Hint) -> Plan:
    try:
        if hint in SIMPLE:
            return SIMPLE[hint]
    except TypeError:  # not hashable, so certainly not simple
        pass
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is not None:
        return plan_generic(hint, origin, inner)
    if inspect.isclass(hint):
        return plan_class(hint)
    raise Unsupported(show(hint))


def plan_generic(hint: Hint, origin: Hint, inner: tuple[Hint, ...]) -> Plan:
    if hasattr(hint, "__metadata__"):  # Annotated
        return annotate(plan(inner[0]), hint.__metadata__)
    if origin is typing.Literal:
        return Plan({"enum": list(inner)})
    if origin in UNIONS:
        return plan_union(inner)
    if origin in LISTS:
        item = plan(inner[0])
        return Plan({"type": "array", "items": item.schema}, lambda values: [item.load(v) for v in values])
    if origin in SETS:
        item = plan(inner[0])
        kind = frozenset if origin is frozenset else set
        rule = {"type": "array", "items": item.schema, "uniqueItems": True}
        return Plan(rule, lambda values: kind(item.load(v) for v in values))
    if origin is tuple:
        return plan_tuple(inner)
    if origin in MAPPINGS and inner[0] is str:
        item = plan(inner[1])
        rule = {"type": "object", "additionalProperties": item.schema}
        return Plan(rule, lambda values: {name: item.load(v) for name, v in values.items()})
    raise Unsupported(show(hint))


def plan_tuple(inner: tuple[Hint, ...]) -> Plan:
    if len(inner) == 2 and inner[1] is Ellipsis:  # noqa: PLR2004 - tuple[X, ...]
        item = plan(inner[0])
        return Plan(
            {"type": "array", "items": item.schema}, lambda values: tuple(item.load(v) for v in values)
        )
    items = [plan(one) for one in inner]
    rule = {
        "type": "array",
        "prefixItems": [item.schema for item in items],
        "items": False,
        "minItems": len(items),
    }
    return Plan(rule, lambda values: tuple(item.load(v) for item, v in zip(items, values)))  # noqa: B905 - older interpreters


def plan_union(inner: tuple[Hint, ...]) -> Plan:
    options = [plan(one) for one in inner]

    def load(value: Value) -> Value:
        for option in options:
            if fits(option.schema, value):
                return option.load(value)
        return value

    return Plan({"anyOf": [option.schema for option in options]}, load)


def fits(schema: Rule, value: Value) -> bool:
    """The server has checked the value; this only tells types apart."""
    names = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
    name = names.get(type(value), "null")
    if "enum" in schema:
        return value in schema["enum"]
    if "anyOf" in schema:
        return any(fits(option, value) for option in schema["anyOf"])
    wanted = schema.get("type", name)
    return wanted == name or (wanted == "number" and name == "integer")


def annotate(planned: Plan, notes: tuple[object, ...]) -> Plan:
    texts = [note for note in notes if isinstance(note, str)]
    return Plan(dict(planned.schema, description=texts[0]), planned.load) if texts else planned


def plan_class(hint: Hint) -> Plan:
    if issubclass(hint, enum.Enum):
        return Plan({"enum": [member.value for member in hint]}, hint)
    if dataclasses.is_dataclass(hint):
        required = [
            field.name
            for field in dataclasses.fields(hint)
            if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        ]
        build = typing.cast("typing.Callable[..., Value]", hint)
        return plan_fields(typing.get_type_hints(hint, include_extras=True), required, build)
    if typing.is_typeddict(hint):
        required = sorted(hint.__required_keys__)
        return plan_fields(typing.get_type_hints(hint, include_extras=True), required, dict)
    raise Unsupported(show(hint))


def plan_fields(hints: dict[str, Hint], required: list[str], build: typing.Callable[..., Value]) -> Plan:
    fields = {name: plan(strip(hint)) for name, hint in hints.items()}
    rule: Rule = {"type": "object", "properties": {name: field.schema for name, field in fields.items()}}
    rule.update({"additionalProperties": False}, **({"required": required} if required else {}))
    return Plan(rule, lambda values: build(**{name: fields[name].load(v) for name, v in values.items()}))


def strip(hint: Hint) -> Hint:
    """Required[X] and NotRequired[X] are X."""
    name = getattr(typing.get_origin(hint), "_name", None)
    return typing.get_args(hint)[0] if name in {"Required", "NotRequired"} else hint


def show(hint: Hint) -> str:
    return hint.__name__ if inspect.isclass(hint) else str(hint).replace("typing.", "")


def dump(value: Value) -> Value:
    """The value as JSON can hold it; TypeError where it cannot."""
    if isinstance(value, enum.Enum):
        return dump(value.value)
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: dump(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {key if isinstance(key, str) else str(key): dump(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [dump(item) for item in value]
    if isinstance(value, pathlib.PurePath):
        return str(value)
    if isinstance(value, (dt.date, dt.time)):
        return value.isoformat()
    raise TypeError("a " + type(value).__name__ + " cannot be written as JSON")


class Function:
    """A tool: the function itself, and how its arguments are made from JSON."""

    def __init__(self, function: Callable[..., object], plans: dict[str, Plan]) -> None:
        self.function = function
        self.plans = plans

    def call(self, arguments: dict[str, Value]) -> object:
        loaded = {name: self.plans[name].load(value) for name, value in arguments.items()}
        outcome = self.function(**loaded)
        if inspect.iscoroutine(outcome):
            import asyncio  # noqa: PLC0415 - most files have no coroutines

            return asyncio.run(outcome)
        return outcome


def describe(module: types.ModuleType) -> tuple[dict[str, Function], dict[str, Value]]:
    """The functions by name, and what the server wants to know about them."""
    functions: dict[str, Function] = {}
    tools, skipped = [], []
    for name, function in public_functions(module):
        try:
            functions[name], tool = describe_function(name, function)
            tools.append(tool)
        except Unsupported as reason:
            skipped.append({"name": name, "reason": str(reason)})
    return functions, {"doc": module.__doc__ or "", "tools": tools, "skipped": skipped}


def public_functions(module: types.ModuleType) -> Iterator[tuple[str, Callable[..., object]]]:
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    for name in names:
        function = getattr(module, name, None)
        if inspect.isfunction(function) and function.__module__ == module.__name__:
            yield name, function


def describe_function(name: str, function: Callable[..., object]) -> tuple[Function, dict[str, Value]]:
    if not inspect.getdoc(function):
        raise Unsupported("it has no docstring")
    try:
        found = typing.get_type_hints(function, include_extras=True)
    except Exception as problem:  # noqa: BLE001 - a hint is any expression of the owner's, and may raise anything
        raise Unsupported("its hints cannot be read: " + str(problem)) from None
    plans = {}
    required = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in STARRED or parameter.kind is POSITIONAL_ONLY:
            raise Unsupported("parameter '" + parameter.name + "' cannot be given by name")
        if parameter.name not in found:
            raise Unsupported("parameter '" + parameter.name + "' has no type hint")
        plans[parameter.name] = plan_parameter(parameter, found[parameter.name])
        if parameter.default is inspect.Parameter.empty:
            required.append(parameter.name)
    schema: Rule = {"type": "object", "properties": {key: planned.schema for key, planned in plans.items()}}
    schema.update({"additionalProperties": False}, **({"required": required} if required else {}))
    tool: dict[str, Value] = {"name": name, "doc": inspect.getdoc(function), "input_schema": schema}
    tool.update(describe_result(found.get("return", typing.Any)))
    return Function(function, plans), tool


def plan_parameter(parameter: inspect.Parameter, hint: Hint) -> Plan:
    try:
        planned = plan(hint)
    except Unsupported as what:
        raise Unsupported("parameter '" + parameter.name + "' has the type " + str(what)) from None
    if parameter.default is inspect.Parameter.empty:
        return planned
    try:
        default = dump(parameter.default)
    except TypeError:
        return planned  # the schema cannot show it; Python fills it in all the same
    return Plan(dict(planned.schema, default=default), planned.load)


def describe_result(hint: Hint) -> dict[str, Value]:
    """Text stays text; an object is the answer itself; anything else stands under `result`."""
    if hint is str:
        return {"form": "text", "output_schema": None}
    try:
        schema = plan(hint).schema
    except Unsupported:
        return {"form": "any", "output_schema": None}
    if not schema or schema == {"type": "null"}:
        return {"form": "any", "output_schema": None}
    if schema.get("type") == "object":
        return {"form": "object", "output_schema": schema}
    wrapped = {
        "type": "object",
        "properties": {"result": schema},
        "required": ["result"],
        "additionalProperties": False,
    }
    return {"form": "wrapped", "output_schema": wrapped}
