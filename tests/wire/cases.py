"""Frames that no server should choke on, and the exact answer to each."""

from dataclasses import dataclass

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
