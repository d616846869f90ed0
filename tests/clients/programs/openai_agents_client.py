"""openai-agents: the tool's output in the next request to the model.

With the third argument `told`, the application passes an error's message on; without it, the default of the library.
"""

import json
import sys
from typing import Any

from agents.mcp import MCPServerStdio, MCPUtil
from agents.tool_context import ToolContext

from tests.clients.programs.plan import Record, Shown, play_plan

TOLD = {"failure_error_function": lambda _context, error: str(error)}


async def play(command: list[str], record: Record) -> None:
    params = {"command": command[0], "args": command[1:]}
    options = TOLD if "told" in sys.argv[3:] else {}
    async with MCPServerStdio(params, client_session_timeout_seconds=60, **options) as server:

        async def show(tool: str, arguments: dict[str, Any]) -> Shown:
            functions = await MCPUtil.get_function_tools(server, False, None, None)
            function = next(function for function in functions if function.name == tool)
            text = json.dumps(arguments)
            context = ToolContext(None, tool_name=tool, tool_call_id="1", tool_arguments=text)
            output = await function.on_invoke_tool(context, text)
            if isinstance(output, str):
                return ("error", output)
            blocks = output if isinstance(output, list) else [output]
            return ("answer", "\n".join(block["text"] for block in blocks))

        await record(show)


play_plan(play)
