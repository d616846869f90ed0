"""Which functions of a module are tools, and what they take and give."""

from __future__ import annotations

import inspect
import typing

from . import hints

if typing.TYPE_CHECKING:
    import types
    from collections.abc import Callable, Iterator

POSITIONAL_ONLY = inspect.Parameter.POSITIONAL_ONLY
STARRED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class Function:
    """A tool: the function itself, and how its arguments are made from JSON."""

    def __init__(self, function: Callable[..., object], plans: dict[str, hints.Plan]) -> None:
        self.function = function
        self.plans = plans

    def call(self, arguments: dict[str, hints.Value]) -> object:
        loaded = {name: self.plans[name].load(value) for name, value in arguments.items()}
        outcome = self.function(**loaded)
        if inspect.iscoroutine(outcome):
            import asyncio  # noqa: PLC0415 - most files have no coroutines

            return asyncio.run(outcome)
        return outcome


def describe(module: types.ModuleType) -> tuple[dict[str, Function], dict[str, hints.Value]]:
    """The functions by name, and what the server wants to know about them."""
    functions: dict[str, Function] = {}
    tools, skipped = [], []
    for name, function in public_functions(module):
        try:
            functions[name], tool = describe_function(name, function)
            tools.append(tool)
        except hints.Unsupported as reason:
            skipped.append({"name": name, "reason": str(reason)})
    return functions, {"doc": module.__doc__ or "", "tools": tools, "skipped": skipped}


def public_functions(module: types.ModuleType) -> Iterator[tuple[str, Callable[..., object]]]:
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    for name in names:
        function = getattr(module, name, None)
        if inspect.isfunction(function) and function.__module__ == module.__name__:
            yield name, function


def describe_function(name: str, function: Callable[..., object]) -> tuple[Function, dict[str, hints.Value]]:
    if not inspect.getdoc(function):
        raise hints.Unsupported("it has no docstring")
    try:
        found = typing.get_type_hints(function, include_extras=True)
    except Exception as problem:  # noqa: BLE001 - a hint is any expression of the owner's, and may raise anything
        raise hints.Unsupported("its hints cannot be read: " + str(problem)) from None
    plans = {}
    required = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in STARRED or parameter.kind is POSITIONAL_ONLY:
            raise hints.Unsupported("parameter '" + parameter.name + "' cannot be given by name")
        if parameter.name not in found:
            raise hints.Unsupported("parameter '" + parameter.name + "' has no type hint")
        plans[parameter.name] = plan_parameter(parameter, found[parameter.name])
        if parameter.default is inspect.Parameter.empty:
            required.append(parameter.name)
    schema: hints.Rule = {"type": "object", "properties": {key: plan.schema for key, plan in plans.items()}}
    schema.update({"additionalProperties": False}, **({"required": required} if required else {}))
    tool: dict[str, hints.Value] = {"name": name, "doc": inspect.getdoc(function), "input_schema": schema}
    tool.update(describe_result(found.get("return", typing.Any)))
    return Function(function, plans), tool


def plan_parameter(parameter: inspect.Parameter, hint: hints.Hint) -> hints.Plan:
    try:
        planned = hints.plan(hint)
    except hints.Unsupported as what:
        raise hints.Unsupported("parameter '" + parameter.name + "' has the type " + str(what)) from None
    if parameter.default is inspect.Parameter.empty:
        return planned
    try:
        default = hints.dump(parameter.default)
    except TypeError:
        return planned  # the schema cannot show it; Python fills it in all the same
    return hints.Plan(dict(planned.schema, default=default), planned.load)


def describe_result(hint: hints.Hint) -> dict[str, hints.Value]:
    """Text stays text; an object is the answer itself; anything else stands under `result`."""
    if hint is str:
        return {"form": "text", "output_schema": None}
    try:
        schema = hints.plan(hint).schema
    except hints.Unsupported:
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
