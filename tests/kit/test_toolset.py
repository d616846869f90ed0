"""Declaring tools, through the in-memory client in both eras."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError

from faultless import Answer, Arguments, Call, Dialect, Fault, FaultKind, Toolset
from faultless.kit.toolset import Annotations, Output, Tool
from faultless.testing import ERAS, Era, connect, golden
from tests.wire.specimen import specimen

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Ask(Arguments):
    who: str


class Told(Answer):
    who: str
    age: int | None = None


def one_tool() -> Toolset:
    toolset = Toolset("one", version="1", dialect=Dialect.JSONRPC)

    @toolset.tool(read_only=True, idempotent=True, destructive=False, open_world=False)
    async def ask(arguments: Ask, call: Call) -> Told:
        """Ask about somebody."""
        call.meta["faultless/source"] = "memory"
        return Told(who=arguments.who)

    return toolset


@pytest.mark.parametrize("era", ERAS)
async def test_a_verdict_is_text_structure_and_meta_and_keeps_its_nulls(era: Era) -> None:
    async with connect(one_tool(), era) as client:
        result = await client.call_tool("ask", {"who": "Ada"})
    assert result.structured_content == {"who": "Ada", "age": None}
    assert [block.model_dump()["text"] for block in result.content] == ['{"who":"Ada","age":null}']
    assert not result.is_error
    assert (result.meta or {})["faultless/source"] == "memory"


@pytest.mark.parametrize("era", ERAS)
async def test_resources_and_prompts_are_served(era: Era) -> None:
    async with connect(specimen(Dialect.STATUS), era) as client:
        read = await client.read_resource("info://specimen")
        prompt = await client.get_prompt("greet", {"who": "Ada"})
    assert [content.model_dump()["text"] for content in read.contents] == ['{"is":"a specimen"}']
    assert [message.content.model_dump()["text"] for message in prompt.messages] == ["Greet Ada."]


async def test_every_listed_schema_is_the_one_that_was_reviewed() -> None:
    async with connect(specimen(Dialect.JSONRPC)) as client:
        listed = await client.list_tools()
    for tool in listed.tools:
        value = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
        golden(Path(__file__).parent / "golden" / f"{tool.name}.json", value)


def test_a_changed_schema_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FAULTLESS_UPDATE_GOLDEN", raising=False)
    kept: dict[str, Any] = {"type": "object"}
    (tmp_path / "tool.json").write_text('{\n  "type": "object"\n}\n')
    golden(tmp_path / "tool.json", kept)
    with pytest.raises(AssertionError, match="differs"):
        golden(tmp_path / "tool.json", {"type": "array"})
    with pytest.raises(AssertionError, match="does not exist"):
        golden(tmp_path / "other.json", kept)


def test_a_tool_must_say_what_it_does_to_the_world() -> None:
    toolset = Toolset("bare", version="1", dialect=Dialect.JSONRPC)
    with pytest.raises(TypeError, match="open_world"):
        toolset.tool(read_only=True, idempotent=True, destructive=False)  # type: ignore[call-overload]  # the point


def test_two_tools_cannot_have_one_name() -> None:
    toolset = one_tool()
    with pytest.raises(ValueError, match="'ask'"):
        toolset.add(toolset.tools["ask"])


async def test_calls_run_side_by_side() -> None:
    toolset = Toolset("meeting", version="1", dialect=Dialect.JSONRPC)
    here = anyio.Event()

    @toolset.tool(read_only=True, idempotent=True, destructive=False, open_world=False)
    async def meet(arguments: Ask) -> Told:
        """Wait for the other one."""
        if arguments.who == "first":
            await here.wait()
        here.set()
        return Told(who=arguments.who)

    async with connect(toolset) as client, anyio.create_task_group() as tasks:
        with anyio.fail_after(30):
            tasks.start_soon(client.call_tool, "meet", {"who": "first"})
            await client.call_tool("meet", {"who": "second"})


@pytest.mark.parametrize("arguments", [{"who": 3}, {}, {"who": "x", "age": 1}])
async def test_arguments_that_break_the_schema_never_reach_the_tool(arguments: Mapping[str, Any]) -> None:
    async with connect(one_tool()) as client:
        with pytest.raises(MCPError) as raised:
            await client.call_tool("ask", dict(arguments))
    assert raised.value.code == -32602


async def test_a_new_toolset_needs_no_dialect_and_names_only_some_of_many_tools() -> None:
    toolset = Toolset("many", version="1")

    async def run(_: dict[str, Any], __: Call) -> Output:
        raise Fault(FaultKind.NOT_FOUND, "no such row", hint="list the rows")

    for number in range(100):
        harmless = Annotations(read_only=True, idempotent=True, destructive=False, open_world=False)
        toolset.add(Tool(f"tool_number_{number}", "", {"type": "object"}, None, harmless, run))
    async with connect(toolset) as client:
        result = await client.call_tool("tool_number_7", {})
        with pytest.raises(MCPError) as refused:
            await client.call_tool("something_else", {})

    assert result.is_error
    (block,) = result.content
    assert json.loads(block.text)["error"] == "not_found"  # type: ignore[union-attr]  # it is text
    message = refused.value.error.message
    assert message.startswith("Unknown tool: 'something_else'")
    assert message.endswith(", tool_number_24 and 75 more")
    assert len(message) <= 600
