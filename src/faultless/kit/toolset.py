"""Declaring tools: a name, a description, an input model, an output model, a function."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, ParamSpec, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import from_json, to_json
from pydantic_core.core_schema import EnumSchema, ModelSchema

from faultless.contract import Dialect, Fault, Json
from faultless.kit.validation import explain_invalid

P = ParamSpec("P")
R = TypeVar("R")


class Arguments(BaseModel):
    """Input of a tool: unknown fields refused, nothing coerced."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Answer(BaseModel):
    """Output of a tool: the verdict."""

    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="constants")


# For their subclasses: on these two it would only parse this file for docstrings that are not there.
Arguments.model_config["use_attribute_docstrings"] = True
Answer.model_config["use_attribute_docstrings"] = True


@dataclass(frozen=True, slots=True)
class Annotations:
    """What a client may assume about a tool before it calls it; none has a default."""

    read_only: bool
    idempotent: bool
    destructive: bool
    open_world: bool


_ReportProgress = Callable[[float, float | None, str | None], Awaitable[None]]


async def _report_to_nobody(_done: float, _total: float | None, _message: str | None) -> None:
    """For calls made without a client."""


@dataclass(slots=True)
class Call:
    """What a tool may know and do about the request it is serving."""

    request_id: int | str | None = None
    meta: dict[str, Json] = field(default_factory=dict)
    """Goes into the result's `_meta`."""
    send_progress: _ReportProgress = _report_to_nobody

    async def report_progress(
        self, done: float, total: float | None = None, message: str | None = None
    ) -> None:
        await self.send_progress(done, total, message)


@dataclass(frozen=True, slots=True)
class Output:
    """A verdict ready for the wire: the object, its compact JSON text, and content that is not JSON."""

    payload: dict[str, Json] | None
    text: str
    content: Sequence[Mapping[str, Json]] = ()


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. Most come from `Toolset.tool`; tools known only at run time are built by hand."""

    name: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None
    annotations: Annotations
    run: Callable[[dict[str, Any], Call], Awaitable[Output]]
    """Checks the arguments, does the work, checks the result; raises Fault."""
    empty: dict[str, Json] = field(default_factory=dict)
    """Every field of the normal answer at its empty value, for dialects that repeat them on error."""


@dataclass(frozen=True, slots=True)
class Resource:
    uri: str
    name: str
    description: str
    read: Callable[[], Json | bytes]
    """Bytes are sent as they are: as text where they are UTF-8."""
    mime_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class Prompt:
    name: str
    description: str
    arguments: Mapping[str, str]
    """Name to description; all are required."""
    render: Callable[[Mapping[str, str]], str]


TellChanged = Callable[[], Awaitable[None]]


@dataclass
class Toolset:
    """The tools one server offers.

    The dialect is for servers whose users know another shape of fault already.
    """

    name: str
    version: str
    dialect: Dialect = Dialect.ERROR_KEY
    instructions: str = ""
    tools: dict[str, Tool] = field(default_factory=dict)
    resources: Sequence[Resource] = ()
    prompts: Sequence[Prompt] = ()
    left_out: Mapping[str, Fault] = field(default_factory=dict)
    """Tools that are defined but cannot be offered, each with the answer to whoever calls it."""
    refresh: Callable[[], Awaitable[None]] | None = None
    """Brings `tools` up to date: awaited before they are listed and before one is looked up."""
    accompany: Callable[[TellChanged], Awaitable[None]] | None = None
    """Runs beside a session until it ends; calls what it is given when the list of tools has changed."""

    def add(self, tool: Tool) -> None:
        if tool.name in self.tools:
            raise ValueError(f"two tools are called {tool.name!r}")
        self.tools[tool.name] = tool

    def tool(
        self, *, read_only: bool, idempotent: bool, destructive: bool, open_world: bool
    ) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """Declare the function below as a tool; its first parameter and its result give the schemas."""
        annotations = Annotations(read_only, idempotent, destructive, open_world)

        def declare(function: Callable[P, R]) -> Callable[P, R]:
            self.add(_tool_from_function(function, annotations))
            return function

        return declare


def _tool_from_function(function: Callable[..., Any], annotations: Annotations) -> Tool:
    hints = get_type_hints(function)
    returns = hints.pop("return")
    parameters = list(hints.items())
    (_, arguments_model), wants_call = parameters[0], len(parameters) > 1
    output_schema = _schema_of(returns, "serialization")
    return Tool(
        name=function.__name__,
        description=read_docstring(function),
        input_schema=_schema_of(arguments_model, "validation"),
        output_schema=output_schema,
        annotations=annotations,
        run=_runner(function, arguments_model, returns, wants_call=wants_call),
        empty=_empty_answer(output_schema),
    )


def read_docstring(owner: Callable[..., Any] | type) -> str:
    """What it says about itself; `python -OO` drops that from the code, so it is looked up in the source."""
    if owner.__doc__ is not None or sys.flags.optimize <= 1:
        return inspect.cleandoc(owner.__doc__ or "")
    import ast  # noqa: PLC0415 - for -OO only

    try:
        source = inspect.getsource(owner)
    except (OSError, TypeError):
        return ""
    tree = ast.parse(f"if True:\n{source}" if source[:1].isspace() else source)
    definitions = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = next((node for node in ast.walk(tree) if isinstance(node, definitions)), None)
    return (found and ast.get_docstring(found)) or ""


def _runner(
    function: Callable[..., Any],
    arguments_model: type[Arguments],
    answer_model: type[Answer],
    *,
    wants_call: bool,
) -> Callable[[dict[str, Any], Call], Awaitable[Output]]:
    is_async = inspect.iscoroutinefunction(function)

    async def run(raw: dict[str, Any], call: Call) -> Output:
        arguments = _parse_arguments(arguments_model, raw)
        bound = (
            functools.partial(function, arguments, call)
            if wants_call
            else functools.partial(function, arguments)
        )
        if is_async:
            return check_answer(answer_model, await bound())
        from anyio import to_thread  # noqa: PLC0415 - most servers have no sync tools and start sooner without it

        return check_answer(answer_model, await to_thread.run_sync(bound, abandon_on_cancel=True))

    return run


A = TypeVar("A", bound=Arguments)


def _parse_arguments(model: type[A], raw: dict[str, Any]) -> A:
    """The typed input, or an invalid_params fault that names every violation.

    Validated as JSON, because strict validation of Python objects would refuse lists where a tuple is meant.
    """
    try:
        return model.model_validate_json(to_json(raw))
    except ValidationError as refused:
        raise explain_invalid(refused, model.model_json_schema(), raw) from None


def check_answer(model: type[Answer], answer: object) -> Output:
    """The answer as JSON, proved to fit the schema that clients will hold it against."""
    if not isinstance(answer, model):
        raise TypeError(f"the tool returned {type(answer).__name__}, not {model.__name__}")
    text = answer.__pydantic_serializer__.to_json(answer, by_alias=True, warnings="error")
    payload = from_json(text, allow_inf_nan=False)
    model.model_validate_json(text)
    return Output(payload, text.decode())


def _schema_of(model: type[BaseModel], mode: Literal["validation", "serialization"]) -> dict[str, Any]:
    schema = model.model_json_schema(mode=mode, schema_generator=_SchemaWriter)
    _drop_titles(schema)
    schema.pop("description", None)
    return schema


class _SchemaWriter(GenerateJsonSchema):
    """Pydantic describes models and enumerations by their docstrings, which may have to be looked up."""

    def model_schema(self, schema: ModelSchema) -> JsonSchemaValue:
        _restore_docstring(schema["cls"])
        return super().model_schema(schema)

    def enum_schema(self, schema: EnumSchema) -> JsonSchemaValue:
        _restore_docstring(schema["cls"])
        return super().enum_schema(schema)


def _restore_docstring(described: type) -> None:
    described.__doc__ = described.__doc__ or read_docstring(described) or None


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


_EMPTY: dict[str, Json] = {
    "array": [],
    "object": {},
    "integer": 0,
    "number": 0.0,
    "string": "",
    "boolean": False,
}


def _empty_answer(schema: dict[str, Any]) -> dict[str, Json]:
    """Every field of an answer at the value that says nothing."""
    return {name: _EMPTY.get(rule.get("type", "")) for name, rule in schema.get("properties", {}).items()}
