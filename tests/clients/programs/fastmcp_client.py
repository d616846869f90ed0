"""fastmcp's client, which raises what a tool could not do."""

from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from tests.clients.programs.plan import Record, Shown, play_plan


async def play(command: list[str], record: Record) -> None:
    async with Client(StdioTransport(command[0], command[1:], keep_alive=False)) as client:

        async def show(tool: str, arguments: dict[str, Any]) -> Shown:
            result = await client.call_tool(tool, arguments)
            return ("answer", "\n".join(block.text for block in result.content))

        await record(show)


play_plan(play)
