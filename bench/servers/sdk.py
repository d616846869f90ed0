"""The trivial tool on the SDK's low-level server, as its documentation writes it."""

import json
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

NUMBERS = {"a": {"type": "integer"}, "b": {"type": "integer"}}
INPUT = {"type": "object", "properties": NUMBERS, "required": ["a", "b"]}
OUTPUT = {"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]}


async def list_tools(_context: object, _params: object) -> types.ListToolsResult:
    tool = types.Tool(name="add", description="Add two numbers.", input_schema=INPUT, output_schema=OUTPUT)
    return types.ListToolsResult(tools=[tool])


async def call_tool(_context: object, params: types.CallToolRequestParams) -> types.CallToolResult:
    arguments = params.arguments or {}
    value = {"total": arguments["a"] + arguments["b"]}
    text = types.TextContent(type="text", text=json.dumps(value))
    return types.CallToolResult(content=[text], structured_content=value)


async def main() -> None:
    server: Server[Any] = Server("trivial", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


anyio.run(main)
