"""Frames that are none, or not the right ones."""

from typing import Any

from tests.client.hostile.wire import READ_ONLY, error, raw, result, send, text, tool

LARGE = 3_000_000
"""Over the frame limit that the tests set."""


@tool()
def error_as_text(request_id: int, _: dict[str, Any]) -> None:
    send({"jsonrpc": "2.0", "id": request_id, "error": "permission denied"})


@tool()
def error_with_text_code(request_id: int, _: dict[str, Any]) -> None:
    error(request_id, "ENOENT", "open failed")


@tool()
def result_as_text(request_id: int, _: dict[str, Any]) -> None:
    send({"jsonrpc": "2.0", "id": request_id, "result": "done"})


@tool()
def result_as_list(request_id: int, _: dict[str, Any]) -> None:
    send({"jsonrpc": "2.0", "id": request_id, "result": [1, 2]})


@tool()
def result_null(request_id: int, _: dict[str, Any]) -> None:
    send({"jsonrpc": "2.0", "id": request_id, "result": None})


@tool()
def error_null(request_id: int, _: dict[str, Any]) -> None:
    send({"jsonrpc": "2.0", "id": request_id, "error": None})


@tool()
def task_begun(request_id: int, _: dict[str, Any]) -> None:
    result(request_id, task={"taskId": "t", "status": "working"})


ERROR = b'{"jsonrpc":"2.0","id":%d,"error":{"code":-32602,"message":%s,"data":%s}}\n'


@tool()
def deep_error(request_id: int, _: dict[str, Any]) -> None:
    raw(ERROR % (request_id, b'"not executed"', b"[" * 3000 + b"]" * 3000))


@tool()
def long_integer_in_an_error(request_id: int, _: dict[str, Any]) -> None:
    raw(ERROR % (request_id, b'"not executed"', b"9" * 5000))


@tool()
def broken_error(request_id: int, _: dict[str, Any]) -> None:
    raw(ERROR % (request_id, b'"an unescaped "quote" in it"', b"0"))


@tool()
def flag_as_text(request_id: int, _: dict[str, Any]) -> None:
    text(request_id, "it failed", isError="true")


@tool()
def flag_as_word(request_id: int, _: dict[str, Any]) -> None:
    text(request_id, "it failed", isError="yes")


@tool()
def flag_as_number(request_id: int, _: dict[str, Any]) -> None:
    text(request_id, "it failed", isError=1.0)


@tool()
def flag_of_other_name(request_id: int, _: dict[str, Any]) -> None:
    text(request_id, "it failed", is_error=True)


@tool()
def flag_as_no(request_id: int, _: dict[str, Any]) -> None:
    text(request_id, "fine", isError="false")


@tool()
def content_of_wrong_type(request_id: int, _: dict[str, Any]) -> None:
    result(request_id, content=[{"type": "text", "text": 5}])


@tool(READ_ONLY)
def wrong_id(request_id: int, _: dict[str, Any]) -> None:
    text(987654, "not yours")


@tool(READ_ONLY)
def null_id(request_id: int, _: dict[str, Any]) -> None:
    error(None, -32700, "Parse error")


@tool()
def text_id(request_id: int, _: dict[str, Any]) -> None:
    send(
        {
            "jsonrpc": "2.0",
            "id": str(request_id),
            "result": {"resultType": "complete", "content": [{"type": "text", "text": "fine"}]},
        }
    )


@tool()
def twice(request_id: int, _: dict[str, Any]) -> None:
    text(request_id, "first")
    text(request_id, "second")


@tool()
def batch(request_id: int, _: dict[str, Any]) -> None:
    answer = {
        "jsonrpc": "2.0",
        "id": request_id,
        "result": {"resultType": "complete", "content": [{"type": "text", "text": "one of two"}]},
    }
    send([{"jsonrpc": "2.0", "method": "notifications/message", "params": {}}, answer])


@tool()
def noise(request_id: int, _: dict[str, Any]) -> None:
    raw(b'Server listening on port 8080...\n\n   \n{broken\n[1,\n\x00\xff\xfe\n42\nnull\n"text"\n{}\n')
    text(request_id, "after the noise")


@tool()
def long_noise(request_id: int, _: dict[str, Any]) -> None:
    for _line in range(40):
        raw(b"x" * 50_000 + b"\n")
    text(request_id, "after a lot of noise")


@tool()
def broken_utf8(request_id: int, _: dict[str, Any]) -> None:
    raw(
        b'{"jsonrpc":"2.0","id":%d,"result":{"resultType":"complete","content":[{"type":"text","text":"caf\xe9"}]}}\n'
        % request_id
    )


@tool()
def lone_surrogate(request_id: int, _: dict[str, Any]) -> None:
    text(request_id, "caf\udce9", structuredContent={"word": "caf\udce9"})


@tool()
def not_a_number(request_id: int, _: dict[str, Any]) -> None:
    text(request_id, "see there", structuredContent={"ratio": float("nan")})


@tool()
def deep(request_id: int, _: dict[str, Any]) -> None:
    nest = '{"a":' * 5000 + "1" + "}" * 5000
    raw(
        b'{"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":%s}}\n'
        % (request_id, nest.encode())
    )


@tool()
def too_large(request_id: int, _: dict[str, Any]) -> None:
    text(request_id, "x" * LARGE)


@tool()
def too_large_id_last(request_id: int, _: dict[str, Any]) -> None:
    body = b'{"result":{"content":[{"type":"text","text":"%s"}]},"jsonrpc":"2.0","id":%d}\n'
    raw(body % (b"x" * LARGE, request_id))


@tool()
def too_large_no_id(request_id: int, _: dict[str, Any]) -> None:
    raw(b"x" * LARGE + b"\n")
