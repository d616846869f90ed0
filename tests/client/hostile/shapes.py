"""The eighteen shapes of failure; the seventeenth lies below the protocol and the eighteenth cannot be seen."""

import json
from typing import Any

from tests.client.hostile.wire import IDEMPOTENT, READ_ONLY, alias, error, payload, result, text, tool


@tool(READ_ONLY, input={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]})
def echo(request_id: int, arguments: dict[str, Any]) -> None:
    text(request_id, arguments["text"], structuredContent={"text": arguments["text"]})


@tool()
def rpc_error(request_id: int, _: dict[str, Any]) -> None:
    error(request_id, -32000, "disk quota of 5 GB used up")


@tool()
def flagged_prose(request_id: int, _: dict[str, Any]) -> None:
    text(request_id, "Error: no such file: a.txt", isError=True)


@tool()
def flagged_success_false(request_id: int, _: dict[str, Any]) -> None:
    text(request_id, '{"success": false, "message": "access denied for bob"}', isError=True)


@tool()
def prose(request_id: int, _: dict[str, Any]) -> None:
    text(request_id, "Error: could not connect to the database")


@tool()
def error_with_code(request_id: int, _: dict[str, Any]) -> None:
    payload(request_id, error="not_found", message="there is no note a.md", details={"path": "a.md"})


@tool()
def error_with_status(request_id: int, _: dict[str, Any]) -> None:
    payload(request_id, error="slow down please", status_code=429)


@tool()
def status_error(request_id: int, _: dict[str, Any]) -> None:
    payload(request_id, status="error", message="unsupported operand")


@tool()
def error_alone(request_id: int, _: dict[str, Any]) -> None:
    payload(request_id, error="the label already exists")


@tool()
def error_block(request_id: int, _: dict[str, Any]) -> None:
    result(request_id, content=[{"type": "error", "text": "login required"}])


@tool()
def no_content(request_id: int, _: dict[str, Any]) -> None:
    result(request_id)


@tool()
def imitated_result(request_id: int, _: dict[str, Any]) -> None:
    payload(request_id, isError=True, content='{"error": "timeout", "message": "took too long"}')


@tool()
def emoji(request_id: int, _: dict[str, Any]) -> None:
    text(request_id, "❌ edit failed")


@tool()
def markdown(request_id: int, _: dict[str, Any]) -> None:
    text(request_id, "# Edit Failed\n\nno match in the file")


@tool()
def partial_failure(request_id: int, _: dict[str, Any]) -> None:
    payload(request_id, sent=3, failed=[{"to": "bob", "error": "mailbox full"}])


@tool()
def coded(request_id: int, _: dict[str, Any]) -> None:
    fields = {
        "code": "rate_limit_exceeded",
        "retryable": True,
        "retry_after_seconds": 7,
        "request_id": "r1",
        "message": "too fast",
    }
    text(request_id, json.dumps(fields), isError=True)


@tool()
def sdk_prose(request_id: int, _: dict[str, Any]) -> None:
    text(request_id, "Error executing tool move: destination already exists", isError=True)


@tool()
def sdk_prose_unflagged(request_id: int, _: dict[str, Any]) -> None:
    text(request_id, "Caught Exception. Error: Error 40080: heading not found")


@tool()
def rate_limited(request_id: int, _: dict[str, Any]) -> None:
    payload(request_id, rate_limited=True, retry_after=12)


@tool()
def false_success(request_id: int, _: dict[str, Any]) -> None:
    payload(request_id, sent=True)


# A peer that uses the SDK's own codes.


@tool(READ_ONLY)
def peer_says_closed(request_id: int, _: dict[str, Any]) -> None:
    error(request_id, -32000, "Connection closed")


@tool(READ_ONLY)
def peer_says_timeout(request_id: int, _: dict[str, Any]) -> None:
    error(request_id, -32001, "Request 'tools/call' timed out")


alias("idempotent_echo", "false_success", IDEMPOTENT)
