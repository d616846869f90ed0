"""An `mcpServers` file: several servers as one, and what is wrong with a file is a fault."""

import json
from pathlib import Path
from typing import Any

import pytest
from mcp.server.mcpserver import MCPServer

from faultless import Client, Fault, RetryPolicy
from faultless.client.group import ClientGroup
from tests.client.hostile import command

pytestmark = pytest.mark.anyio
ONCE = RetryPolicy(attempts=1)
ECHO = {"command": command()[0], "args": command()[1:]}


def write(folder: Path, servers: dict[str, Any]) -> Path:
    path = folder / ".mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    return path


async def test_tools_carry_the_name_of_their_server_and_are_called_by_it(tmp_path: Path) -> None:
    path = write(tmp_path, {"a": ECHO, "a__b": ECHO, "off": {"command": "nope", "disabled": True}})
    async with Client.from_config(path, retry=ONCE) as group:
        names = [tool.name for tool in await group.tools()]
        assert {"a__echo", "a__b__echo"} <= set(names)
        assert (await group.call("a__echo", {"text": "x"}, timeout=60)).value == {"text": "x"}
        assert (await group.call("a__b__echo", {"text": "y"})).value == {"text": "y"}
        assert [group.clients[name].starts for name in ("a", "a__b")] == [1, 1]
        with pytest.raises(Fault) as caught:
            await group.call("echo", {"text": "x"})
    assert (caught.value.kind, caught.value.outcome) == ("unknown_tool", "not_done")
    assert caught.value.hint is not None
    assert "a__" in caught.value.hint


async def test_one_deadline_bounds_them_all_and_the_dead_do_not_hide_the_living(tmp_path: Path) -> None:
    silent = {"command": command()[0], "args": command(start="silence")[1:]}
    path = write(tmp_path, {"good": ECHO, "gone": {"command": "no-such-program"}, "silent": silent})
    async with Client.from_config(path, retry=ONCE, timeout=3.0, grace_seconds=0.1) as group:
        assert {tool.name.split("__")[0] for tool in await group.tools()} == {"good"}
        kinds = {name: fault.kind.value for name, fault in group.faults.items()}
        assert kinds == {"gone": "unavailable", "silent": "timeout"}
        assert (await group.call("good__echo", {"text": "x"})).value == {"text": "x"}


async def test_an_entry_that_cannot_be_used_costs_only_its_own_server(tmp_path: Path) -> None:
    entries = {
        "good": ECHO,
        "unset": {"command": "${NOT_SET_ANYWHERE}"},
        "old": {"url": "http://a.example/sse", "type": "sse"},
        "nothing": None,
        "words": {"command": "x", "args": "serve it"},
    }
    async with Client.from_config(write(tmp_path, entries), retry=ONCE) as group:
        assert group.faults.keys() == {"unset", "old", "nothing", "words"}
        assert {tool.name.split("__")[0] for tool in await group.tools()} == {"good"}
        assert group.faults.keys() == {"unset", "old", "nothing", "words"}
        assert group.faults["unset"].hint == "set NOT_SET_ANYWHERE, or write ${NOT_SET_ANYWHERE:-default}"
        assert group.faults["words"].message == ".mcp.json: words: args is not a list"
        assert await _kind(group.call("old__echo")) == "unsupported"
        assert await _kind(group.read_resource("nothing", "a://b")) == "usage_error"


def offering(tool: str) -> MCPServer:
    server = MCPServer("one tool")
    server.add_tool(lambda: "done", name=tool)
    return server


async def test_no_tool_is_listed_that_another_servers_name_would_hide() -> None:
    group = ClientGroup({"a": Client(offering("b__w")), "a__b": Client(offering("w"))})
    async with group:
        assert [tool.name for tool in await group.tools()] == ["a__b__w"]
        assert group.faults.keys() == {"a"}
        assert group.faults["a"].kind == "conflict"


async def test_a_group_of_the_dead_says_so(tmp_path: Path) -> None:
    async with Client.from_config(write(tmp_path, {"gone": {"command": "no-such-program"}})) as group:
        with pytest.raises(Fault) as caught:
            await group.tools()
        assert caught.value.kind == "unavailable"
        assert await _kind(group.read_resource("nope", "a://b")) == "not_found"


async def _kind(asked: Any) -> str:  # noqa: ANN401 - a coroutine
    with pytest.raises(Fault) as caught:
        await asked
    return caught.value.kind.value


async def test_variables_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHO", "world")
    entry = {**ECHO, "env": {"GREETING": "hello ${WHO}", "TONE": "${TONE_NOT_SET:-kind}"}}
    group = Client.from_config(write(tmp_path, {"a": entry}), env={"MORE": "1"})
    assert group.clients["a"].env == {"GREETING": "hello world", "TONE": "kind", "MORE": "1"}
    web = Client.from_config({"servers": {"w": {"url": "http://a.example/mcp", "headers": {"x": "${WHO}"}}}})
    assert (web.clients["w"].server, web.clients["w"].headers) == ("http://a.example/mcp", {"x": "world"})


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("{", "parse_error"),
        ("[]", "usage_error"),
        ("{}", "usage_error"),
        ('{"mcpServers": {"a": 5}}', "usage_error"),
        ('{"mcpServers": {"a": {}}}', "usage_error"),
        ('{"mcpServers": {"a": {"command": "x", "env": 5}}}', "usage_error"),
        ('{"mcpServers": {"a": {"command": "${NOT_SET_ANYWHERE}"}}}', "usage_error"),
        ('{"mcpServers": {"a": {"url": "http://a.example/sse", "type": "sse"}}}', "unsupported"),
    ],
)
async def test_what_is_wrong_with_a_file_is_a_fault(tmp_path: Path, text: str, kind: str) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(text)
    with pytest.raises(Fault) as caught:
        Client.from_config(path)
    assert (caught.value.kind, caught.value.outcome) == (kind, "not_done")


async def test_a_file_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(Fault) as caught:
        Client.from_config(tmp_path / "nope.json")
    assert caught.value.kind == "not_found"
