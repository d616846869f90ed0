"""What mcbox says about its errors and its log, held on the wire: a test for every promise, by its name there."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from faultless.testing import INITIALIZE, WireClient
from tests.servers.toolbox.conftest import environment, serve_command

TOOLS = {
    "say": {
        "type": "object",
        "properties": {"text": {"type": "string"}, "n": {"type": "integer"}},
        "required": ["text"],
    },
    "ask": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
    "fail": {"type": "object", "properties": {"code": {"type": "integer"}}},
    "missing": {"type": "object"},
    "read": {"type": "object", "properties": {"path": {"type": "string"}}},
    "speak": {"type": "object"},
    "lie": {"type": "object"},
    "unset": {"type": "object"},
    "piped": {"type": "object"},
    "7z": {"type": "object"},
}
FUNCTIONS = r"""
tool_say() { printf '%s\n' "$1"; }
tool_ask() { eval "$(printf '%s' "$1" | sed -E 's/.*"word":"(.*)"}$/\1/; s/\\"/"/g')" && echo yes || echo no; }
tool_fail() { echo "partial result"; log_error "it did not work"; return 1; }
tool_read() { json_read_file nowhere.json; }
tool_speak() { for level in TRACE DEBUG INFO WARN ERROR FATAL; do log $level "word"; done; log_level_to_num warn; }
tool_lie() { echo '{"size": "big"}'; }
tool_unset() { echo "before"; rm -rf "${CACHE_DIR}"/x; echo "never reached"; }
tool_piped() { false | cat; }
tool_7z() { echo seven; }
"""


def write_folder(folder: Path) -> Path:
    tools = [{"name": name, "description": name, "inputSchema": schema} for name, schema in TOOLS.items()]
    for tool in tools:
        if tool["name"] == "lie":
            tool["outputSchema"] = {"type": "object", "properties": {"size": {"type": "integer"}}}
    (folder / "tools.json").write_text(json.dumps({"tools": tools}))
    (folder / "tools.bash").write_text(FUNCTIONS)
    return folder


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WireClient]:
    folder = write_folder(tmp_path_factory.mktemp("mcbox"))
    (folder / "full").mkdir()
    (folder / "full" / "x").touch()
    with WireClient(serve_command(folder, folder), cwd=folder, env=environment()) as client:
        yield client.open("handshake")


def ask_raw(box: WireClient, frame: bytes) -> dict[str, Any]:
    box.send(frame + b"\n")
    return box.receive()


LEVELS = {"TRACE": 1, "DEBUG": 5, "INFO": 9, "WARN": 13, "ERROR": 17, "FATAL": 21}


@pytest.mark.parametrize(
    ("variables", "least"),
    [
        ({"MCBOX_LOG_LEVEL": "trace"}, "TRACE"),
        ({"MCBOX_LOG_LEVEL": "Error", "OTEL_LOG_LEVEL": "trace"}, "ERROR"),
        ({"OTEL_LOG_LEVEL": "warn"}, "WARN"),
        ({}, "INFO"),
    ],
    ids=[
        "MCBOX_LOG_LEVEL",
        "MCBOX_LOG_LEVEL before OTEL_LOG_LEVEL",
        "OTEL_LOG_LEVEL (fallback)",
        "INFO by default",
    ],
)
def test_levels_and_their_numbers(tmp_path: Path, variables: dict[str, str], least: str) -> None:
    """Logging Levels and Configuration: the two variables, the numbers, the default, any case."""
    folder = write_folder(tmp_path)
    with WireClient(serve_command(folder, folder), cwd=folder, env=environment(**variables)) as client:
        client.open("handshake")
        assert client.call("speak")["result"]["content"][0]["text"] == "13"
        records = [json.loads(line) for line in client.stderr().splitlines()]
    assert all(LEVELS[it["severity_text"]] == it["severity_number"] >= LEVELS[least] for it in records)
    (said,) = [it["attributes"]["stderr"] for it in records if it["body"] == "tool wrote to stderr"]
    expected = [name for name, number in LEVELS.items() if number >= LEVELS[least]]
    assert [line.split("]")[0].strip("[") for line in said.splitlines()] == expected


SILENT = [
    ("is_valid_json", "is_valid_json {}", "is_valid_json {"),
    ("is_json_object", "is_json_object {}", "is_json_object 1"),
    ("json_object_has_key", 'json_object_has_key "$1" word', 'json_object_has_key "$1" other'),
    ("is_readable_file", "is_readable_file tools.json", "is_readable_file nowhere"),
    ("is_non_empty_dir", "is_non_empty_dir full", "is_non_empty_dir nowhere"),
    ("text_trim", "text_trim x >/dev/null", "false"),
    ("is_cmd_available", "is_cmd_available bash", "is_cmd_available no-such-command"),
]


@pytest.mark.parametrize(("name", "good", "bad"), SILENT, ids=[name for name, _, _ in SILENT])
def test_layer_1_pure_utility_functions_are_silent(box: WireClient, name: str, good: str, bad: str) -> None:
    """Function Return Codes: 0 is success, 1 is failure; nothing is logged."""
    del name
    before = box.stderr().count("tool wrote to stderr")
    assert box.call("ask", {"word": good})["result"]["content"][0]["text"] == "yes"
    assert box.call("ask", {"word": bad})["result"]["content"][0]["text"] == "no"
    assert box.stderr().count("tool wrote to stderr") == before


@pytest.mark.parametrize("frame_id", [b"true", b"1.5", b"[1]", b"{}"])
def test_layer_1_jsonrpc_validate_id(box: WireClient, frame_id: bytes) -> None:
    answer = ask_raw(box, b'{"jsonrpc":"2.0","id":' + frame_id + b',"method":"ping"}')
    assert answer["error"]["code"] == -32600


def test_layer_2_jsonschema_validate_value(box: WireClient) -> None:
    error = box.call("say", {"text": 1})["error"]
    assert (error["code"], error["message"][:14]) == (-32602, "Invalid params")
    assert "text: value must be a string" in error["message"]


def test_layer_2_jsonschema_validate_schema(box: WireClient) -> None:
    assert "text: is required" in box.call("say", {})["error"]["message"]
    assert "unknown parameter" in box.call("say", {"text": "a", "other": 1})["error"]["message"]


@pytest.mark.parametrize("word", ["json_merge_objects [] {}", "json_read_file nowhere.json"])
def test_layer_2_functions_log_what_failed(box: WireClient, word: str) -> None:
    """json_merge_objects, json_read_file: the exit code, and the reason at ERROR in the log."""
    assert box.call("ask", {"word": word})["result"]["content"][0]["text"].splitlines()[-1] == "no"
    last = [json.loads(line) for line in box.stderr().splitlines() if "tool wrote to stderr" in line][-1]
    assert last["severity_text"] == "ERROR"


def test_layer_2_jsonrpc_create_functions(box: WireClient) -> None:
    """JSON-RPC Error Handling, Error Response Format: jsonrpc, id, error with code and message."""
    answer = ask_raw(box, b'{"jsonrpc":"2.0","id":"abc","method":"no/such"}')
    assert (answer["jsonrpc"], answer["id"]) == ("2.0", "abc")
    assert isinstance(answer["error"]["code"], int)
    assert isinstance(answer["error"]["message"], str)
    assert set(answer) == {"jsonrpc", "id", "error"}


@pytest.mark.parametrize("text", ["{ invalid json }", "[]", '{"tools": 1}', ""])
def test_layer_2_mcbox_load_config(tmp_path: Path, text: str) -> None:
    """Configuration loading errors: a JSON-RPC error for every name; healthy tools of the folder go on."""
    write_folder(tmp_path)
    (tmp_path / "tools.json").write_text(text)
    (tmp_path / "healthy").write_text("#!/bin/sh\n# @tool Works\necho works\n")
    (tmp_path / "healthy").chmod(0o755)
    with WireClient(serve_command(tmp_path, tmp_path), cwd=tmp_path, env=environment()) as client:
        client.open("handshake")
        for name in ("say", "whatever"):
            error = client.call(name)["error"]
            assert error["code"] == -32603
            assert error["message"].startswith("Internal error: tools.json cannot be loaded: ")
        assert client.call("healthy")["result"]["content"][0]["text"] == "works"


def test_layer_2_mcbox_check_dependencies(tmp_path: Path) -> None:
    """Infrastructure components fail: without bash no function runs, and the answer is a system failure."""
    folder = write_folder(tmp_path)
    (tmp_path / "empty").mkdir()
    env = environment(PATH=str(tmp_path / "empty"))
    with WireClient(serve_command(folder, folder), cwd=folder, env=env) as client:
        client.open("handshake")
        assert client.call("say", {"text": "a"})["error"]["code"] == -32603


def test_layer_3_mcp_handle_initialize(box: WireClient) -> None:
    assert box.request("initialize", INITIALIZE)["result"]["serverInfo"]["name"] == "faultless-toolbox"


def test_layer_3_mcp_handle_tools_list(box: WireClient) -> None:
    assert [tool["name"] for tool in box.request("tools/list")["result"]["tools"]] == list(TOOLS)


def test_layer_3_mcp_handle_tool_call(box: WireClient) -> None:
    error = box.request("tools/call", {"arguments": {}})["error"]
    assert error["code"] == -32602
    assert "name" in error["message"]


def test_layer_3_mcp_process_request(box: WireClient) -> None:
    assert box.request("ping")["result"] == {}


CODES = [
    (-32700, b"{not json"),
    (-32600, b'{"jsonrpc":"1.0","id":1,"method":"ping"}'),
    (-32601, b'{"jsonrpc":"2.0","id":1,"method":"no/such"}'),
    (-32602, b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","arguments":{}}}'),
    (-32603, b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"missing","arguments":{}}}'),
]


@pytest.mark.parametrize(("code", "frame"), CODES)
def test_standard_error_codes(box: WireClient, code: int, frame: bytes) -> None:
    assert ask_raw(box, frame)["error"]["code"] == code


def test_missing_tool_functions_are_system_failures_and_logged_as_errors(box: WireClient) -> None:
    """Tool function is not available/callable."""
    error = box.call("missing")["error"]
    assert error["code"] == -32603
    assert error["message"].startswith("Internal error: tool_missing of tools.bash could not be called")
    last = [json.loads(line) for line in box.stderr().splitlines() if "tool execution failed" in line][-1]
    assert (last["severity_text"], last["attributes"]["tool"]) == ("ERROR", "missing")


def test_schema_validation_failures_of_output_are_system_failures(box: WireClient) -> None:
    error = box.call("lie")["error"]
    assert error["code"] == -32603
    assert error["message"].startswith("Internal error: tool output does not match outputSchema")


def test_a_tool_that_ran_and_returned_an_error_exit_code_is_a_result(box: WireClient) -> None:
    """Tool executed but returned error exit code; its operational failures; its business errors."""
    result = box.call("fail")["result"]
    assert result["isError"] is True
    assert "partial result" in json.dumps(result)
    assert "it did not work" in json.dumps(result)


def test_the_log_of_a_failing_tool_is_not_empty_at_error(tmp_path: Path) -> None:
    folder = write_folder(tmp_path)
    env = environment(MCBOX_LOG_LEVEL="error")
    with WireClient(serve_command(folder, folder), cwd=folder, env=env) as client:
        client.open("handshake")
        client.call("fail")
        records = [json.loads(line) for line in client.stderr().splitlines()]
    assert {it["severity_text"] for it in records} == {"ERROR"}
    assert {"tool wrote to stderr", "tool execution failed"} <= {it["body"] for it in records}


def test_a_variable_that_is_not_set_ends_the_call_and_a_pipe_fails_with_its_first_part(
    box: WireClient,
) -> None:
    """Nounset and pipefail, as mcbox sets them."""
    answer = json.dumps(box.call("unset"))
    assert "CACHE_DIR: unbound variable" in answer
    assert "never reached" not in answer
    assert box.call("piped")["result"]["isError"] is True


def test_a_name_may_start_with_a_digit(box: WireClient) -> None:
    assert box.call("7z")["result"]["content"][0]["text"] == "seven"
