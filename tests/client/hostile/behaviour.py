"""Everything else a server's process can do: flood, hang, die, change its mind."""

import os
import signal
import subprocess
import sys
from typing import Any

from tests.client.hostile.wire import (
    IDEMPOTENT,
    READ_ONLY,
    STATE,
    alias,
    error,
    payload,
    raw,
    send,
    text,
    tool,
)


@tool()
def flood_stderr(request_id: int, _: dict[str, Any]) -> None:
    for _chunk in range(100):
        os.write(2, b"E" * 65536)
    text(request_id, "after 6 MB of log")


@tool()
def flood_notifications(request_id: int, _: dict[str, Any]) -> None:
    for number in range(500):
        send(
            {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": number}}
        )
        send({"jsonrpc": "2.0", "method": "notifications/bogus", "params": {"n": number}})
    text(request_id, "after 1000 notifications")


@tool()
def ask_back(request_id: int, _: dict[str, Any]) -> None:
    send({"jsonrpc": "2.0", "id": "q1", "method": "sampling/createMessage", "params": {}})
    send({"jsonrpc": "2.0", "id": "q2", "method": "roots/list"})
    send({"jsonrpc": "2.0", "id": "q3", "method": "no/such"})
    text(request_id, "after three questions")


@tool()
def odd_progress(request_id: int, _: dict[str, Any]) -> None:
    for params in ({"progressToken": [1], "progress": "half"}, {}, None, {"progressToken": request_id}):
        send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
    text(request_id, "after odd progress")


@tool(READ_ONLY)
def killed(_: int, __: dict[str, Any]) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@tool(READ_ONLY)
def exits(_: int, __: dict[str, Any]) -> None:
    os.write(2, b"fatal: the licence has expired\n")
    os._exit(3)


@tool(READ_ONLY)
def half_a_frame(request_id: int, _: dict[str, Any]) -> None:
    raw(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[' % request_id)
    os._exit(0)


@tool()
def answers_then_exits(request_id: int, _: dict[str, Any]) -> None:
    text(request_id, "goodbye")
    os._exit(0)


@tool(READ_ONLY)
def closes_output(_: int, __: dict[str, Any]) -> None:
    os.close(1)
    while True:
        signal.pause()


@tool(READ_ONLY)
def dies_but_leaves_a_child(_: int, __: dict[str, Any]) -> None:
    subprocess.Popen(
        [sys.executable, "-S", "-E", "-c", "import signal; signal.pause()"], start_new_session=True
    )
    os._exit(5)


@tool(READ_ONLY)
def silent(_: int, __: dict[str, Any]) -> None:
    """Answers everything else."""


@tool(READ_ONLY)
def stuck(_: int, __: dict[str, Any]) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    subprocess.Popen([sys.executable, "-S", "-E", "-c", "import signal; signal.pause()"])
    while True:
        signal.pause()


@tool(READ_ONLY)
def stops_reading(request_id: int, _: dict[str, Any]) -> None:
    text(request_id, "from now on I do not read")
    while True:
        signal.pause()


@tool(output={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
def outside_schema(request_id: int, _: dict[str, Any]) -> None:
    text(request_id, "x", structuredContent={"n": "five"})


@tool(output={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
def schema_without_structure(request_id: int, _: dict[str, Any]) -> None:
    text(request_id, "five")


@tool(output={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
def schema_with_error_inside(request_id: int, _: dict[str, Any]) -> None:
    text(request_id, "x", structuredContent={"error": "not_found", "message": "no such row"})


@tool(
    READ_ONLY,
    input={"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}},
    output={"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}},
)
def slow_pattern(request_id: int, _: dict[str, Any]) -> None:
    text(request_id, "x", structuredContent={"a": "a" * 60 + "b"})


@tool(READ_ONLY, input={"$ref": "http://127.0.0.1:9/never.json"})
def broken_schema(request_id: int, _: dict[str, Any]) -> None:
    text(request_id, "unchecked")


@tool(READ_ONLY)
def drift(request_id: int, _: dict[str, Any]) -> None:
    STATE["drifted"] = True
    send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    text(request_id, "the schema of `drifting` is another one now")


@tool(READ_ONLY, input={"type": "object", "properties": {"old": {"type": "string"}}})
def drifting(request_id: int, arguments: dict[str, Any]) -> None:
    text(request_id, f"called with {sorted(arguments)}")


@tool(READ_ONLY, input={"type": "object", "properties": {"old": {"type": "string"}}})
def drifts_unannounced(request_id: int, arguments: dict[str, Any]) -> None:
    if "old" in arguments:
        STATE["drifted"] = True
        error(request_id, -32602, "Invalid params: unknown parameter old")
    else:
        text(request_id, "fine")


@tool(READ_ONLY)
def health_check(request_id: int, _: dict[str, Any]) -> None:
    """With start=ill it answers, and what it answers is that nothing works."""
    if "start=ill" in sys.argv:
        payload(request_id, error="unavailable", message="the engine is gone")
    else:
        text(request_id, '{"status": "ok"}')


@tool(READ_ONLY)
def fails_thrice(request_id: int, arguments: dict[str, Any]) -> None:
    """Two refusals to be repeated, then an answer; counts in a file, because it may be restarted."""
    count = _count(arguments["path"])
    if count < 3:
        payload(request_id, rate_limited=True, retry_after=0.05, message=f"slow down {count}")
    else:
        text(request_id, f"attempt {count}")


@tool(READ_ONLY)
def asks_for_yesterday(request_id: int, _: dict[str, Any]) -> None:
    """As our own servers write it, but with a wait that nobody can keep."""
    fields: dict[str, Any] = {"message": "m", "details": {}, "hint": None, "retry_after_seconds": -1}
    payload(request_id, error="rate_limited", kind="rate_limited", **fields)


@tool()
def marks(request_id: int, arguments: dict[str, Any]) -> None:
    """Has an effect, then dies before it answers."""
    _count(arguments["path"])
    os._exit(1)


@tool({"destructiveHint": True})
def acts_then_says(request_id: int, arguments: dict[str, Any]) -> None:
    """Has an effect, then says what other servers say when they have had none: `touch made; cat /nope`."""
    _count(arguments["path"])
    words = {
        "no_such_file": "cat: /nope: No such file or directory",
        "reset_by_peer": "connection reset by peer",
    }
    text(request_id, words[arguments["said"]], isError=True)


@tool(READ_ONLY)
def asks(request_id: int, _: dict[str, Any]) -> None:
    """In the newer era a question is an answer, and its answer is another request."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    question = {"mode": "form", "message": "how many?", "requestedSchema": schema}
    if answers := STATE["params"].get("inputResponses"):
        text(request_id, str(answers["q"]))
    else:
        requests = {"q": {"method": "elicitation/create", "params": question}}
        answer = {"resultType": "input_required", "inputRequests": requests, "requestState": "s"}
        send({"jsonrpc": "2.0", "id": request_id, "result": answer})


@tool()
def asks_in_between(request_id: int, _: dict[str, Any]) -> None:
    """In the older era a question is a request of its own, in the middle of the call."""
    schema = {"type": "object", "properties": {"n": {"type": ["integer", "null"]}}, "required": ["n"]}
    params = {"message": "how many?", "requestedSchema": schema}
    send({"jsonrpc": "2.0", "id": "q1", "method": "elicitation/create", "params": params})
    text(request_id, sys.stdin.buffer.readline().decode())


def _count(path: str) -> int:
    with open(path, "a+", encoding="ascii") as file:  # noqa: PTH123 - pathlib costs as much as the whole start
        file.write("x")
        file.seek(0)
        return len(file.read())


alias("write_killed", "killed", {})
alias("write_silent", "silent", {})
alias("idempotent_killed", "killed", IDEMPOTENT)
alias("read_marks", "marks", READ_ONLY)
