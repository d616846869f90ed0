"""The raw-frame battery: what goes in, and exactly what comes out."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from faultless.testing import INITIALIZE, MODERN_META, WireClient
from tests.wire.cases import LIMIT, REFUSED, Case
from tests.wire.specimen import StartServer, specimen_command


@pytest.fixture(scope="module")
def server() -> Iterator[WireClient]:
    with WireClient(specimen_command(max_frame_bytes=LIMIT)) as client:
        yield client.open("handshake")


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.sentence)
def test_a_bad_frame_gets_its_exact_answer_and_the_connection_lives_on(
    server: WireClient, case: Case
) -> None:
    server.send(case.line + b"\n")
    answer = server.receive()
    data = answer["error"].pop("data")
    assert answer == {
        "jsonrpc": "2.0",
        "id": case.id,
        "error": {"code": case.code, "message": f"{case.message}. Hint: {data['hint']}"},
    }
    assert data == {"kind": case.kind, "hint": data["hint"], "retry_after_seconds": None}
    assert server.call("echo", {"text": "alive"})["result"]["structuredContent"] == {"text": "alive"}


@pytest.mark.parametrize("id", [0, 1, -1, 2**53 + 1, 10**30, "", "abc", "1", "ü\u0000", "x" * 500], ids=repr)
def test_ids_are_echoed_exactly(server: WireClient, id: int | str) -> None:
    server.send({"jsonrpc": "2.0", "id": id, "method": "ping"})
    answer = server.receive()
    assert (answer["id"], type(answer["id"])) == (id, type(id))


PING = b'{"jsonrpc":"2.0","id":5,"method":"ping"}'
TOLERATED = {
    "CRLF line ends": PING + b"\r\n",
    "blank lines before": b"\n\r\n  \n" + PING + b"\n",
    "a byte order mark": b"\xef\xbb\xbf" + PING + b"\n",
    "spaces around": b"   " + PING + b" \t\n",
    "unknown members": b'{"jsonrpc":"2.0","id":5,"method":"ping","extra":1}\n',
    "params null": b'{"jsonrpc":"2.0","id":5,"method":"ping","params":null}\n',
}


@pytest.mark.parametrize("line", TOLERATED.values(), ids=TOLERATED)
def test_harmless_oddities_are_tolerated(server: WireClient, line: bytes) -> None:
    server.send(line)
    answer = server.receive()
    assert (answer["id"], answer["result"]) == (5, {})


def test_a_message_may_arrive_in_pieces(server: WireClient) -> None:
    for position in range(len(PING)):
        server.send(PING[position : position + 1])
    server.send(b"\n")
    assert server.receive()["id"] == 5


def test_messages_may_arrive_together(server: WireClient) -> None:
    server.send(b"".join(PING.replace(b"5", b"%d" % number) + b"\n" for number in range(100, 150)))
    assert sorted(server.receive()["id"] for _ in range(50)) == list(range(100, 150))


SILENT = {
    "an unknown notification": b'{"jsonrpc":"2.0","method":"notifications/unheard_of"}',
    "a response nobody asked for": b'{"jsonrpc":"2.0","id":77,"result":{}}',
    "an error nobody asked for": b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}',
    "cancelling what does not run": b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}',
}


@pytest.mark.parametrize("line", SILENT.values(), ids=SILENT)
def test_what_wants_no_answer_gets_none(server: WireClient, line: bytes) -> None:
    server.send(line + b"\n")
    server.send(PING + b"\n")
    assert server.receive()["id"] == 5


SEE = ". Hint: see the protocol's schema for this method"
REQUESTS: dict[str, tuple[str, dict[str, Any], int, str]] = {
    "unknown method": ("tools/burn", {}, -32601, "Method not found"),
    "tools/call without a name": ("tools/call", {}, -32602, f"Invalid params: name: is required{SEE}"),
    "tools/call with arguments as an array": (
        "tools/call",
        {"name": "echo", "arguments": []},
        -32602,
        f"Invalid params: arguments: value must be an object (received []){SEE}",
    ),
    "tools/call with a number for a name": (
        "tools/call",
        {"name": 5},
        -32602,
        f"Invalid params: name: value must be a string (received 5){SEE}",
    ),
    "a bogus cursor": ("tools/list", {"cursor": "bogus"}, -32602, "Invalid params: cursor: unknown cursor"),
    "an unknown resource": (
        "resources/read",
        {"uri": "info://specimens"},
        -32602,
        "Invalid params: uri: is unknown, did you mean 'info://specimen'?",
    ),
    "an unknown prompt": (
        "prompts/get",
        {"name": "great"},
        -32602,
        "Invalid params: name: is unknown, did you mean 'greet'?",
    ),
    "a prompt without its argument": (
        "prompts/get",
        {"name": "greet"},
        -32602,
        "Invalid params: arguments.who: is required",
    ),
}


@pytest.mark.parametrize(("method", "params", "code", "message"), REQUESTS.values(), ids=REQUESTS)
def test_a_well_formed_but_wrong_request_gets_its_exact_answer(
    era_server: WireClient, method: str, params: dict[str, Any], code: int, message: str
) -> None:
    answer = era_server.request(method, params)
    assert (answer["error"]["code"], answer["error"]["message"]) == (code, message)


def test_a_request_before_the_handshake_is_refused(start_server: StartServer) -> None:
    answer = start_server().request("tools/list")
    assert answer["error"]["code"] == -32602


def test_the_other_era_is_refused_on_an_open_connection(start_server: StartServer) -> None:
    handshake = start_server().open("handshake")
    assert handshake.request("tools/list", {"_meta": MODERN_META})["error"]["code"] == -32600
    modern = start_server().open("modern")
    modern.request("tools/list")
    assert modern.request("initialize", INITIALIZE)["error"]["code"] == -32022


def test_a_second_request_with_a_running_id_is_refused(start_server: StartServer) -> None:
    server = start_server().open("handshake")
    for _ in range(2):
        server.send(
            {
                "jsonrpc": "2.0",
                "id": "twin",
                "method": "tools/call",
                "params": {"name": "wait", "arguments": {}},
            }
        )
    answer = server.receive()
    assert answer["error"]["message"].startswith("Invalid Request: a request with this id is still running")
    server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "twin"}})
    server.send(json.dumps({"jsonrpc": "2.0", "id": "twin", "method": "ping"}).encode() + b"\n")
    assert server.receive()["result"] == {}


@pytest.mark.parametrize("meta", [[], "text", 5, None], ids=repr)
def test_a_meta_that_is_no_object_is_refused_and_breaks_nothing(server: WireClient, meta: object) -> None:
    server.send({"jsonrpc": "2.0", "id": 32, "method": "tools/list", "params": {"_meta": meta}})
    assert server.receive()["id"] == 32
    assert server.request("ping")["result"] == {}


def test_what_comes_before_the_first_request_is_not_lost(start_server: StartServer) -> None:
    client = start_server()
    client.send(b'{"jsonrpc":"2.0","method":"notifications/unheard_of"}\n' * 20)
    client.open("handshake")
    assert client.call("echo", {"text": "heard"})["result"]["structuredContent"] == {"text": "heard"}
