"""The Python SDK's own client, in the era named by the third argument."""

import sys
from typing import Any

import mcp
from mcp.client.stdio import StdioServerParameters

from tests.clients.programs.plan import Record, Shown, play_plan


async def play(command: list[str], record: Record) -> None:
    server = StdioServerParameters(command=command[0], args=command[1:])
    async with mcp.Client(server, mode=sys.argv[3]) as client:

        async def show(tool: str, arguments: dict[str, Any]) -> Shown:
            result = await client.call_tool(tool, arguments)
            text = "\n".join(block.text for block in result.content if block.type == "text")
            return ("error" if result.is_error else "answer", text)

        await record(show)


play_plan(play)
