"""What a server asks a person in the middle of a call, with the types of the answer it wants."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio
from mcp_types import INTERNAL_ERROR, ElicitRequestURLParams, ElicitResult, ErrorData
from pydantic import BaseModel

from faultless.client.frames import Exchange
from faultless.client.listing import ListedTool, make_plain
from faultless.contract import Fault, FaultKind, clean

if TYPE_CHECKING:
    from mcp.client.session import ClientRequestContext, ElicitationFnT
    from mcp_types import ElicitRequestParams

_TYPES: dict[object, type] = {"integer": int, "number": float, "boolean": bool, "array": list}
_ANSWER = "the answer to the server's question"
_NO_ANSWER = ErrorData(code=INTERNAL_ERROR, message="the client has no answer")


@dataclass(frozen=True, slots=True)
class ElicitedField:
    name: str
    type: type
    """str, int, float, bool or list."""
    is_required: bool
    title: str = ""
    choices: tuple[str, ...] = ()
    default: Any = None


@dataclass(frozen=True, slots=True)
class Elicitation:
    """A question of the server's to the person who made the call."""

    message: str
    fields: tuple[ElicitedField, ...] = ()
    url: str | None = None
    """Where the person is to go instead of filling in a form."""
    schema: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)


OnElicitation: TypeAlias = Callable[
    [Elicitation], "Mapping[str, Any] | BaseModel | Awaitable[Mapping[str, Any] | BaseModel | None] | None"
]
"""Sync (runs in a thread) or async. What it returns is the answer; None declines."""


def make_callback(answer: OnElicitation) -> ElicitationFnT:
    """For the SDK; what goes wrong here is a fault of the call, and the server hears of no answer."""

    async def elicit(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult | ErrorData:
        del context
        question = _read_question(params)
        try:
            return _check_answer(question, await _ask(answer, question))
        except Fault as fault:
            exchange = Exchange.current()
            if exchange is None:
                logging.getLogger(__name__).warning("nobody can tell whose question it was: %s", fault)
            else:
                fault.outcome = None  # the tool is in the middle of its work
                exchange.own_fault = fault
            return _NO_ANSWER

    return elicit


def _check_answer(question: Elicitation, given: object) -> ElicitResult:
    if given is None:
        return ElicitResult(action="decline")
    if not isinstance(given, Mapping | BaseModel):
        raise _refuse(f"on_elicitation returned {type(given).__name__}")
    if question.url is not None:
        return ElicitResult(action="accept")
    content = make_plain(_ANSWER, given.model_dump() if isinstance(given, BaseModel) else given)
    ListedTool(_ANSWER, input_schema=question.schema).check_arguments(content)
    return ElicitResult(action="accept", content=content)


async def _ask(answer: OnElicitation, question: Elicitation) -> object:
    try:
        if inspect.iscoroutinefunction(answer):
            return await answer(question)
        made = await anyio.to_thread.run_sync(answer, question, abandon_on_cancel=True)
        return await made if isinstance(made, Awaitable) else made
    except Exception as failed:  # noqa: BLE001 - the caller's own code may raise anything; it becomes the fault's cause
        cause = failed
    raise _refuse(f"on_elicitation raised {type(cause).__name__}: {cause}") from cause


def _refuse(message: str) -> Fault:
    hint = "return a dictionary or a pydantic model, or None to decline"
    return Fault(FaultKind.USAGE_ERROR, clean(message, 500), hint=hint, layer="protocol")


def _read_question(params: ElicitRequestParams) -> Elicitation:
    if isinstance(params, ElicitRequestURLParams):
        return Elicitation(clean(params.message), url=params.url)
    schema = params.requested_schema
    properties, required = schema.get("properties"), schema.get("required")
    names = required if isinstance(required, list) else []
    fields = [
        _read_field(name, described, is_required=name in names)
        for name, described in (properties if isinstance(properties, dict) else {}).items()
        if isinstance(described, dict)
    ]
    return Elicitation(clean(params.message), tuple(fields), schema=schema)


def _find_type(named: object) -> type:
    """The first that is not null, where there are several."""
    names = named if isinstance(named, list) else [named]
    return next((_TYPES[name] for name in names if isinstance(name, str) and name in _TYPES), str)


def _read_field(name: str, described: dict[str, Any], *, is_required: bool) -> ElicitedField:
    choices = described.get("enum")
    if isinstance(listed := described.get("oneOf"), list):
        choices = [choice.get("const") for choice in listed if isinstance(choice, dict)]
    return ElicitedField(
        name,
        _find_type(described.get("type")),
        is_required,
        str(described.get("title") or described.get("description") or ""),
        tuple(str(choice) for choice in (choices if isinstance(choices, list) else [])),
        described.get("default"),
    )
