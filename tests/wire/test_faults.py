"""Every fault, in every dialect, through a real process."""

import json
from typing import Any, get_args

import pytest

from faultless.contract import FACTS, Dialect, FaultKind, read
from faultless.testing import ERAS, Era, WireClient
from tests.wire.specimen import Misdeed, StartServer

DIALECTS = tuple(Dialect)


@pytest.mark.parametrize("faults", ["native", "result"])
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("era", ERAS)
def test_every_kind_of_fault_survives_the_wire(
    start_server: StartServer, era: Era, dialect: Dialect, faults: str
) -> None:
    server = start_server(dialect=dialect.value, faults=faults).open(era)
    for kind in FaultKind:
        fault = read(server.call("fail", {"kind": kind.value, "message": f"{kind.value} happened"})).fault
        assert fault is not None
        assert (fault.kind, fault.message, fault.hint) == (kind, f"{kind.value} happened", "do otherwise")
        assert fault.retry_after_seconds == 1.5
        assert fault.details == ({"output": "half done"} if kind is FaultKind.CRASH else {"seen": 3})


def test_the_wire_test_covers_the_whole_table() -> None:
    assert set(FaultKind) == set(FACTS)


def error_of(answer: dict[str, Any]) -> dict[str, Any]:
    error: dict[str, Any] = answer["error"]
    return error


@pytest.mark.parametrize("kind", FaultKind)
def test_the_jsonrpc_dialect_sends_each_kind_with_its_code(
    jsonrpc_server: WireClient, kind: FaultKind
) -> None:
    assert error_of(jsonrpc_server.call("fail", {"kind": kind.value}))["code"] == FACTS[kind].code


@pytest.mark.parametrize("dialect", [Dialect.STATUS, Dialect.ERROR_KEY])
def test_a_fault_in_a_result_stands_in_the_text_alone(start_server: StartServer, dialect: Dialect) -> None:
    result = (
        start_server(dialect=dialect.value).open("handshake").call("fail", {"kind": "not_found"})["result"]
    )
    assert result["isError"] is True
    (block,) = result["content"]
    assert json.loads(block["text"])["kind"] == "not_found"
    assert "structuredContent" not in result


def test_the_status_dialect_repeats_the_fields_of_the_normal_answer(start_server: StartServer) -> None:
    server = start_server(dialect="status").open("handshake")
    payload = json.loads(server.call("level", {"verbosity": 9})["result"]["content"][0]["text"])
    assert payload["status"] == "error"
    assert payload["error_type"] == "ValueError"
    assert (payload["verbosity"], payload["names"]) == (0, [])


@pytest.mark.parametrize("how", get_args(Misdeed))
@pytest.mark.parametrize("tool", ["misbehave", "misbehave_in_thread"])
def test_a_misbehaving_tool_gets_an_internal_fault_and_the_session_lives(
    jsonrpc_server: WireClient, tool: str, how: str
) -> None:
    error = error_of(jsonrpc_server.call(tool, {"how": how}))
    assert error["code"] == -32603
    assert error["message"].startswith("Internal server error: ")
    assert error["data"]["error_id"] in error["message"]
    assert jsonrpc_server.call("echo", {"text": "alive"})["result"]["structuredContent"] == {"text": "alive"}


def test_an_internal_fault_leaks_nothing_but_the_log_has_it(start_server: StartServer) -> None:
    server = start_server().open("handshake")
    answer = server.call("misbehave", {"how": "leak"})
    assert "hunter2" not in json.dumps(answer)
    logged = [json.loads(line) for line in server.stderr().splitlines()]
    (entry,) = [line for line in logged if line["attributes"].get("error_id")]
    assert entry["attributes"]["error_id"] == error_of(answer)["data"]["error_id"]
    assert "hunter2" in entry["attributes"]["traceback"]


def test_debug_adds_the_traceback_to_the_answer(start_server: StartServer) -> None:
    answer = start_server(debug=1).open("handshake").call("misbehave", {"how": "leak"})
    assert "hunter2" in error_of(answer)["data"]["traceback"]


VIOLATIONS: dict[str, tuple[str, dict[str, Any], str, str, Any]] = {
    "out of range": ("level", {"verbosity": 10}, "verbosity", "value must be between -2 and 2", 10),
    "a string for a number": ("level", {"verbosity": "1"}, "verbosity", "value must be an integer", "1"),
    "a float for an integer": ("level", {"verbosity": 1.0}, "verbosity", "value must be an integer", 1.0),
    "true for an integer": ("level", {"verbosity": True}, "verbosity", "value must be an integer", True),
    "null": ("level", {"verbosity": None}, "verbosity", "value must be an integer", None),
    "a string for a list": ("level", {"names": "a"}, "names", "value must be an array", "a"),
    "a wrong element": ("level", {"names": ["a", 1]}, "names.1", "value must be a string", 1),
    "missing": ("echo", {}, "text", "is required", None),
    "unknown": (
        "level",
        {"verbosty": 1},
        "verbosty",
        "unknown parameter, did you mean 'verbosity'?",
        1,
    ),
    "not in the list": (
        "misbehave",
        {"how": "gracefully"},
        "how",
        "input should be 'system_exit', 'keyboard_interrupt', 'cancelled', 'recursion', 'memory', 'leak', 'surrogate', 'nan', 'cycle', 'wrong_type' or 'out_of_range'",
        "gracefully",
    ),
}


@pytest.mark.parametrize(
    ("tool", "arguments", "field", "detail", "received"), VIOLATIONS.values(), ids=VIOLATIONS
)
def test_a_refused_argument_is_named_with_the_reason_and_the_value(
    jsonrpc_server: WireClient,
    tool: str,
    arguments: dict[str, Any],
    field: str,
    detail: str,
    received: object,
) -> None:
    error = error_of(jsonrpc_server.call(tool, arguments))
    assert error["code"] == -32602
    assert error["message"].startswith(f"Invalid params: {field}: {detail}")
    data = error["data"]
    assert (data["field"], data["detail"], data["received_value"]) == (field, detail, received)
    assert data["hint"]


def test_all_violations_are_told_at_once(jsonrpc_server: WireClient) -> None:
    error = error_of(jsonrpc_server.call("level", {"verbosity": 10, "names": 3}))
    assert "; names: value must be an array. Hint: correct names, verbosity" in error["message"]
    assert [violation["field"] for violation in error["data"]["violations"]] == ["verbosity", "names"]


def test_a_huge_refused_value_is_not_sent_back_whole(jsonrpc_server: WireClient) -> None:
    answer = jsonrpc_server.call("level", {"verbosity": "9" * 100_000})
    assert len(json.dumps(answer)) < 3000


def test_an_unknown_tool_is_refused_with_candidates_in_every_dialect(start_server: StartServer) -> None:
    for dialect in DIALECTS:
        server = start_server(dialect=dialect.value).open("modern")
        error = error_of(server.call("ecko\u0007"))
        assert error["code"] == -32602
        assert error["message"].startswith(
            "Unknown tool: 'ecko', did you mean 'echo'? Hint: the tools are: echo,"
        )
        assert error["message"].endswith(error["data"]["hint"])
