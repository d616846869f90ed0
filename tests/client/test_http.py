"""Servers behind a URL: what HTTP says below the protocol, and who said it."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, ClassVar

import pytest

from faultless.client import Client, Fallback, RetryPolicy
from faultless.contract import Fault, FaultKind

pytestmark = pytest.mark.anyio
DEADLINE_SECONDS = 60.0
ONCE = RetryPolicy(attempts=1)
STATUSES = {
    "unauthorized": 401,
    "forbidden": 403,
    "too_fast": 429,
    "broken": 500,
    "away": 503,
    "slow_gateway": 504,
    "session_gone": 404,
}
LOST_SESSIONS = {
    "gone_as_the_python_sdk_says": (404, -32600, "Session not found"),
    "gone_as_the_typescript_sdk_says": (404, -32001, "Session not found"),
    "gone_as_many_examples_say": (400, -32000, "Bad Request: No valid session ID provided"),
    "gone_as_a_new_process_says": (400, -32000, "Bad Request: Server not initialized"),
}
ERRORS = {
    "refuses_in_body": (400, -32602, "Unknown tool: refuses_in_body"),
    "says_closed": (200, -32000, "SSE stream ended without a response"),
    **LOST_SESSIONS,
}
BODIES = {
    "ends_stream": (200, b": nothing\n\n", "text/event-stream"),
    "breaks_off": (200, b"id: 1\nretry: 1\ndata: \n\n", "text/event-stream"),
    "wrong_type": (200, b"hello", "text/plain"),
    "not_json": (200, b"{broken", "application/json"),
    "huge_refusal": (500, b" " * 3_000_000, "text/plain"),
}


class Handler(BaseHTTPRequestHandler):
    """Speaks the older era; each tool fails in its own way."""

    protocol_version = "HTTP/1.1"
    locked: ClassVar[bool] = False
    resumption_status: ClassVar[int] = 405
    session: ClassVar[str] = "s1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method, request_id = body["method"], body.get("id")
        if self.locked:
            self._answer(401, b"", "text/plain")
        elif request_id is None:
            self._answer(202, b"", "text/plain")
        elif method == "initialize":
            info = {"name": "web", "version": "1"}
            self._result(
                request_id,
                {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info},
            )
        elif method == "tools/list":
            annotations = {"readOnlyHint": True}
            reading = {"name": "http_500", "inputSchema": {"type": "object"}, "annotations": annotations}
            self._result(request_id, {"tools": [reading]})
        elif method == "tools/call":
            self._call(body["params"]["name"], request_id)
        else:
            self._error(request_id, -32601, "Method not found")

    def do_GET(self) -> None:
        is_resumed = "last-event-id" in self.headers
        self._answer(self.resumption_status if is_resumed else 405, b"", "text/plain")

    def do_DELETE(self) -> None:
        self._answer(405, b"", "text/plain")

    def _call(self, tool: str, request_id: int) -> None:
        if tool in STATUSES:
            self._answer(STATUSES[tool], b"<html>no</html>", "text/html", ("retry-after", "9"))
        elif tool in ERRORS:
            status, code, message = ERRORS[tool]
            self._error(request_id, code, message, status)
        elif tool in BODIES:
            self._answer(*BODIES[tool])
        elif tool.startswith("http_"):
            self._answer(int(tool[5:]), b"", "text/plain")
        elif tool == "drops":
            self.connection.shutdown(socket.SHUT_RDWR)
        else:
            self._result(request_id, {"content": [{"type": "text", "text": "fine"}]})

    def _result(self, request_id: int, result: dict[str, Any]) -> None:
        self._json({"jsonrpc": "2.0", "id": request_id, "result": result})

    def _error(self, request_id: int, code: int, message: str, status: int = 200) -> None:
        self._json({"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}}, status)

    def _json(self, value: dict[str, Any], status: int = 200) -> None:
        self._answer(status, json.dumps(value).encode(), "application/json", ("mcp-session-id", self.session))

    def _answer(self, status: int, body: bytes, kind: str, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in (("content-type", kind), ("content-length", str(len(body))), *headers):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Tests are quiet."""


class Locked(Handler):
    locked = True


class Forgetful(Handler):
    """Knows one session at a time."""

    def do_POST(self) -> None:
        if self.headers.get("mcp-session-id") in {None, self.session}:
            super().do_POST()
            return
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self._error(body.get("id"), -32600, "Session not found", status=404)


class OneEach(Handler):
    """A connection for every request, so that none outlives the server."""

    protocol_version = "HTTP/1.0"


@contextmanager
def serving(server: ThreadingHTTPServer) -> Iterator[str]:
    with server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/mcp"
        server.shutdown()
        thread.join(DEADLINE_SECONDS)


def serve(handler: type[Handler]) -> Iterator[str]:
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as url:
        yield url


@pytest.fixture
def url() -> Iterator[str]:
    yield from serve(Handler)


@pytest.fixture
def locked_url() -> Iterator[str]:
    yield from serve(Locked)


async def fault_of(url: str, tool: str) -> Fault:
    async with Client(url, timeout=DEADLINE_SECONDS, retry=ONCE) as client:
        with pytest.raises(Fault) as caught:
            await client.call(tool)
        assert (await client.call("fine")).value == "fine"
    return caught.value


@pytest.mark.parametrize(
    ("tool", "kind", "origin", "layer", "outcome"),
    [
        ("unauthorized", "auth_required", "peer", "transport", "not_done"),
        ("forbidden", "permission_denied", "peer", "transport", "not_done"),
        ("too_fast", "rate_limited", "peer", "transport", "not_done"),
        ("broken", "outcome_unknown", "peer", "transport", "unknown"),
        ("away", "outcome_unknown", "peer", "transport", "unknown"),
        ("slow_gateway", "outcome_unknown", "peer", "transport", "unknown"),
        ("session_gone", "unavailable", "peer", "transport", "not_done"),
        ("refuses_in_body", "unknown_tool", "peer", "protocol", "not_done"),
        ("says_closed", "tool_failed", "peer", "tool", "unknown"),
        ("ends_stream", "outcome_unknown", "local", "transport", "unknown"),
        ("wrong_type", "outcome_unknown", "local", "transport", "unknown"),
        ("not_json", "outcome_unknown", "local", "transport", "unknown"),
        ("drops", "outcome_unknown", "local", "transport", "unknown"),
    ],
)
async def test_a_failure_below_the_protocol_is_told_from_the_peers_word(
    url: str, tool: str, kind: str, origin: str, layer: str, outcome: str
) -> None:
    fault = await fault_of(url, tool)
    assert (fault.kind, fault.origin, fault.layer, fault.outcome) == (kind, origin, layer, outcome)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 409, 429, 500, 503])
async def test_a_call_that_was_taken_is_of_unknown_outcome_whatever_answers_its_resumption(
    monkeypatch: pytest.MonkeyPatch, url: str, status: int
) -> None:
    monkeypatch.setattr(Handler, "resumption_status", status)
    ran: list[Fault] = []
    fallback = Fallback(ran.append, on=frozenset({FaultKind.RATE_LIMITED, FaultKind.AUTH_REQUIRED}))
    async with Client(url, timeout=DEADLINE_SECONDS) as client:
        with pytest.raises(Fault) as caught:
            await client.call("breaks_off", fallback=fallback)
        assert (await client.call("fine")).value == "fine"
        assert client.starts == 1
    fault = caught.value
    assert (fault.kind, fault.origin, fault.outcome, ran) == (
        "outcome_unknown",
        "peer",
        "unknown",
        [],
    )
    assert fault.details == {"resumption_status": status, "cause": "unavailable"}


async def test_a_session_the_server_forgot_is_begun_anew(url: str) -> None:
    async with Client(url, timeout=DEADLINE_SECONDS, retry=ONCE) as client:
        await client.call("fine")
        with pytest.raises(Fault):
            await client.call("session_gone")
        await client.call("fine")
        assert client.starts == 2


@pytest.mark.parametrize("tool", LOST_SESSIONS)
async def test_a_session_lost_in_any_words_is_begun_anew_by_the_next_call(url: str, tool: str) -> None:
    async with Client(url, timeout=DEADLINE_SECONDS, retry=ONCE) as client:
        reply = await client.call(tool, fallback=lambda fault: fault)
        fault = reply.value
        assert (fault.kind, fault.origin, fault.outcome) == ("unavailable", "peer", "not_done")
        await client.call("fine")
        assert client.starts == 2


async def test_a_listing_of_a_lost_session_begins_it_anew_too(monkeypatch: pytest.MonkeyPatch) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Forgetful)
    with serving(server) as url:
        async with Client(url, timeout=DEADLINE_SECONDS) as client:
            await client.call("fine")
            monkeypatch.setattr(Forgetful, "session", "another")
            assert [tool.name for tool in await client.tools()] == ["http_500"]
            assert (await client.call("fine")).value == "fine"
            assert client.starts == 2


async def test_a_call_that_met_no_server_is_not_done_though_its_session_was_open() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), OneEach)
    async with Client(f"http://127.0.0.1:{server.server_port}/mcp", timeout=DEADLINE_SECONDS) as client:
        with serving(server):
            await client.call("fine")
        reply = await client.call("fine", fallback=lambda fault: fault)
    fault = reply.value
    assert (fault.kind, fault.origin, fault.outcome) == ("unavailable", "local", "not_done")


REFUSALS = {
    400: "invalid_params",
    402: "permission_denied",
    404: "unavailable",
    405: "unavailable",
    409: "conflict",
    410: "not_found",
    412: "conflict",
    413: "too_large",
    415: "upstream_error",
    422: "invalid_params",
    425: "upstream_error",
    428: "conflict",
    451: "permission_denied",
    499: "outcome_unknown",
    408: "outcome_unknown",
    520: "outcome_unknown",
}


@pytest.mark.parametrize("status", REFUSALS)
async def test_a_refusal_by_http_is_of_the_kind_its_status_names_and_is_not_walked_round(
    url: str, status: int
) -> None:
    used: list[str] = []
    async with Client(url, timeout=DEADLINE_SECONDS, retry=ONCE) as client:
        with pytest.raises(Fault) as caught:
            await client.call(f"http_{status}", fallback=lambda fault: used.append(fault.kind))
    fault = caught.value
    assert fault.kind == REFUSALS[status]
    assert fault.outcome == ("unknown" if fault.kind == "outcome_unknown" else "not_done")
    assert used == (["unavailable"] if fault.kind == "unavailable" else [])


async def test_a_broken_server_is_told_by_its_status_however_long_its_page(url: str) -> None:
    async with Client(url, timeout=DEADLINE_SECONDS, max_frame_bytes=1_000_000) as client:
        with pytest.raises(Fault) as caught:
            await client.call("huge_refusal")
    fault = caught.value
    assert (fault.kind, fault.details["http_status"], fault.outcome) == ("outcome_unknown", 500, "unknown")


async def test_a_tool_that_only_reads_has_done_nothing_however_http_failed(url: str) -> None:
    async with Client(url, timeout=DEADLINE_SECONDS, retry=ONCE) as client:
        with pytest.raises(Fault) as caught:
            await client.call("http_500")
    assert (caught.value.kind, caught.value.outcome) == ("unavailable", "not_done")


async def test_leaving_a_server_that_does_not_let_go_takes_no_longer_than_the_grace() -> None:
    asked, released = Event(), Event()

    class Clinging(Handler):
        def do_DELETE(self) -> None:
            asked.set()
            released.wait(DEADLINE_SECONDS)

    try:
        with serving(ThreadingHTTPServer(("127.0.0.1", 0), Clinging)) as url:
            async with Client(url, timeout=DEADLINE_SECONDS, mode="legacy", grace_seconds=0.05) as client:
                await client.call("fine")
            assert asked.is_set()
            assert not released.is_set()
    finally:
        released.set()


async def test_the_wait_that_http_asks_for_is_kept(url: str) -> None:
    fault = await fault_of(url, "too_fast")
    assert (fault.retry_after_seconds, fault.details["http_status"]) == (9, 429)


async def test_a_server_that_wants_a_login_says_so_at_the_first_call(locked_url: str) -> None:
    async with Client(locked_url, timeout=DEADLINE_SECONDS) as client:
        with pytest.raises(Fault) as caught:
            await client.call("fine")
    fault = caught.value
    assert (fault.kind, fault.origin, fault.layer, fault.outcome) == (
        "auth_required",
        "peer",
        "transport",
        "not_done",
    )
    assert fault.message == "the server refused the request with HTTP 401 Unauthorized"


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/mcp", "http://no-such-host.invalid/mcp"])
async def test_an_address_where_nobody_listens_is_unavailable(url: str) -> None:
    async with Client(url, timeout=DEADLINE_SECONDS) as client:
        with pytest.raises(Fault) as caught:
            await client.call("fine")
    fault = caught.value
    assert (fault.kind, fault.origin, fault.outcome) == ("unavailable", "local", "not_done")


@pytest.mark.parametrize("url", ["ftp://example.invalid/x", "nonsense"])
async def test_an_address_that_cannot_be_one_is_a_usage_error(url: str) -> None:
    async with Client(url, timeout=DEADLINE_SECONDS) as client:
        with pytest.raises(Fault) as caught:
            await client.call("fine")
    assert (caught.value.kind, caught.value.outcome) == ("usage_error", "not_done")
