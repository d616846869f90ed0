"""A server that never stops talking, or that says one thing without end."""

import os
import signal
from typing import Any

from tests.client.hostile.wire import READ_ONLY, raw, text, tool

NOTICE = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}\n'
PROGRESS = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":1}}\n'
HUGE = 100_000_000
CHUNK = 1_000_000


def forever(data: bytes) -> None:
    while True:
        raw(data)


@tool(READ_ONLY)
def endless_noise(_: int, __: dict[str, Any]) -> None:
    forever(b"still working...\n" * 1000)


@tool(READ_ONLY)
def endless_empty_lines(_: int, __: dict[str, Any]) -> None:
    forever(b"\n" * 65536)


@tool(READ_ONLY)
def endless_broken_frames(_: int, __: dict[str, Any]) -> None:
    forever(b'{"jsonrpc":\n' * 1000)


@tool(READ_ONLY)
def endless_notifications(_: int, __: dict[str, Any]) -> None:
    forever(NOTICE * 1000)


@tool(READ_ONLY)
def endless_progress(request_id: int, _: dict[str, Any]) -> None:
    forever(PROGRESS % request_id * 1000)


@tool(READ_ONLY)
def endless_questions(_: int, __: dict[str, Any]) -> None:
    number = 0
    while True:
        number += 1
        raw(b'{"jsonrpc":"2.0","id":"q%d","method":"roots/list"}\n' % number)


@tool(READ_ONLY)
def endless_pings(_: int, __: dict[str, Any]) -> None:
    """And it reads none of the answers."""
    forever(b"".join(b'{"jsonrpc":"2.0","id":%d,"method":"ping"}\n' % number for number in range(1000)))


@tool(READ_ONLY)
def endless_answers(_: int, __: dict[str, Any]) -> None:
    """To requests that nobody made."""
    forever(b'{"jsonrpc":"2.0","id":987654,"result":{}}\n' * 1000)


@tool(READ_ONLY)
def endless_log(_: int, __: dict[str, Any]) -> None:
    while True:
        os.write(2, b"E" * 65535 + b"\n")


@tool(READ_ONLY)
def endless_frame(request_id: int, _: dict[str, Any]) -> None:
    raw(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % request_id)
    forever(b"x" * CHUNK)


@tool(READ_ONLY)
def half_a_frame_and_silence(request_id: int, _: dict[str, Any]) -> None:
    raw(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[' % request_id)
    while True:
        signal.pause()


@tool(READ_ONLY)
def much_noise(request_id: int, _: dict[str, Any]) -> None:
    for _line in range(200):
        raw(b"still working...\n" * 1000)
    text(request_id, "after 200,000 lines")


@tool(READ_ONLY)
def many_notifications(request_id: int, _: dict[str, Any]) -> None:
    for _line in range(100):
        raw(NOTICE * 1000)
    text(request_id, "after 100,000 notifications")


@tool(READ_ONLY)
def much_progress(request_id: int, _: dict[str, Any]) -> None:
    for _line in range(20):
        raw(PROGRESS % request_id * 100)
    text(request_id, "after 2,000 steps")


@tool(READ_ONLY)
def huge_frame(request_id: int, _: dict[str, Any]) -> None:
    raw(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % request_id)
    for _chunk in range(HUGE // CHUNK):
        raw(b"x" * CHUNK)
    raw(b'"}]}}\n')


@tool(READ_ONLY)
def many_values(request_id: int, _: dict[str, Any]) -> None:
    """Under any limit of bytes, and seconds to parse."""
    raw(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":{"a":[' % request_id)
    for _chunk in range(10):
        raw(b"[]," * CHUNK)
    raw(b"[]]}}}\n")


@tool(READ_ONLY)
def many_values_in_text(request_id: int, _: dict[str, Any]) -> None:
    raw(
        b'{"jsonrpc":"2.0","id":%d,"result":{"resultType":"complete","content":[{"type":"text","text":"['
        % request_id
    )
    for _chunk in range(10):
        raw(b"[]," * CHUNK)
    raw(b'[]]"}]}}\n')
