"""An author's function: what a client sends for it, how it is called, what is wrong with its definition."""

from __future__ import annotations

import collections.abc
import functools
import inspect
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, get_args, get_origin, get_type_hints

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
from pydantic_core import SchemaError

from faultless.contract import clean
from faultless.kit.call import Call
from faultless.kit.docstrings import find_docstring, read_docstring
from faultless.kit.models import Arguments, make_model, parse_arguments, schema_of
from faultless.kit.results import Output, Returns, UnfitAnswerError, mentions_content, plan_returns
from faultless.kit.typed_dicts import adapt

_STARRED = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
_REQUIRED = inspect.Parameter.empty
_STREAMS = (
    collections.abc.AsyncGenerator,
    collections.abc.AsyncIterable,
    collections.abc.AsyncIterator,
    collections.abc.Generator,
    collections.abc.Iterable,
    collections.abc.Iterator,
)
# What pydantic raises for a hint it cannot make a schema of.
_UNUSABLE = (PydanticUserError, PydanticUndefinedAnnotation, SchemaError, TypeError)
_SCALARS = {"string", "integer", "number", "boolean", "null"}


class DefinitionError(TypeError):
    """A function is declared in a way that cannot work; the message names it, its place and the fix."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function with hints and a docstring, ready to be called with what a client sent."""

    run: Callable[..., Any]
    name: str
    description: str
    arguments: type[Arguments]
    schema: dict[str, Any]
    returns: Returns
    model_parameter: str | None
    """Takes the arguments as one model; by default each is a parameter."""
    given: Mapping[str, Any]
    """Parameters that are not the client's: the `Call`, or what a lifespan of that type made."""

    async def answer(self, raw: Mapping[str, Any], call: Call, *, is_text: bool = False) -> Any:  # noqa: ANN401 - what it returned
        """Check the arguments and call it; without `async` it runs in a thread."""
        parsed = parse_arguments(self.arguments, raw, is_text=is_text)
        bound = functools.partial(self.run, **self._bind(parsed, call))
        if inspect.iscoroutinefunction(self.run):
            return await bound()
        from anyio import to_thread  # noqa: PLC0415 - most servers have no sync tools and start sooner without it

        returned = await to_thread.run_sync(bound, abandon_on_cancel=True)
        return await returned if inspect.isawaitable(returned) else returned

    def write(self, value: object) -> Output:
        """What it returned, ready for the wire; what is wrong with it is said of the function."""
        with self._named():
            return self.returns.write(value)

    def write_document(self, value: object) -> bytes:
        """The same by itself, as a resource."""
        with self._named():
            return self.returns.write_document(value)

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except UnfitAnswerError as unfit:
            place = Path(show_place(self.run)).name
            raise UnfitAnswerError(f"{self.name} ({place}) is wrong: {unfit}") from unfit

    def _bind(self, parsed: Arguments, call: Call) -> dict[str, Any]:
        given = {name: call if kind is Call else call.get_state(kind) for name, kind in self.given.items()}
        if self.model_parameter:
            return {self.model_parameter: parsed, **given}
        fields = type(parsed).model_fields
        sent = {str(fields[field].alias): getattr(parsed, field) for field in parsed.model_fields_set}
        return {**sent, **given}


def read_function(
    function: Callable[..., Any], role: str, states: Collection[Any] = (), *, name: str | None = None
) -> Function:
    """Everything about a function that a client must know; raises DefinitionError where it cannot be one."""
    refuse = functools.partial(refuse_definition, function, role)
    if not (inspect.isfunction(function) or inspect.ismethod(function)):
        refuse("it is not a function", "put the decorator above a `def`")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        refuse("it yields", "return a list; call.report_progress tells how far it is")
    text = find_docstring(function)
    if not text and not (sys.flags.optimize > 1 and not _has_source(function)):
        refuse("it has no docstring", "say in one what it does: that is all a model knows of it")
    hints = read_hints(function, role)
    given, asked = _sort_parameters(function, role, hints, states)
    described = read_docstring(text)
    model_parameter = _find_model(refuse, asked, hints)
    if model_parameter:
        arguments = hints[model_parameter]
        schema = schema_of(arguments, "validation")
    else:
        arguments, schema = _make_model(refuse, asked, hints, described.parameters)
    return Function(
        run=function,
        name=name or function.__name__,
        description=text if model_parameter else described.description or text,
        arguments=arguments,
        schema=schema,
        returns=_read_returns(refuse, hints, takes_bytes=role == "resource"),
        model_parameter=model_parameter,
        given=given,
    )


def refuse_definition(function: Callable[..., Any], role: str, what: str, fix: str) -> NoReturn:
    name = getattr(function, "__name__", type(function).__name__)
    raise DefinitionError(f"{name} ({show_place(function)}) cannot be a {role}: {what}; {fix}")


def show_place(function: Callable[..., Any]) -> str:
    """Such as `shop.py:12`, from where we are."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return "not a function"
    path, here = Path(code.co_filename), Path.cwd()
    shown = path.relative_to(here) if path.is_relative_to(here) else path
    return f"{shown}:{code.co_firstlineno}"


def read_hints(function: Callable[..., Any], role: str) -> dict[str, Any]:
    try:
        hints = get_type_hints(function, include_extras=True)
        return {name: adapt(hint) for name, hint in hints.items()}
    except (NameError, TypeError, AttributeError, SyntaxError) as problem:
        fix = "import and define what they name at the top of the file, outside `if TYPE_CHECKING`"
        return refuse_definition(function, role, f"its type hints cannot be read ({problem})", fix)


def _has_source(function: Callable[..., Any]) -> bool:
    try:
        inspect.getsource(function)
    except (OSError, TypeError):
        return False
    return True


def _sort_parameters(
    function: Callable[..., Any], role: str, hints: Mapping[str, Any], states: Collection[Any]
) -> tuple[dict[str, Any], list[inspect.Parameter]]:
    """Those that the server gives, by name, and those that a client must."""
    given: dict[str, Any] = {}
    asked: list[inspect.Parameter] = []
    for parameter in inspect.signature(function).parameters.values():
        _check_parameter(function, role, parameter, hints)
        hint = hints[parameter.name]
        if hint is Call or any(hint is kind for kind in states):  # a hint need not be hashable
            given[parameter.name] = hint
        else:
            asked.append(parameter)
    return given, asked


def _check_parameter(
    function: Callable[..., Any], role: str, parameter: inspect.Parameter, hints: Mapping[str, Any]
) -> None:
    refuse = functools.partial(refuse_definition, function, role)
    name = parameter.name
    if parameter.kind in _STARRED:
        fix = "name every parameter: a client sends each by its name"
        refuse(f"it takes {_STARRED[parameter.kind]}{name}", fix)
    if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
        refuse(f"parameter '{name}' cannot be given by name", "remove the / from its parameters")
    if name not in hints and name in {"self", "cls"}:
        refuse("it is declared inside a class", "declare a function, or the method of an object")
    if name not in hints:
        refuse(f"parameter '{name}' has no type hint", f"write for example {name}: str")
    if isinstance(parameter.default, list | dict | set | bytearray):
        what = f"the default of '{name}' is one {type(parameter.default).__name__} that all calls would share"
        refuse(what, f"write {name}: … | None = None, or a tuple")


def _find_model(
    refuse: Callable[[str, str], NoReturn], asked: list[inspect.Parameter], hints: Mapping[str, Any]
) -> str | None:
    """The parameter that takes all arguments as one model, if there is one."""
    models = [
        parameter.name
        for parameter in asked
        if isinstance(hints[parameter.name], type) and issubclass(hints[parameter.name], Arguments)
    ]
    if models and len(asked) > 1:
        others = ", ".join(parameter.name for parameter in asked if parameter.name != models[0])
        refuse(
            f"'{models[0]}' holds all arguments, but there is '{others}' too",
            "put every argument into the model, or write all as parameters",
        )
    return models[0] if models else None


def _make_model(
    refuse: Callable[[str, str], NoReturn],
    asked: list[inspect.Parameter],
    hints: Mapping[str, Any],
    described: Mapping[str, str],
) -> tuple[type[Arguments], dict[str, Any]]:
    fields: dict[str, Any] = {}
    for number, parameter in enumerate(asked):
        hint = hints[parameter.name]
        facts: dict[str, Any] = {"alias": parameter.name}
        if description := _describe(hint, described.get(parameter.name)):
            facts["description"] = description
        default = ... if parameter.default is _REQUIRED else parameter.default
        # Its name is an alias, so that a parameter may be called `json` or `copy`.
        fields[f"p{number}"] = (hint, Field(default, **facts))
    try:
        model = make_model(Arguments, fields)
        schema = schema_of(model, "validation")
    except _UNUSABLE:
        for parameter in asked:
            _check_hint(refuse, parameter.name, hints[parameter.name])
        raise
    for parameter in asked:
        _check_default(refuse, parameter, hints[parameter.name])
    return model, schema


def _describe(hint: Any, in_docstring: str | None) -> str | None:  # noqa: ANN401 - a type
    """`Annotated[int, "How many"]`, `Annotated[int, Field(description="How many")]`, or the docstring."""
    notes = getattr(hint, "__metadata__", ())
    if any(getattr(note, "description", None) for note in notes):
        return None  # pydantic finds it
    return next((note for note in notes if isinstance(note, str)), in_docstring)


def _check_hint(
    refuse: Callable[[str, str], NoReturn],
    name: str,
    hint: Any,  # noqa: ANN401 - a type
) -> None:
    try:
        TypeAdapter(hint).json_schema()
    except _UNUSABLE as problem:
        refuse(
            f"parameter '{name}' has the type {show_hint(hint)}, which JSON cannot carry{_shorten(problem)}",
            "take a str, a number, a list, a dataclass or a model; "
            "what is made once for all calls comes from a lifespan, declared above",
        )


def _check_default(
    refuse: Callable[[str, str], NoReturn],
    parameter: inspect.Parameter,
    hint: Any,  # noqa: ANN401 - a type
) -> None:
    default = parameter.default
    if default is _REQUIRED or type(default) is hint:
        return
    try:
        TypeAdapter(hint).validate_python(default, strict=True)
    except ValidationError:
        shown = show_hint(hint)
        fix = (
            f"write {parameter.name}: {shown} | None" if default is None else f"use a default that is {shown}"
        )
        refuse(f"the default of '{parameter.name}', {default!r}, is not {shown}", fix)


def _read_returns(
    refuse: Callable[[str, str], NoReturn], hints: Mapping[str, Any], *, takes_bytes: bool
) -> Returns:
    if "return" not in hints:
        refuse("it does not say what it returns", "write for example -> str, or -> None")
    hint = hints["return"]
    if hint is bytes and takes_bytes:
        return Returns("bytes")
    if hint is bytes:
        refuse("it returns bytes", "return an Image, an Audio or an EmbeddedResource")
    if get_origin(hint) in _STREAMS or hint in _STREAMS:
        refuse(f"it returns {show_hint(hint)}, which comes piece by piece", "return a list")
    try:
        returns = plan_returns(hint)
    except _UNUSABLE as problem:
        what = f"it returns {show_hint(hint)}, which cannot be written as JSON{_shorten(problem)}"
        refuse(what, "return a str, a number, a list, a dataclass or a model")
    if returns.form != "content" and mentions_content(hint):
        refuse(
            f"it returns {show_hint(hint)}, with content inside an object",
            "return content by itself, or in a list",
        )
    return returns


def check_scalars(function: Function, role: str) -> None:
    """For what a client sends as text: parts of an address, arguments of a prompt."""
    for name, rule in function.schema.get("properties", {}).items():
        rules = [_resolve(one, function.schema) for one in rule.get("anyOf", [rule])]
        if not all("enum" in one or "const" in one or one.get("type") in _SCALARS for one in rules):
            what = f"parameter '{name}' comes as text and cannot become {rule.get('type', 'an object')}"
            refuse_definition(function.run, role, what, f"write {name}: str")


def _resolve(rule: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    name = str(rule.get("$ref", "")).removeprefix("#/$defs/")
    return schema.get("$defs", {}).get(name, rule)  # type: ignore[no-any-return]  # of a schema


def show_hint(hint: Any) -> str:  # noqa: ANN401 - a type
    if get_args(hint) or not hasattr(hint, "__name__"):
        return str(hint).replace("typing.", "").replace("collections.abc.", "")
    return str(hint.__name__)


def _shorten(problem: BaseException) -> str:
    """What pydantic says, if that is more than that it cannot."""
    first = str(problem).partition("\n")[0].partition(". ")[0].rstrip(".")
    return "" if re.match(r"(Unable to|Cannot) generate", first) else f" ({clean(first, 200)})"
