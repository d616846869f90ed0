"""pydantic-ai: the part that the next request to the model holds, seen by a model of ours in a real run."""

from typing import Any

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelMessage, ModelResponse, RetryPromptPart, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.clients.programs.plan import Record, Shown, play_plan


async def play(command: list[str], record: Record) -> None:
    transport = StdioTransport(command[0], command[1:], keep_alive=False)
    toolset = MCPToolset(transport, max_retries=1, init_timeout=60, read_timeout=60)
    async with toolset:

        async def show(tool: str, arguments: dict[str, Any]) -> Shown:
            seen: list[Shown] = []

            def answer(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
                if len(messages) == 1:
                    return ModelResponse(parts=[ToolCallPart(tool, arguments)])
                part = messages[-1].parts[0]
                if isinstance(part, RetryPromptPart):
                    seen.append(("error", part.model_response()))
                else:
                    how = "answer" if part.outcome == "success" else "error"
                    seen.append((how, part.model_response_str()))
                return ModelResponse(parts=[TextPart("done")])

            await Agent(FunctionModel(answer), toolsets=[toolset]).run("go")
            return seen[0]

        await record(show)


play_plan(play)
