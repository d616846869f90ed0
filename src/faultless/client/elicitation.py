"""What a server asks a person in the middle of a call, with the types of the answer it wants."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio
from mcp_types import ElicitRequestURLParams, ElicitResult
from pydantic import BaseModel

from faultless.client.listing import ListedTool
from faultless.contract import Fault, FaultKind, clean

if TYPE_CHECKING:
    from mcp.client.session import ClientRequestContext, ElicitationFnT
    from mcp_types import ElicitRequestParams

_TYPES: dict[object, type] = {"integer": int, "number": float, "boolean": bool, "array": list}


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


Elicited: TypeAlias = "Mapping[str, Any] | BaseModel | None"
OnElicitation: TypeAlias = Callable[[Elicitation], "Elicited | Awaitable[Elicited]"]
"""Sync (runs in a thread) or async. What it returns is the answer; None declines."""


def make_callback(answer: OnElicitation) -> ElicitationFnT:
    """For the SDK; an answer of the wrong type is a fault before anything is sent."""

    async def elicit(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        del context
        question = _read_question(params)
        given = await _ask(answer, question)
        if given is None:
            return ElicitResult(action="decline")
        content = given.model_dump(mode="json") if isinstance(given, BaseModel) else dict(given)
        if question.url is not None:
            return ElicitResult(action="accept")
        ListedTool("the answer to the server's question", input_schema=question.schema).check_arguments(
            content
        )
        return ElicitResult(action="accept", content=content)

    return elicit


async def _ask(answer: OnElicitation, question: Elicitation) -> Elicited:
    try:
        if inspect.iscoroutinefunction(answer):
            given: Elicited = await answer(question)
            return given
        made = await anyio.to_thread.run_sync(answer, question, abandon_on_cancel=True)
        return await made if isinstance(made, Awaitable) else made
    except Exception as failed:  # noqa: BLE001 - the caller's own code may raise anything; it becomes the fault's cause
        cause = failed
    raise Fault(
        FaultKind.USAGE_ERROR,
        clean(f"on_elicitation raised {type(cause).__name__}: {cause}", 500),
        hint="return the answer, or None to decline",
        layer="protocol",
        outcome="not_done",
    ) from cause


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


def _read_field(name: str, described: dict[str, Any], *, is_required: bool) -> ElicitedField:
    choices = described.get("enum")
    if isinstance(listed := described.get("oneOf"), list):
        choices = [choice.get("const") for choice in listed if isinstance(choice, dict)]
    return ElicitedField(
        name,
        _TYPES.get(described.get("type"), str),
        is_required,
        str(described.get("title") or described.get("description") or ""),
        tuple(str(choice) for choice in (choices if isinstance(choices, list) else [])),
        described.get("default"),
    )
