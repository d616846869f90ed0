"""What a toolset may offer besides tools: resources and prompts."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel
from pydantic_core import to_json

from faultless.contract import clean
from faultless.contract.text import did_you_mean
from faultless.kit.toolset import Prompt, Resource, Toolset

Context: TypeAlias = ServerRequestContext[Any, Any]
_Handlers: TypeAlias = dict[str, tuple[type[BaseModel], Callable[..., Awaitable[Any]]]]


def refuse_cursor(params: types.PaginatedRequestParams | None) -> None:
    """Nothing here has a second page, so no cursor can be ours."""
    if params is not None and params.cursor is not None:
        raise MCPError(
            types.INVALID_PARAMS,
            "Invalid params: cursor: unknown cursor",
            {"field": "cursor", "detail": "unknown cursor", "received_value": clean(params.cursor, 200)},
        )


def offers(toolset: Toolset) -> _Handlers:
    """By method: the type of its parameters, and what answers it."""
    found: _Handlers = {}
    if toolset.resources:
        found |= _resource_handlers({resource.uri: resource for resource in toolset.resources})
    if toolset.prompts:
        found |= _prompt_handlers({prompt.name: prompt for prompt in toolset.prompts})
    return found


def _resource_handlers(resources: Mapping[str, Resource]) -> _Handlers:
    async def list_resources(
        _: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        refuse_cursor(params)
        listed = [
            types.Resource(uri=it.uri, name=it.name, description=it.description, mime_type=it.mime_type)
            for it in resources.values()
        ]
        return types.ListResourcesResult(resources=listed)

    async def read_resource(_: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        resource = resources.get(str(params.uri))
        if resource is None:
            raise _no_such("uri", str(params.uri), resources)
        return types.ReadResourceResult(contents=[_read_contents(resource)])

    return {
        "resources/list": (types.PaginatedRequestParams, list_resources),
        "resources/read": (types.ReadResourceRequestParams, read_resource),
    }


def _read_contents(resource: Resource) -> types.TextResourceContents | types.BlobResourceContents:
    found = resource.read()
    data = found if isinstance(found, bytes) else to_json(found)
    kind = resource.mime_type
    try:
        return types.TextResourceContents(uri=resource.uri, mime_type=kind, text=data.decode())
    except UnicodeDecodeError:
        blob = base64.b64encode(data).decode()
        return types.BlobResourceContents(uri=resource.uri, mime_type=kind, blob=blob)


def _prompt_handlers(prompts: Mapping[str, Prompt]) -> _Handlers:
    async def list_prompts(
        _: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        refuse_cursor(params)
        listed = [
            types.Prompt(
                name=it.name,
                description=it.description,
                arguments=[
                    types.PromptArgument(name=name, description=text, required=True)
                    for name, text in it.arguments.items()
                ],
            )
            for it in prompts.values()
        ]
        return types.ListPromptsResult(prompts=listed)

    async def get_prompt(_: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        prompt = prompts.get(params.name)
        if prompt is None:
            raise _no_such("name", params.name, prompts)
        given = params.arguments or {}
        for name in prompt.arguments:
            if name not in given:
                raise _no_such(f"arguments.{name}", None, prompt.arguments)
        text = types.TextContent(type="text", text=prompt.render(given))
        message = types.PromptMessage(role="user", content=text)
        return types.GetPromptResult(description=prompt.description, messages=[message])

    return {
        "prompts/list": (types.PaginatedRequestParams, list_prompts),
        "prompts/get": (types.GetPromptRequestParams, get_prompt),
    }


def _no_such(field: str, received: str | None, known: Mapping[str, object]) -> MCPError:
    detail = "is required" if received is None else f"is unknown{did_you_mean(received, known)}"
    data = {"field": field, "detail": detail, "received_value": received and clean(received, 200)}
    return MCPError(types.INVALID_PARAMS, f"Invalid params: {field}: {detail}", data)
