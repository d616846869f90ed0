"""The wire shapes that the source documents fix, field by field."""

import json

import pytest

from faultless.contract import FACTS, Dialect, ErrorReply, Fault, FaultKind, Json, ResultReply, read, write
from faultless.contract.dialects import NAMES
from tests.contract.responses import to_response

TIMED_OUT = Fault(
    FaultKind.TIMEOUT,
    "pytest execution exceeded timeout of 30 seconds while running tests/test_io.py::test_reads",
    hint="raise timeout_seconds or narrow node_ids",
    details={
        "stdout": "collected 3 items",
        "command": ["pytest", "tests/"],
        "duration": 30.1,
        "python": "3.12",
    },
)


def test_jsonrpc_holds_every_field_of_a_run_and_null_where_there_is_none() -> None:
    assert write(TIMED_OUT, Dialect.JSONRPC) == ErrorReply(
        -32000,
        f"{TIMED_OUT.message}. Hint: raise timeout_seconds or narrow node_ids",
        {
            "error_type": "timeout",
            "kind": "timeout",
            "exit_code": None,
            "signal": None,
            "stdout": "collected 3 items",
            "stderr": None,
            "command": ["pytest", "tests/"],
            "duration": 30.1,
            "timeout_exceeded": True,
            "collection_errors": None,
            "hint": "raise timeout_seconds or narrow node_ids",
            "retry_after_seconds": None,
            "python": "3.12",
        },
    )


@pytest.mark.parametrize("dialect", [Dialect.JSONRPC, Dialect.SPLIT])
def test_a_refused_argument_names_field_detail_and_received_value(dialect: Dialect) -> None:
    details: dict[str, Json] = {
        "field": "verbosity",
        "detail": "must be between -2 and 2",
        "received_value": 10,
    }
    fault = Fault(
        FaultKind.INVALID_PARAMS, "Invalid params: verbosity must be between -2 and 2", details=details
    )

    assert write(fault, dialect) == ErrorReply(
        -32602,
        fault.message,
        {"error_type": None, "kind": "invalid_params", **details, "hint": None, "retry_after_seconds": None},
    )


def test_a_detail_whose_name_is_taken_stands_under_details() -> None:
    reply = write(Fault(FaultKind.CRASH, "m", details={"kind": "x", "status": 3, "pid": 7}), Dialect.JSONRPC)

    assert isinstance(reply, ErrorReply)
    assert reply.data["kind"] == "crash"
    assert reply.data["pid"] == 7
    assert reply.data["details"] == {"kind": "x", "status": 3}


def test_jsonrpc_as_a_result_carries_message_and_data_in_its_one_text() -> None:
    reply = write(TIMED_OUT, Dialect.JSONRPC, as_result=True)
    error = write(TIMED_OUT, Dialect.JSONRPC)

    assert isinstance(reply, ResultReply)
    assert isinstance(error, ErrorReply)
    assert reply.payload == {"message": TIMED_OUT.message, **error.data}
    text = json.dumps(reply.payload, separators=(",", ":"))
    assert reply.to_result() == {"content": [{"type": "text", "text": text}], "isError": True}


def test_status_keeps_the_normal_fields_at_their_empty_values() -> None:
    fault = Fault(FaultKind.PARSE_ERROR, "Syntax error: invalid syntax (line 5)", details={"line": 5})

    reply = write(fault, Dialect.STATUS, empty={"status": "", "counterexamples": [], "paths_explored": 0})

    assert reply == ResultReply(
        {
            "status": "error",
            "error_type": "SyntaxError",
            "message": "Syntax error: invalid syntax (line 5)",
            "kind": "parse_error",
            "hint": None,
            "retry_after_seconds": None,
            "details": {"line": 5},
            "counterexamples": [],
            "paths_explored": 0,
        }
    )


def test_a_module_that_will_not_load_is_an_import_error() -> None:
    unloadable = write(Fault(FaultKind.UNAVAILABLE, "m", details={"module": "z3"}), Dialect.STATUS)
    unreachable = write(Fault(FaultKind.UNAVAILABLE, "m"), Dialect.STATUS)

    assert isinstance(unloadable, ResultReply)
    assert isinstance(unreachable, ResultReply)
    assert unloadable.payload["error_type"] == "ImportError"
    assert unreachable.payload["error_type"] == "RuntimeError"


def test_error_key_has_the_three_fields_of_its_document_first() -> None:
    fault = Fault(
        FaultKind.RATE_LIMITED, "Gmail asks to wait", retry_after_seconds=30, details={"method": "send"}
    )

    reply = write(fault, Dialect.ERROR_KEY)

    assert isinstance(reply, ResultReply)
    assert list(reply.payload)[:3] == ["error", "message", "details"]
    assert reply.payload == {
        "error": "rate_limited",
        "message": "Gmail asks to wait",
        "details": {"method": "send"},
        "kind": "rate_limited",
        "hint": None,
        "retry_after_seconds": 30,
    }


def test_error_key_says_the_eight_codes_of_its_document() -> None:
    codes = {"auth_required", "not_found", "rate_limited", "send_failed"}
    codes |= {"permission_denied", "parse_error", "mcp_unavailable", "internal_error"}

    assert codes <= set(NAMES[Dialect.ERROR_KEY].values())


SAID = "deploy failed with exit code 3. Hint: make room"


@pytest.mark.parametrize("as_result", [False, True])
@pytest.mark.parametrize(
    ("output", "texts"),
    [("  no disk\n", ["  no disk\n", SAID]), ("", [SAID]), (" \n", [SAID]), (["no disk"], [SAID])],
)
def test_split_answers_a_tool_that_ran_with_its_output_unchanged_and_the_fault_in_meta(
    output: Json, texts: list[str], as_result: bool
) -> None:
    details: dict[str, Json] = {"output": output, "exit_code": 3}
    fault = Fault(FaultKind.TOOL_FAILED, "deploy failed with exit code 3", hint="make room", details=details)

    reply = write(fault, Dialect.SPLIT, as_result=as_result)

    assert isinstance(reply, ResultReply)
    typed: dict[str, Json] = {
        "message": "deploy failed with exit code 3",
        "kind": "tool_failed",
        "hint": "make room",
        "retry_after_seconds": None,
        "details": {"exit_code": 3} if len(texts) > 1 else details,
    }
    assert reply.to_result() == {
        "content": [{"type": "text", "text": text} for text in texts],
        "isError": True,
        "_meta": {"fault": typed},
    }


@pytest.mark.parametrize(
    ("message", "begins"),
    [
        ("cannot start it", "Internal error: cannot start it. Hint: install it"),
        ("Internal error: no room", "Internal error: no room. Hint: install it"),
        ("Internal server error: a bug", "Internal error: a bug. Hint: install it"),
    ],
)
def test_a_system_failure_of_split_begins_with_the_sentence_of_its_document(
    message: str, begins: str
) -> None:
    fault = Fault(FaultKind.UNAVAILABLE, message, hint="install it")
    reply = write(fault, Dialect.SPLIT)

    assert isinstance(reply, ErrorReply)
    assert (reply.code, reply.message) == (-32603, begins)
    found = read(to_response(reply)).fault
    assert found is not None
    assert found.message == message


def test_a_long_message_keeps_its_beginning_its_end_and_the_hint() -> None:
    stuck = ", at shop/stock.py:9 in wait_for_answer"
    message = f"pytest execution exceeded timeout of 30 seconds while running {'x' * 2000}{stuck}"
    reply = write(Fault(FaultKind.TIMEOUT, message, hint="look there"), Dialect.JSONRPC)

    assert isinstance(reply, ErrorReply)
    assert len(reply.message) == 600
    assert reply.message.startswith("pytest execution exceeded timeout of 30 seconds while running x")
    assert reply.message.endswith(f"{stuck}. Hint: look there")
    assert reply.data["message"] == message


def test_a_hint_is_said_once_and_never_cut() -> None:
    asked = write(
        Fault(FaultKind.NOT_FOUND, "no a, did you mean b?", hint="did you mean b?"), Dialect.JSONRPC
    )
    long = write(Fault(FaultKind.NOT_FOUND, "m" * 700, hint="h" * 500), Dialect.JSONRPC)

    assert isinstance(asked, ErrorReply)
    assert asked.message == "no a, did you mean b?"
    assert isinstance(long, ErrorReply)
    assert len(long.message) == 600
    assert long.message.endswith(f"m. Hint: {'h' * 500}")


@pytest.mark.parametrize("message", ["No such folder. Pass another.", "No such folder. Hint: Pass another."])
def test_a_hint_that_a_message_ends_with_is_taken_off_again(message: str) -> None:
    data: dict[str, Json] = {"kind": "not_found", "hint": "Pass another.", "retry_after_seconds": None}

    fault = read({"error": {"code": -32000, "message": message, "data": data}}).fault

    assert fault is not None
    assert (fault.message, fault.hint) == ("No such folder", "Pass another.")


@pytest.mark.parametrize("kind", FaultKind)
def test_split_sends_only_standard_codes(kind: FaultKind) -> None:
    reply = write(Fault(kind, "m"), Dialect.SPLIT)

    assert isinstance(reply, ErrorReply)
    assert reply.code == (-32602 if FACTS[kind].code == -32602 else -32603)
    assert reply.message == ("m" if reply.code == -32602 else "Internal error: m")
    assert reply.data["kind"] == kind


@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize("as_result", [False, True])
def test_an_unknown_tool_is_the_same_error_in_every_dialect(dialect: Dialect, as_result: bool) -> None:
    fault = Fault(FaultKind.UNKNOWN_TOOL, "Unknown tool: run_test", hint="did you mean run_tests?")

    reply = write(fault, dialect, empty={"tests": []}, as_result=as_result)

    assert isinstance(reply, ErrorReply)
    assert reply == write(fault, Dialect.JSONRPC)
    assert reply.code == -32602


def test_internal_from_a_stranger_is_called_their_bug_and_a_hint_of_theirs_stays() -> None:
    told = read({"error": {"code": -32603, "message": "boom"}}).fault
    hinted = read({"error": {"code": -32603, "message": "boom", "data": {"hint": "wait"}}}).fault
    ours = read(to_response(write(Fault(FaultKind.INTERNAL, "boom"), Dialect.JSONRPC))).fault

    assert told is not None
    assert (told.kind, told.hint) == (
        FaultKind.INTERNAL,
        "a bug in that server: report it to its maintainers",
    )
    assert hinted is not None
    assert hinted.hint == "wait"
    assert ours is not None
    assert ours.hint is None
