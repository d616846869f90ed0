"""The raw-frame battery: what goes in, and exactly what comes out."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from faultless.kit.testing import ERAS, INITIALIZE, MODERN_META, Era, WireClient
from tests.wire.specimen import StartServer, specimen_command

PARSE_HINT = "send one JSON object per line, UTF-8, nested less than 200 deep"
LIMIT = 100_000


@dataclass(frozen=True)
class Case:
    sentence: str
    line: bytes
    code: int
    message: str
    id: int | str | None = None
    kind: str = "invalid_params"


def parse_error(sentence: str, line: bytes, reason: str, id: int | str | None = None) -> Case:
    return Case(sentence, line, -32700, f"Parse error: {reason}", id, "parse_error")


def invalid(sentence: str, line: bytes, reason: str, id: int | str | None = None) -> Case:
    return Case(sentence, line, -32600, f"Invalid Request: {reason}", id)


DEEP = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b'{"a":' * 5000 + b"1" + b"}" * 5001
DIGITS = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"n":' + b"9" * 5000 + b"}}"

REFUSED = [
    parse_error(
        "malformed JSON, id recovered",
        b'{"jsonrpc":"2.0","id":7,"method":}',
        "expected value at line 1 column 34",
        7,
    ),
    parse_error("malformed JSON without an id", b"{nonsense", "key must be a string at line 1 column 2"),
    parse_error(
        "a truncated message",
        b'{"jsonrpc":"2.0","id":"a","method":"pi',
        "EOF while parsing a string at line 1 column 38",
        "a",
    ),
    parse_error(
        "two ids in a broken line are no id",
        b'{"id":1,"id":2,',
        "EOF while parsing a value at line 1 column 15",
    ),
    parse_error("plain words", b"hello", "expected value at line 1 column 1"),
    parse_error(
        "two objects on one line", b'{"jsonrpc":"2.0"} {"x":1}', "trailing characters at line 1 column 19"
    ),
    parse_error(
        "invalid UTF-8 in a string",
        b'{"jsonrpc":"2.0","id":3,"method":"\xff"}',
        "invalid unicode code point at line 1 column 35",
        3,
    ),
    parse_error(
        "a lone surrogate escape",
        b'{"jsonrpc":"2.0","id":3,"method":"\\ud800"}',
        "unexpected end of hex escape at line 1 column 41",
        3,
    ),
    parse_error("nesting 5000 deep", DEEP, "recursion limit exceeded at line 1 column 1050", 1),
    parse_error("an integer of 5000 digits", DIGITS, "number out of range at line 1 column 4356", 1),
    parse_error(
        "NaN",
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"n":NaN}}',
        "expected value at line 1 column 55",
        1,
    ),
    parse_error(
        "Infinity",
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"n":Infinity}}',
        "expected value at line 1 column 55",
        1,
    ),
    parse_error(
        "a trailing comma",
        b'{"jsonrpc":"2.0","id":1,"method":"ping",}',
        "trailing comma at line 1 column 41",
        1,
    ),
    parse_error(
        "a control character in a string",
        b'{"jsonrpc":"2.0","id":1,"method":"a\x01"}',
        "control character (\\u0000-\\u001F) found while parsing a string at line 1 column 36",
        1,
    ),
    parse_error("a NUL byte", b"\x00", "expected value at line 1 column 1"),
    invalid(
        "a batch", b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', "batches are not part of this protocol"
    ),
    invalid("an empty batch", b"[]", "batches are not part of this protocol"),
    invalid("a number", b"42", "a message is a JSON object"),
    invalid("a string", b'"ping"', "a message is a JSON object"),
    invalid("null", b"null", "a message is a JSON object"),
    invalid("an empty object", b"{}", 'jsonrpc must be "2.0"'),
    invalid("no version", b'{"id":1,"method":"ping"}', 'jsonrpc must be "2.0"', 1),
    invalid("the version of 2005", b'{"jsonrpc":"1.0","id":1,"method":"ping"}', 'jsonrpc must be "2.0"', 1),
    invalid(
        "the version as a number", b'{"jsonrpc":2.0,"id":"x","method":"ping"}', 'jsonrpc must be "2.0"', "x"
    ),
    invalid("no method", b'{"jsonrpc":"2.0","id":1}', "method is missing", 1),
    invalid(
        "a method that is a number", b'{"jsonrpc":"2.0","id":1,"method":5}', "method must be a string", 1
    ),
    invalid("a method that is null", b'{"jsonrpc":"2.0","id":1,"method":null}', "method must be a string", 1),
    invalid("id null", b'{"jsonrpc":"2.0","id":null,"method":"ping"}', "id must be a string or an integer"),
    invalid("id 1.5", b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', "id must be a string or an integer"),
    invalid("id true", b'{"jsonrpc":"2.0","id":true,"method":"ping"}', "id must be a string or an integer"),
    invalid(
        "id an object", b'{"jsonrpc":"2.0","id":{},"method":"ping"}', "id must be a string or an integer"
    ),
    invalid(
        "params as an array",
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}',
        "params must be an object",
        1,
    ),
    invalid(
        "params as a string",
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}',
        "params must be an object",
        1,
    ),
    invalid(
        "a request that is also a response",
        b'{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}',
        "a message is a request or a response, not both",
        1,
    ),
    invalid(
        "a response with neither result nor error",
        b'{"jsonrpc":"2.0","id":1,"data":5}',
        "method is missing",
        1,
    ),
    invalid(
        "a notification with params as an array",
        b'{"jsonrpc":"2.0","method":"notifications/x","params":[]}',
        "params must be an object",
    ),
    Case(
        "a message over the limit",
        b'{"jsonrpc":"2.0","id":9,"method":"ping","params":{"x":"' + b"y" * LIMIT + b'"}}',
        -32600,
        "Invalid Request: the message has 100058 bytes, the limit is 100000",
        9,
        "too_large",
    ),
]


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
    hint = answer["error"]["data"].pop("hint")
    assert answer == {
        "jsonrpc": "2.0",
        "id": case.id,
        "error": {"code": case.code, "message": case.message, "data": {"kind": case.kind}},
    }
    assert hint
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


REQUESTS: dict[str, tuple[str, dict[str, Any], int, str]] = {
    "unknown method": ("tools/burn", {}, -32601, "Method not found"),
    "tools/call without a name": ("tools/call", {}, -32602, "Invalid params: name: is required"),
    "tools/call with arguments as an array": (
        "tools/call",
        {"name": "echo", "arguments": []},
        -32602,
        "Invalid params: arguments: value must be an object (received [])",
    ),
    "tools/call with a number for a name": (
        "tools/call",
        {"name": 5},
        -32602,
        "Invalid params: name: value must be a string (received 5)",
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


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(("method", "params", "code", "message"), REQUESTS.values(), ids=REQUESTS)
def test_a_well_formed_but_wrong_request_gets_its_exact_answer(
    start_server: StartServer, era: Era, method: str, params: dict[str, Any], code: int, message: str
) -> None:
    answer = start_server().open(era).request(method, params)
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
    assert answer["error"]["message"] == "Invalid Request: a request with this id is still running"
    server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "twin"}})
    server.send(json.dumps({"jsonrpc": "2.0", "id": "twin", "method": "ping"}).encode() + b"\n")
    assert server.receive()["result"] == {}
