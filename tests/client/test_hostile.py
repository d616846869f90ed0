"""Whatever a server does, the caller gets a reply or one exact fault, in both eras."""

from typing import Any

import pytest

from faultless.client import SyncClient
from faultless.contract import Fault, Layer, Origin, Outcome

SILENCE_SECONDS = 0.4
Expected = tuple[str, str, Origin, Layer, Outcome]

# tool: kind, message, origin, layer, outcome
FAULTS: dict[str, Expected] = {
    "rpc_error": ("tool_failed", "disk quota of 5 GB used up", "peer", "tool", "unknown"),
    "flagged_prose": ("not_found", "Error: no such file: a.txt", "peer", "tool", "unknown"),
    "flagged_success_false": ("permission_denied", "access denied for bob", "peer", "tool", "unknown"),
    "error_with_code": ("not_found", "there is no note a.md", "peer", "tool", "not_done"),
    "error_with_status": ("rate_limited", "slow down please", "peer", "payload", "not_done"),
    "status_error": ("unsupported", "unsupported operand", "peer", "payload", "unknown"),
    "error_alone": ("conflict", "the label already exists", "peer", "payload", "unknown"),
    "error_block": ("auth_required", "login required", "peer", "payload", "unknown"),
    "imitated_result": ("timeout", "took too long", "peer", "payload", "unknown"),
    "coded": ("rate_limited", "too fast", "peer", "tool", "not_done"),
    "sdk_prose": (
        "conflict",
        "Error executing tool move: destination already exists",
        "peer",
        "tool",
        "unknown",
    ),
    "rate_limited": (
        "rate_limited",
        "The server reported a failure and gave no reason.",
        "peer",
        "payload",
        "not_done",
    ),
    "peer_says_closed": ("unavailable", "Connection closed", "peer", "tool", "not_done"),
    "peer_says_timeout": ("timeout", "Request 'tools/call' timed out", "peer", "tool", "not_done"),
    "error_as_text": ("permission_denied", "permission denied", "peer", "protocol", "unknown"),
    "flag_as_text": ("tool_failed", "it failed", "peer", "tool", "unknown"),
    "flag_as_word": ("tool_failed", "it failed", "peer", "tool", "unknown"),
    "flag_as_number": ("tool_failed", "it failed", "peer", "tool", "unknown"),
    "flag_of_other_name": ("tool_failed", "it failed", "peer", "tool", "unknown"),
    "error_with_text_code": ("not_found", "open failed", "peer", "tool", "not_done"),
    "result_as_text": (
        "upstream_error",
        "the answer breaks the protocol: the result is not an object",
        "peer",
        "protocol",
        "unknown",
    ),
    "result_as_list": (
        "upstream_error",
        "the answer breaks the protocol: the result is not an object",
        "peer",
        "protocol",
        "unknown",
    ),
    "result_null": (
        "upstream_error",
        "the answer breaks the protocol: the result is not an object",
        "peer",
        "protocol",
        "unknown",
    ),
    "deep": (
        "upstream_error",
        "the answer breaks the protocol: the frame is not JSON, or nested beyond reading",
        "peer",
        "protocol",
        "unknown",
    ),
    "too_large": (
        "too_large",
        "the server sent a frame of {} bytes, more than this client accepts",
        "local",
        "protocol",
        "unknown",
    ),
    "too_large_id_last": (
        "too_large",
        "the server sent a frame of {} bytes, more than this client accepts",
        "local",
        "protocol",
        "unknown",
    ),
    "too_large_no_id": (
        "outcome_unknown",
        (
            "too_large_no_id may or may not have taken effect: "
            "the server sent a frame of 3000000 bytes, more than this client accepts"
        ),
        "local",
        "transport",
        "unknown",
    ),
    **dict.fromkeys(
        ("deep_error", "long_integer_in_an_error", "broken_error"),
        (
            "upstream_error",
            "the answer breaks the protocol: the frame is not JSON, or nested beyond reading",
            "peer",
            "protocol",
            "unknown",
        ),
    ),
    "error_null": (
        "upstream_error",
        "the answer breaks the protocol: the result is not an object",
        "peer",
        "protocol",
        "unknown",
    ),
    "outside_schema": (
        "upstream_error",
        'outside_schema answered outside its own output schema: n: "five" is not of type "integer"',
        "peer",
        "payload",
        "done",
    ),
    "schema_without_structure": (
        "upstream_error",
        "schema_without_structure answered outside its own output schema: structuredContent: is missing",
        "peer",
        "payload",
        "done",
    ),
    "schema_with_error_inside": ("not_found", "no such row", "peer", "payload", "not_done"),
    "killed": ("crash", "the server was gone: killed by SIGKILL", "local", "transport", "not_done"),
    "idempotent_killed": ("crash", "the server was gone: killed by SIGKILL", "local", "transport", "unknown"),
    "write_killed": (
        "outcome_unknown",
        "write_killed may or may not have taken effect: the server was gone: killed by SIGKILL",
        "local",
        "transport",
        "unknown",
    ),
    "exits": ("crash", "the server was gone: exited with status 3", "local", "transport", "not_done"),
    "half_a_frame": ("crash", "the server was gone: exited with status 0", "local", "transport", "not_done"),
    "closes_output": (
        "unavailable",
        "the server closed its output without exiting",
        "local",
        "transport",
        "not_done",
    ),
    "dies_but_leaves_a_child": (
        "crash",
        "the server was gone: exited with status 5",
        "local",
        "transport",
        "not_done",
    ),
    "no_such_tool": ("unknown_tool", "Unknown tool: no_such_tool", "peer", "protocol", "not_done"),
}

# tool: value, what it is suspected of, and why
REPLIES: dict[str, tuple[Any, str | None, str | None]] = {
    "false_success": ({"sent": True}, None, None),
    "prose": ("Error: could not connect to the database", "unavailable", "error prose"),
    "emoji": ("❌ edit failed", "tool_failed", "emoji"),
    "markdown": ("# Edit Failed\n\nno match in the file", "tool_failed", "markdown heading"),
    "partial_failure": (
        {"sent": 3, "failed": [{"to": "bob", "error": "mailbox full"}]},
        "tool_failed",
        "partial failure",
    ),
    "sdk_prose_unflagged": (
        "Caught Exception. Error: Error 40080: heading not found",
        "not_found",
        "SDK prose",
    ),
    "text_id": ("fine", None, None),
    "flag_as_no": ("fine", None, None),
    "twice": ("first", None, None),
    "batch": ("one of two", None, None),
    "noise": ("after the noise", None, None),
    "long_noise": ("after a lot of noise", None, None),
    "broken_utf8": ("caf\ufffd", None, None),
    "lone_surrogate": ({"word": "caf\ufffd"}, None, None),
    "not_a_number": ({"ratio": None}, None, None),
    "flood_stderr": ("after 6 MB of log", None, None),
    "flood_notifications": ("after 1000 notifications", None, None),
    "ask_back": ("after three questions", None, None),
    "odd_progress": ("after odd progress", None, None),
    "broken_schema": ("unchecked", None, None),
}

# The names of the fields differ with the era; the rest does not.
PROTOCOL_BREACHES = {
    "no_content": "Field required",
    "task_begun": "Field required",
    "content_of_wrong_type": "Input should be a valid string",
}
SILENT = ("wrong_id", "null_id", "silent")


def catch(client: SyncClient, tool: str, arguments: dict[str, Any] | None = None, **options: Any) -> Fault:  # noqa: ANN401 - those of call
    with pytest.raises(Fault) as caught:
        client.call(tool, arguments, **options)
    return caught.value


@pytest.mark.parametrize("tool", FAULTS)
def test_a_failure_becomes_the_one_fault_that_says_so(hostile: SyncClient, tool: str) -> None:
    kind, message, *rest = FAULTS[tool]
    hostile.call("echo", {"text": "a server that answers is restarted without delay"})
    fault = catch(hostile, tool)
    assert (fault.kind, fault.origin, fault.layer, fault.outcome) == (kind, *rest)
    assert fault.message == message.format(fault.details.get("frame_bytes"))


@pytest.mark.parametrize("tool", REPLIES)
def test_an_answer_survives_whatever_surrounds_it(hostile: SyncClient, tool: str) -> None:
    value, kind, shape = REPLIES[tool]
    reply = hostile.call(tool)
    assert (reply.value, reply.shape, reply.via, reply.attempts) == (value, shape, "server", 1)
    assert (reply.suspicion.kind if reply.suspicion else None) == kind
    assert (reply.certainty is not None) == (kind is not None)


@pytest.mark.parametrize("tool", PROTOCOL_BREACHES)
def test_an_answer_outside_the_protocol_is_a_fault_that_shows_it(hostile: SyncClient, tool: str) -> None:
    fault = catch(hostile, tool)
    assert (fault.kind, fault.origin, fault.layer, fault.outcome) == (
        "upstream_error",
        "peer",
        "protocol",
        "unknown",
    )
    assert fault.message.startswith("the answer breaks the protocol: ")
    assert fault.message.endswith(PROTOCOL_BREACHES[tool])
    assert isinstance(fault.details["answer"], dict)


@pytest.mark.parametrize("tool", SILENT)
def test_a_call_that_gets_no_answer_ends_at_its_deadline(hostile: SyncClient, tool: str) -> None:
    hostile.call("echo", {"text": "warm"})
    fault = catch(hostile, tool, timeout=SILENCE_SECONDS)
    assert (fault.kind, fault.origin, fault.layer, fault.outcome) == (
        "timeout",
        "local",
        "transport",
        "not_done",
    )
    assert fault.message == f"{tool} gave no answer within 0.4 s"


def test_a_silent_call_that_may_have_written_is_of_unknown_outcome(hostile: SyncClient) -> None:
    hostile.call("echo", {"text": "warm"})
    fault = catch(hostile, "write_silent", timeout=SILENCE_SECONDS)
    assert (fault.kind, fault.outcome, fault.details) == ("outcome_unknown", "unknown", {"cause": "timeout"})


def test_a_suspicion_is_raised_only_on_request(hostile: SyncClient) -> None:
    assert hostile.call("emoji").suspicion is not None
    fault = catch(hostile, "emoji", raise_suspected=True)
    assert (fault.kind, fault.layer, fault.origin) == ("tool_failed", "payload", "peer")
    assert (fault.certainty, fault.kind_basis) == ("suspected", "prose")


def test_what_the_server_knows_about_waiting_is_kept(hostile: SyncClient) -> None:
    assert catch(hostile, "coded").retry_after_seconds == 7
    assert catch(hostile, "rate_limited").retry_after_seconds == 12


def test_the_last_words_of_a_dying_server_are_in_its_fault(hostile: SyncClient) -> None:
    fault = catch(hostile, "exits")
    assert fault.details["exit_code"] == 3
    assert str(fault.details["stderr"]).endswith("fatal: the licence has expired")


def test_a_pattern_that_explodes_neither_hangs_the_check_of_arguments_nor_of_answers(
    hostile: SyncClient,
) -> None:
    fault = catch(hostile, "slow_pattern", {"a": "a" * 60 + "b"}, timeout=20)
    assert (fault.kind, fault.outcome) == ("invalid_params", "not_done")
    fault = catch(hostile, "slow_pattern", {"a": "aa"}, timeout=20)
    assert (fault.kind, fault.layer) == ("upstream_error", "payload")


@pytest.mark.parametrize(
    ("arguments", "field"),
    [({}, "(all)"), ({"text": 5}, "text"), ({"text": "a", "blob": object()}, None)],
)
def test_bad_arguments_are_refused_before_anything_is_sent(
    hostile: SyncClient, arguments: dict[str, Any], field: str | None
) -> None:
    fault = catch(hostile, "echo", arguments)
    assert (fault.kind, fault.origin, fault.layer, fault.outcome) == (
        "invalid_params",
        "local",
        "protocol",
        "not_done",
    )
    assert fault.details.get("field") == field
