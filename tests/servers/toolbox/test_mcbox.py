"""mcbox folders run as they are: the same results, none of the accidents."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from faultless.kit import log
from faultless.testing import WireClient
from tests.servers.toolbox.conftest import HERE, environment, in_memory, serve_command

TEN_TOOLS = HERE / "mcbox_folder"


@pytest.fixture(scope="module")
def ten_tools(workplace: Path) -> Iterator[WireClient]:
    (workplace / "config.json").write_text('{"name": "x",  "list": [1, 2]}')
    (workplace / "broken.json").write_text('{"name": ')
    (workplace / "empty").mkdir()
    with WireClient(serve_command(TEN_TOOLS, workplace), cwd=workplace, env=environment()) as client:
        yield client.open("handshake")


ANSWERS: list[tuple[str, dict[str, Any], str]] = [
    ("greet", {"who": "World"}, "Hello, World!"),
    ("add", {"a": 1, "b": 2.5}, '{"sum":3.5}'),
    ("file_bytes", {"path": "notes.txt"}, '{"path":"notes.txt","bytes":8}'),
    ("trim", {"text": "\t  two words \n"}, "<two words>"),
    ("trim", {"text": "   "}, "<>"),
    ("merge", {"first": '{"a":1,"b":{"c":1}}', "second": '{"b":{"d":2}}'}, '{"a":1,"b":{"d":2}}'),
    ("describe_json", {"text": "{"}, "no JSON"),
    ("describe_json", {"text": ""}, "no JSON"),
    ("describe_json", {"text": "[1]"}, "JSON"),
    ("describe_json", {"text": "{}"}, "an object"),
    ("describe_json", {"text": '{"k": null}', "key": "k"}, "an object with k"),
    ("read_config", {"path": "config.json"}, '{"name":"x","list":[1,2]}'),
    ("look_around", {"command": "bash", "folder": "."}, "command\nfolder\ndone"),
    ("look_around", {"command": "no-such-command", "folder": "empty"}, "done"),
    ("talk", {}, "said"),
]


@pytest.mark.parametrize(("tool", "arguments", "text"), ANSWERS)
def test_a_tool_gives_the_result_that_the_interface_promises(
    ten_tools: WireClient, tool: str, arguments: dict[str, Any], text: str
) -> None:
    result = ten_tools.call(tool, arguments)["result"]
    assert (result["content"], result["isError"]) == ([{"type": "text", "text": text}], False)
    if text.startswith("{") and tool != "merge":
        assert result["structuredContent"] == json.loads(text)


FAILURES: list[tuple[str, dict[str, Any], str, str]] = [
    ("file_bytes", {"path": "nowhere"}, "", "[ERROR] cannot read nowhere"),
    (
        "merge",
        {"first": "[]", "second": "{}"},
        "",
        "[ERROR] json_merge_objects: every value must be a JSON object",
    ),
    ("read_config", {"path": "nowhere"}, "", "[ERROR] cannot read file: nowhere"),
    ("read_config", {"path": "broken.json"}, "", "[ERROR] not valid JSON: broken.json"),
    ("give_up", {"code": 42}, "giving up\n", "because I was told to"),
]


@pytest.mark.parametrize(("tool", "arguments", "output", "stderr"), FAILURES)
def test_a_tool_that_fails_is_a_result_with_its_output(
    ten_tools: WireClient, tool: str, arguments: dict[str, Any], output: str, stderr: str
) -> None:
    result = ten_tools.call(tool, arguments)["result"]
    fault = result["_meta"]["fault"]
    assert result["isError"] is True
    assert result["content"][0]["text"] == (output or f"{fault['message']}. Hint: {fault['hint']}")
    assert fault["details"]["stderr"] == stderr


def test_a_schema_violation_is_an_error_with_the_standard_code(ten_tools: WireClient) -> None:
    assert ten_tools.call("give_up", {"code": 100})["error"]["code"] == -32602
    error = ten_tools.call("greet", {})["error"]
    assert error["message"] == "Invalid params: who: is required. Hint: correct who and call again"


def test_all_ten_are_listed_as_they_were_written(ten_tools: WireClient) -> None:
    listed = ten_tools.request("tools/list")["result"]["tools"]
    written = json.loads((TEN_TOOLS / "tools.json").read_text())["tools"]
    assert [(tool["name"], tool["description"], tool["inputSchema"]) for tool in listed] == [
        (tool["name"], tool["description"], tool["inputSchema"]) for tool in written
    ]
    assert len(listed) == 10


@pytest.mark.anyio
async def test_the_server_goes_by_the_name_in_server_json(workplace: Path) -> None:
    async with in_memory(TEN_TOOLS, workplace) as server:
        assert server.introduction == ("ten-tools", "2.1.0", "Ten tools, written for the interface of mcbox.")


@pytest.mark.anyio
@pytest.mark.parametrize(("level", "expected"), [("trace", 6), ("WARN", 3), ("nonsense", 4)])
async def test_the_log_level_of_mcbox_is_honoured(
    workplace: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    level: str,
    expected: int,
) -> None:
    monkeypatch.setenv("MCBOX_LOG_LEVEL", level)
    monkeypatch.setenv("FAULTLESS_LOG_LEVEL", "INFO")
    log.configure()
    async with in_memory(TEN_TOOLS, workplace) as server:
        await server.call("talk")
    logged = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    (said,) = [entry["attributes"]["stderr"] for entry in logged if entry["body"] == "tool wrote to stderr"]
    levels = ["trace", "debug", "info", "warn", "error", "fatal", "stderr"]
    assert [line.split()[-1] for line in said.splitlines()] == levels[6 - expected :]


@pytest.mark.anyio
async def test_mcbox_config_home_names_the_folder(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCBOX_CONFIG_HOME", str(TEN_TOOLS))
    async with in_memory(None, workplace, "modern") as server:
        assert await server.say("greet", {"who": "you"}) == "Hello, you!"


@pytest.mark.anyio
async def test_a_tools_bash_that_cannot_be_loaded_is_a_system_failure(tmp_path: Path) -> None:
    tool = {"name": "a", "description": "", "inputSchema": {"type": "object"}}
    (tmp_path / "tools.json").write_text(json.dumps({"tools": [tool]}))
    (tmp_path / "tools.bash").write_text("tool_a() { echo a; }\nexit 3\n")
    async with in_memory(tmp_path, tmp_path) as server:
        error = (await server.call("a"))["error"]
        assert error["code"] == -32603
        assert error["message"].startswith(
            "Internal error: tool_a of tools.bash could not be called: it ended by itself. Hint: does tools.bash "
        )
        (tmp_path / "tools.bash").unlink()
        error = (await server.call("a"))["error"]
        assert error["code"] == -32603
        assert "tools.bash, which should hold its function, is missing. Hint: " in error["message"]


@pytest.mark.anyio
async def test_a_broken_server_json_costs_only_the_name(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    log.configure()
    (tmp_path / "server.json").write_text("{")
    (tmp_path / "tools.json").write_text("[]")
    async with in_memory(tmp_path, tmp_path) as server:
        assert await server.names() == []
        assert server.introduction[0] == "faultless-toolbox"
    logged = capfd.readouterr().err
    assert "server.json is not used" in logged
    assert "is not a JSON object" in logged


def write_mcbox_folder(folder: Path, names: list[str], functions: str) -> None:
    folder.mkdir(exist_ok=True)
    tools = [{"name": name, "description": "", "inputSchema": {"type": "object"}} for name in names]
    (folder / "tools.json").write_text(json.dumps({"tools": tools}))
    (folder / "tools.bash").write_text(functions)


@pytest.mark.anyio
async def test_an_executable_is_a_tool_where_there_is_no_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "tool_7z"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "from a program: $1"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    write_mcbox_folder(tmp_path / "tools", ["7z"], "")
    async with in_memory(tmp_path / "tools", tmp_path) as server:
        assert await server.say("7z") == "from a program: {}"


@pytest.mark.anyio
async def test_each_file_may_lie_where_its_variable_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_mcbox_folder(tmp_path / "away", ["far"], "tool_far() { echo far; }\n")
    (tmp_path / "away" / "names.json").write_text('{"serverInfo": {"name": "elsewhere", "version": "3"}}')
    monkeypatch.setenv("MCBOX_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("MCBOX_SERVER_CONFIG_FILE", str(tmp_path / "away" / "names.json"))
    monkeypatch.setenv("MCBOX_TOOLS_CONFIG_FILE", str(tmp_path / "away" / "tools.json"))
    monkeypatch.setenv("MCBOX_TOOLS_LIB_FILE", str(tmp_path / "away" / "tools.bash"))
    async with in_memory(None, tmp_path) as server:
        assert await server.say("far") == "far"
        assert server.introduction[:2] == ("elsewhere", "3")


@pytest.mark.anyio
@pytest.mark.parametrize(("prefix", "function"), [("", "tool_a"), ("do_", "do_a")])
async def test_the_prefix_of_functions_is_mcboxs_and_an_empty_one_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefix: str, function: str
) -> None:
    monkeypatch.setenv("MCBOX_TOOLS_FUNCTION_NAME_PREFIX", prefix)
    write_mcbox_folder(tmp_path / "tools", ["a"], f"{function}() {{ echo yes; }}\n")
    async with in_memory(tmp_path / "tools", tmp_path) as server:
        assert await server.say("a") == "yes"


@pytest.mark.anyio
async def test_an_unset_variable_ends_the_tool_before_anything_is_done_with_it(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "kept").write_text("")
    functions = 'tool_clear() {\n  cd "$1" 2>/dev/null\n  rm -rf ${CACHE_DIR}/*\n  echo cleared\n}\n'
    write_mcbox_folder(tmp_path / "tools", ["clear"], functions)
    async with in_memory(tmp_path / "tools", tmp_path) as server:
        fault = (await server.call("clear"))["result"]["_meta"]["fault"]
    assert "CACHE_DIR: unbound variable" in fault["details"]["stderr"]
    assert (cache / "kept").exists()
