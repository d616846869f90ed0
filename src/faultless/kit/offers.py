"""What a toolset may offer besides tools: resources and prompts."""

from __future__ import annotations

import base64
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias
from urllib.parse import unquote

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel
from pydantic_core import to_json

from faultless.contract import clean
from faultless.contract.text import did_you_mean
from faultless.kit.functions import Function
from faultless.kit.toolset import Call, Prompt, Resource, Toolset

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
        found |= _resource_handlers(toolset.resources)
    if toolset.prompts:
        found |= _prompt_handlers({prompt.name: prompt for prompt in toolset.prompts})
    return found


def make_call(context: Context) -> Call:
    return Call(
        context.request_id,
        send_progress=context.session.report_progress,
        states=context.lifespan_context,
    )


def _resource_handlers(resources: Sequence[Resource]) -> _Handlers:
    fixed = {it.uri: it for it in resources if "{" not in it.uri}
    templates = [it for it in resources if "{" in it.uri]

    async def list_resources(
        _: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        refuse_cursor(params)
        return types.ListResourcesResult(
            resources=[types.Resource(uri=it.uri, **_describe(it)) for it in fixed.values()]
        )

    async def list_templates(
        _: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        refuse_cursor(params)
        return types.ListResourceTemplatesResult(
            resource_templates=[
                types.ResourceTemplate(uri_template=it.uri, **_describe(it)) for it in templates
            ]
        )

    async def read_resource(
        context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        found = [(it, given) for it in templates if (given := _match(it.uri, uri)) is not None]
        if uri not in fixed and not found:
            raise _no_such("uri", uri, [it.uri for it in resources])
        resource, given = (fixed[uri], {}) if uri in fixed else found[0]
        data = await _read(resource, given, make_call(context))
        return types.ReadResourceResult(contents=[_make_contents(uri, resource.mime_type, data)])

    return {
        "resources/list": (types.PaginatedRequestParams, list_resources),
        "resources/templates/list": (types.PaginatedRequestParams, list_templates),
        "resources/read": (types.ReadResourceRequestParams, read_resource),
    }


def _describe(resource: Resource) -> dict[str, Any]:
    return {
        "name": resource.name,
        "title": resource.title,
        "description": resource.description,
        "mime_type": resource.mime_type,
    }


def _match(template: str, uri: str) -> dict[str, str] | None:
    """The parts of an address: `{name}` has no slash in it, `{+name}` may have."""
    pattern = ""
    for fixed, is_long, name in re.findall(r"([^{]*)(?:\{(\+?)(\w+)\})?", template):
        pattern += re.escape(fixed) + (f"(?P<{name}>{'.+' if is_long else '[^/?#]+'})" if name else "")
    found = re.fullmatch(pattern, uri)
    return {name: unquote(value) for name, value in found.groupdict().items()} if found else None


async def _read(resource: Resource, given: Mapping[str, str], call: Call) -> bytes:
    if not isinstance(resource.read, Function):
        found = resource.read()
        return found if isinstance(found, bytes) else to_json(found)
    return resource.read.write_document(await resource.read.answer(given, call, is_text=True))


def _make_contents(
    uri: str, kind: str, data: bytes
) -> types.TextResourceContents | types.BlobResourceContents:
    try:
        return types.TextResourceContents(uri=uri, mime_type=kind, text=data.decode())
    except UnicodeDecodeError:
        return types.BlobResourceContents(uri=uri, mime_type=kind, blob=base64.b64encode(data).decode())


def _prompt_handlers(prompts: Mapping[str, Prompt]) -> _Handlers:
    async def list_prompts(
        _: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        refuse_cursor(params)
        listed = [
            types.Prompt(
                name=it.name,
                title=it.title,
                description=it.description,
                arguments=[
                    types.PromptArgument(name=name, description=text, required=name not in it.optional)
                    for name, text in it.arguments.items()
                ],
            )
            for it in prompts.values()
        ]
        return types.ListPromptsResult(prompts=listed)

    async def get_prompt(context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        prompt = prompts.get(params.name)
        if prompt is None:
            raise _no_such("name", params.name, prompts)
        given = params.arguments or {}
        for name in prompt.arguments:
            if name not in given and name not in prompt.optional:
                raise _no_such(f"arguments.{name}", None, prompt.arguments)
        text = types.TextContent(type="text", text=await _render(prompt, given, make_call(context)))
        message = types.PromptMessage(role="user", content=text)
        return types.GetPromptResult(description=prompt.description, messages=[message])

    return {
        "prompts/list": (types.PaginatedRequestParams, list_prompts),
        "prompts/get": (types.GetPromptRequestParams, get_prompt),
    }


async def _render(prompt: Prompt, given: Mapping[str, str], call: Call) -> str:
    if not isinstance(prompt.render, Function):
        return prompt.render(given)
    return prompt.render.write(await prompt.render.answer(given, call, is_text=True)).text


def _no_such(field: str, received: str | None, known: Iterable[str]) -> MCPError:
    detail = "is required" if received is None else f"is unknown{did_you_mean(received, known)}"
    data = {"field": field, "detail": detail, "received_value": received and clean(received, 200)}
    return MCPError(types.INVALID_PARAMS, f"Invalid params: {field}: {detail}", data)
