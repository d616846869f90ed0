"""The eighteen shapes in which public servers report failures, each read to its kind and its certainty."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultless.contract import Certainty, FaultKind, Json, KindBasis, read, strangers
from faultless.contract.vocabulary import name_kind

DECLARED, RECOGNISED, SUSPECTED = Certainty.DECLARED, Certainty.RECOGNISED, Certainty.SUSPECTED


def error(code: object, message: object, data: object = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": message, "data": data}}


def result(**members: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "result": members}


def says(answer: object, **members: object) -> dict[str, Any]:
    """A result with one text block: prose, or an object as JSON."""
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return result(content=[{"type": "text", "text": text}], **members)


def flags(answer: object) -> dict[str, Any]:
    return says(answer, isError=True)


OURS = {"hint": None, "retry_after_seconds": None}


def coded(code: str) -> dict[str, Any]:
    return says({"error": code, "message": "m", "details": None})


SHAPES: list[tuple[int, dict[str, Any], Certainty, FaultKind]] = [
    (1, error(-32603, "ENOENT: no such file or directory"), DECLARED, FaultKind.NOT_FOUND),
    (1, error(-32602, "Unknown tool: fetch"), DECLARED, FaultKind.UNKNOWN_TOOL),
    (1, error(-32602, "Invalid arguments: timeout must be positive"), DECLARED, FaultKind.INVALID_PARAMS),
    (1, error(-32601, "Method not found"), DECLARED, FaultKind.UNSUPPORTED),
    (1, error(-32603, "Internal error"), DECLARED, FaultKind.INTERNAL),
    (1, error(-32000, "Connection closed"), DECLARED, FaultKind.UNAVAILABLE),
    (1, error(-32001, "Request timed out"), DECLARED, FaultKind.TIMEOUT),
    (1, error(0, "'NoneType' object has no attribute 'x'"), DECLARED, FaultKind.TOOL_FAILED),
    (1, error(-32603, "failed", {"status_code": 409}), DECLARED, FaultKind.CONFLICT),
    (2, flags("Error: quota has been exceeded for today"), DECLARED, FaultKind.RATE_LIMITED),
    (
        2,
        flags("Error: access denied: path outside allowed directories"),
        DECLARED,
        FaultKind.PERMISSION_DENIED,
    ),
    (3, flags({"success": False, "message": "Note not found"}), DECLARED, FaultKind.NOT_FOUND),
    (4, says("Error: Request timed out"), SUSPECTED, FaultKind.TIMEOUT),
    (5, says({"error": "auth_required", "message": "Run the login"}), RECOGNISED, FaultKind.AUTH_REQUIRED),
    (5, says({"error": "mcp_unavailable", "message": "down"}), RECOGNISED, FaultKind.UNAVAILABLE),
    (6, says({"error": "nothing there", "status_code": 404}), RECOGNISED, FaultKind.NOT_FOUND),
    (6, says({"error": "refused", "status_code": 403}), RECOGNISED, FaultKind.PERMISSION_DENIED),
    (7, says({"status": "error", "error_type": "SyntaxError"}), RECOGNISED, FaultKind.PARSE_ERROR),
    (7, says({"status": "error", "error_type": "ValueError"}), RECOGNISED, FaultKind.INVALID_PARAMS),
    (8, says({"error": "it broke"}), RECOGNISED, FaultKind.TOOL_FAILED),
    (8, says({"error": {"message": "File already exists"}}), RECOGNISED, FaultKind.CONFLICT),
    (9, result(content=[{"type": "error", "text": "payload too large"}]), RECOGNISED, FaultKind.TOO_LARGE),
    (10, result(isError=True), DECLARED, FaultKind.TOOL_FAILED),
    (10, result(error="request timed out"), RECOGNISED, FaultKind.TIMEOUT),
    (10, result(type="text", text="Error: file not found", isError=True), DECLARED, FaultKind.NOT_FOUND),
    (10, result(), SUSPECTED, FaultKind.TOOL_FAILED),
    (11, says({"isError": True, "content": '{"error":"not_found"}'}), RECOGNISED, FaultKind.NOT_FOUND),
    (
        11,
        says({"isError": True, "content": [{"text": "rate limit hit"}]}),
        RECOGNISED,
        FaultKind.RATE_LIMITED,
    ),
    (11, flags({"isError": True, "content": "Forbidden"}), DECLARED, FaultKind.PERMISSION_DENIED),
    (12, says("❌ Not implemented yet"), SUSPECTED, FaultKind.UNSUPPORTED),
    (12, says("# Edit Failed\n\nno such heading"), SUSPECTED, FaultKind.NOT_FOUND),
    (12, flags("❌ token has expired"), DECLARED, FaultKind.AUTH_REQUIRED),
    (13, says({"moved": 3, "failed": [{"id": 7, "error": "rate limit"}]}), SUSPECTED, FaultKind.RATE_LIMITED),
    (13, says({"results": [{"ok": True}, {"error": "not_found"}]}), SUSPECTED, FaultKind.NOT_FOUND),
    (13, says([{"ok": True}, {"success": False, "message": "conflict"}]), SUSPECTED, FaultKind.CONFLICT),
    (13, says({"success": True, "error": "2 of 3 timed out"}), SUSPECTED, FaultKind.TIMEOUT),
    (
        14,
        flags({"code": "RATE_LIMITED", "retryable": True, "retry_after_seconds": 9, "request_id": "a"}),
        DECLARED,
        FaultKind.RATE_LIMITED,
    ),
    (15, flags("Error executing tool not_found: connection refused"), DECLARED, FaultKind.UNAVAILABLE),
    (15, flags("Error executing tool fetch"), DECLARED, FaultKind.TOOL_FAILED),
    (15, flags("Caught Exception. Error: Error 40080: bad target"), DECLARED, FaultKind.INVALID_PARAMS),
    (15, says("Error executing tool fetch: HTTP 503"), SUSPECTED, FaultKind.UNAVAILABLE),
    (16, says({"rate_limited": True, "retry_after": 9}), RECOGNISED, FaultKind.RATE_LIMITED),
    (17, {"error": "invalid_token", "error_description": "expired"}, RECOGNISED, FaultKind.AUTH_REQUIRED),
    (17, {"statusCode": 401, "message": "no"}, RECOGNISED, FaultKind.AUTH_REQUIRED),
    (17, {"title": "Unauthorized", "status": 401}, RECOGNISED, FaultKind.AUTH_REQUIRED),
    (17, error(-32001, "HTTP 401: no"), DECLARED, FaultKind.AUTH_REQUIRED),
]


@pytest.mark.parametrize(("number", "response", "certainty", "kind"), SHAPES)
def test_a_shape_is_read_to_its_kind_and_certainty(
    number: int, response: dict[str, Any], certainty: Certainty, kind: FaultKind
) -> None:
    reading = read(response)

    fault = reading.suspicion if certainty is SUSPECTED else reading.fault
    assert fault is not None
    assert (fault.kind, reading.certainty, fault.origin) == (kind, certainty, "peer")
    assert fault.message
    assert reading.shape
    assert (reading.fault is None) == (certainty is SUSPECTED)


def test_a_false_success_reads_as_the_verdict_it_claims_to_be() -> None:
    reading = read(says({"sent": True}))

    assert (reading.fault, reading.certainty, reading.payload) == (None, None, {"sent": True})


def test_every_shape_has_a_case() -> None:
    false_success = 18

    assert {number for number, *_ in SHAPES} | {false_success} == set(range(1, 19))


def get_text(response: dict[str, Any]) -> str:
    content = response.get("result", {}).get("content", [{}])
    return str(content[0].get("text", ""))


OBJECT_SHAPES = [shape for shape in SHAPES if get_text(shape[1]).startswith("{")]


@pytest.mark.parametrize(("number", "response", "certainty", "kind"), OBJECT_SHAPES)
def test_an_object_reads_the_same_in_the_structured_half_alone(
    number: int, response: dict[str, Any], certainty: Certainty, kind: FaultKind
) -> None:
    text = get_text(response)
    flag = {"isError": True} if response["result"].get("isError") else {}

    plain = read(result(content=[], structuredContent=json.loads(text), **flag))
    wrapped = read(result(content=[], structuredContent={"result": text}, **flag))

    for reading in (plain, wrapped):
        fault = reading.fault or reading.suspicion
        assert fault is not None
        assert (fault.kind, reading.certainty) == (kind, certainty)


@pytest.mark.parametrize(
    "answer",
    [
        "All 12 tests passed",
        "The error: handling chapter begins on page 9",
        {"exit_code": 1, "summary": {"failed": 2, "errors": 0}, "tests": [{"outcome": "failed"}]},
        {"status": "counterexample", "counterexamples": [{"violation": "ValueError: x"}]},
        {"status": "ok", "error": None},
        {"error": "", "data": 3},
        {"success": True, "message": "done"},
        {"status": 200, "message": "fine"},
        {"errors": [], "failed": 0},
        {"tests": [], "count": 0, "collection_errors": [{"file": "a.py", "message": "no"}]},
        {"kind": "timeout", "message": "a listing of kinds"},
        [],
    ],
)
def test_a_verdict_however_bad_is_no_fault_and_raises_no_suspicion(answer: object) -> None:
    reading = read(says(answer))

    assert (reading.fault, reading.suspicion, reading.certainty) == (None, None, None)


def test_what_a_stranger_said_beside_the_message_is_kept() -> None:
    answer = {
        "error": {"code": "RateLimitExceeded", "message": "wait\x1b[31m", "hint": "ask less"},
        "request": "r1",
    }

    fault = read(says({**answer, "retryAfterMs": 1500})).fault

    assert fault is not None
    assert fault.kind is FaultKind.RATE_LIMITED
    assert (fault.message, fault.hint, fault.retry_after_seconds) == ("wait", "ask less", 1.5)
    assert fault.details == {"code": "RateLimitExceeded", "request": "r1"}


PROSE, CODE, SAID_SO = KindBasis.PROSE, KindBasis.CODE, KindBasis.DECLARED
UNKNOWN = "Unknown tool: fetch"
BASES: dict[str, tuple[dict[str, Any], FaultKind, KindBasis]] = {
    "a dialect of ours": (
        flags({"error": "not_found", "message": "m", "details": {}, "kind": "not_found"} | OURS),
        FaultKind.NOT_FOUND,
        SAID_SO,
    ),
    "the eight codes": (coded("send_failed"), FaultKind.UPSTREAM_ERROR, SAID_SO),
    "a name": (says({"error": "not_found", "message": "m"}), FaultKind.NOT_FOUND, CODE),
    "a status": (says({"error": "m", "status_code": 404}), FaultKind.NOT_FOUND, CODE),
    "a JSON-RPC code": (error(-32602, "bad"), FaultKind.INVALID_PARAMS, CODE),
    "a refusal in its own words": (error(-32602, UNKNOWN), FaultKind.UNKNOWN_TOOL, CODE),
    "the same without a code": (flags(UNKNOWN), FaultKind.UNKNOWN_TOOL, PROSE),
    "a flag": (says({"rate_limited": True}), FaultKind.RATE_LIMITED, CODE),
    "a sentence in the place of a name": (says({"error": "Not found"}), FaultKind.NOT_FOUND, PROSE),
    "a status in words": (flags("HTTP 404"), FaultKind.NOT_FOUND, PROSE),
    "words": (flags("No such file"), FaultKind.NOT_FOUND, PROSE),
    "words that outweigh a code": (error(-32603, "No such file"), FaultKind.NOT_FOUND, PROSE),
    "an answer that broke its schema": (
        error(-32602, "Output validation error: n is missing"),
        FaultKind.TOOL_FAILED,
        PROSE,
    ),
    "a name used for anything": (
        says({"status": "error", "error_type": "ValueError"}),
        FaultKind.INVALID_PARAMS,
        PROSE,
    ),
    "nothing": (result(isError=True), FaultKind.TOOL_FAILED, PROSE),
}


@pytest.mark.parametrize("name", BASES)
def test_a_fault_says_what_its_kind_is_based_on(name: str) -> None:
    response, kind, basis = BASES[name]

    fault = read(response).fault

    assert fault is not None
    assert (fault.kind, fault.kind_basis, fault.certainty) == (kind, basis, read(response).certainty)


EIGHT = (
    *("auth_required", "not_found", "rate_limited", "send_failed"),
    *("permission_denied", "parse_error", "mcp_unavailable", "internal_error"),
)


@pytest.mark.parametrize("code", EIGHT)
@pytest.mark.parametrize("details", [None, {"note": "a.md", "retry_after": 3}])
def test_the_object_of_the_eight_codes_is_declared_with_or_without_a_flag(
    code: str, details: dict[str, Any] | None
) -> None:
    answer = {"error": code, "message": "m", "details": details}

    for reading in (
        read(says(answer)),
        read(flags(answer)),
        read(result(content=[], structuredContent=answer)),
    ):
        assert reading.certainty is DECLARED
        assert reading.fault is not None
        assert (reading.fault.kind_basis, reading.fault.message) == (SAID_SO, "m")
        assert reading.fault.details == (details or {})
        assert reading.fault.retry_after_seconds == (3 if details else None)


@pytest.mark.parametrize(
    "answer",
    [
        {"error": "melted", "message": "m", "details": None},
        {"error": "not_found", "message": "m"},
        {"error": "not_found", "message": None, "details": None},
        {"error": "not_found", "message": "m", "details": "none"},
        {"error": "not_found", "message": "m", "details": {}, "data": 1},
    ],
)
def test_what_only_resembles_that_object_is_recognised(answer: dict[str, Any]) -> None:
    assert read(says(answer)).certainty is RECOGNISED


def test_a_waiting_time_in_words_is_read() -> None:
    fault = read(flags("Too many requests, try again in 2 minutes")).fault

    assert fault is not None
    assert fault.retry_after_seconds == 120


def test_the_reason_of_a_google_error_outweighs_its_status() -> None:
    inner = {
        "code": 403,
        "message": "no",
        "status": "PERMISSION_DENIED",
        "errors": [{"reason": "rateLimitExceeded"}],
    }

    fault = read(says({"error": inner})).fault

    assert fault is not None
    assert fault.kind is FaultKind.RATE_LIMITED


@pytest.mark.parametrize(
    ("names", "numbers", "prose", "kind"),
    [
        (["NotFoundError"], [], "", FaultKind.NOT_FOUND),
        (["https://errors.example/too-many-requests"], [], "", FaultKind.RATE_LIMITED),
        (["ValueError"], [], "Function 'f' not found in code", FaultKind.NOT_FOUND),
        (["ValidationError"], [], "Blocked function call: eval", FaultKind.PERMISSION_DENIED),
        ([], [-32602], "Tool fetch not found", FaultKind.UNKNOWN_TOOL),
        ([], [500], "", FaultKind.UPSTREAM_ERROR),
        ([], [500], "deadline exceeded", FaultKind.TIMEOUT),
        ([], [418], "", FaultKind.TOOL_FAILED),
        ([], [], "", FaultKind.TOOL_FAILED),
    ],
)
def test_names_numbers_and_words_are_weighed(
    names: list[str], numbers: list[int], prose: str, kind: FaultKind
) -> None:
    assert name_kind(names, numbers, prose)[0] is kind


@given(
    st.dictionaries(
        st.sampled_from(
            ["code", "message", "title", "body", "kind", "data", "n", "extensions", "is_error", "isError"]
        ),
        st.sampled_from([True, False, "error", 500, [], ["x"], {"error": "x"}, [{"error": "x"}], None]),
    )
)
def test_a_payload_without_a_telling_key_passes_every_test(payload: dict[str, Json]) -> None:
    tests = [*strangers.RECOGNISED.values(), *strangers.SUSPECTED.values()]
    assert strangers.TELLING.isdisjoint(payload)
    assert not any(test(payload) for test in tests)


# What public servers say, each in its own words.
UNAVAILABLE, NOT_FOUND = FaultKind.UNAVAILABLE, FaultKind.NOT_FOUND
WORDS: list[tuple[str, FaultKind]] = [
    ("Unknown tool: fetch", FaultKind.UNKNOWN_TOOL),
    ("MCP error -32602: Tool fetch not found", FaultKind.UNKNOWN_TOOL),
    ("Tool 'fetch' is not registered.", FaultKind.UNKNOWN_TOOL),
    ("Error: Tool not found: fetch", FaultKind.UNKNOWN_TOOL),
    ("tool `fetch` does not exist", FaultKind.UNKNOWN_TOOL),
    ("There is no tool named fetch", FaultKind.UNKNOWN_TOOL),
    ("Unrecognized tool: fetch", FaultKind.UNKNOWN_TOOL),
    ("Invalid tool name: fetch", FaultKind.UNKNOWN_TOOL),
    ("Could not find tool fetch", FaultKind.UNKNOWN_TOOL),
    ("Method fetch not found", FaultKind.UNKNOWN_TOOL),
    ("MCP error -32603: Method API-nope not found", FaultKind.UNKNOWN_TOOL),
    ("tool rg not found on PATH", UNAVAILABLE),
    ("Tool 'ffmpeg' not found, please install it", UNAVAILABLE),
    ("Method frobnicate not found in class Widget", NOT_FOUND),
    (
        "browserType.launch: Executable doesn't exist at /root/.cache/ms-playwright/chromium-1148/chrome",
        UNAVAILABLE,
    ),
    (
        "Chromium distribution 'chrome' is not found at /opt/google/chrome/chrome\nRun \"npx playwright install\"",
        UNAVAILABLE,
    ),
    ("Could not find Chrome (ver. 131.0.6778.204). This can occur if you did not install it", UNAVAILABLE),
    ("Failed to launch the browser process!", UNAVAILABLE),
    ("spawn git ENOENT", UNAVAILABLE),
    ("sh: 1: pandoc: command not found", UNAVAILABLE),
    ("Unable to get page count. Is poppler installed and in PATH?", UNAVAILABLE),
    ("Browser session 17 not found", NOT_FOUND),
    ("cat: /nope: No such file or directory", NOT_FOUND),
    ("httpx.ConnectError: All connection attempts failed", UNAVAILABLE),
    ("Failed to fetch https://a.example/: ConnectError('')", UNAVAILABLE),
    ("fetch failed", UNAVAILABLE),
    ("getaddrinfo ENOTFOUND api.example.com", UNAVAILABLE),
    ("[Errno -2] Name or service not known", UNAVAILABLE),
    ("page.goto: net::ERR_NAME_NOT_RESOLVED at https://a.example/", UNAVAILABLE),
    ("Failed to fetch robots.txt https://a.example/robots.txt due to a connection issue", UNAVAILABLE),
    (
        "The sites robots.txt (https://a.example), specifies that autonomous fetching of this page is not allowed",
        FaultKind.PERMISSION_DENIED,
    ),
    ("Fetching this URL is disallowed by robots.txt", FaultKind.PERMISSION_DENIED),
    ("The request was refused: it violates our content policy", FaultKind.PERMISSION_DENIED),
    ("An organisation policy forbids this action", FaultKind.PERMISSION_DENIED),
    ("error: pathspec 'nope' did not match any file(s) known to git", NOT_FOUND),
    ("Ref 'nope' did not resolve to an object", NOT_FOUND),
    ("Command exited with code 2", FaultKind.TOOL_FAILED),
    ("the moon is in the wrong house", FaultKind.TOOL_FAILED),
]


@pytest.mark.parametrize(("words", "kind"), WORDS)
def test_words_are_read_as_a_person_would_read_them(words: str, kind: FaultKind) -> None:
    for response in (flags(words), error(-32000, words)):
        fault = read(response).fault
        assert fault is not None
        assert fault.kind is kind
