"""langchain-mcp-adapters: the ToolMessage a chat model is given."""

from typing import Any

from langchain_mcp_adapters.sessions import create_session
from langchain_mcp_adapters.tools import load_mcp_tools

from tests.clients.programs.plan import Record, Shown, play_plan


async def play(command: list[str], record: Record) -> None:
    connection = {"transport": "stdio", "command": command[0], "args": command[1:]}
    async with create_session(connection) as session:
        await session.initialize()
        tools = {tool.name: tool for tool in await load_mcp_tools(session)}

        async def show(tool: str, arguments: dict[str, Any]) -> Shown:
            message = await tools[tool].ainvoke(
                {"type": "tool_call", "id": "1", "name": tool, "args": arguments}
            )
            return ("error" if message.status == "error" else "answer", message.text)

        await record(show)


play_plan(play)
