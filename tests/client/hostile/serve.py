"""The hostile server itself: `era=handshake|modern|both [start=BEHAVIOUR]`.

Plain standard library, so that it starts at once.
"""

import json
import os
import signal
import sys
from typing import Any

from tests.client.hostile import behaviour, floods, frames, shapes
from tests.client.hostile.wire import (
    ANNOTATIONS,
    OUTPUTS,
    SCHEMAS,
    STATE,
    TOOLS,
    error,
    raw,
    result,
    send,
)

MODERN = "2026-07-28"
HANDSHAKE = "2025-11-25"
LOADED = (behaviour, floods, frames, shapes)
"""Their tools are added as they load."""


ODD: dict[str, dict[str, Any]] = {
    "refuses": {
        "initialize": {
            "error": {"code": -32000, "message": "licence expired", "data": {"kind": "nothing known"}}
        }
    },
    "null": {key: {"result": None} for key in ("server/discover", "initialize")},
    "text": {key: {"result": "welcome"} for key in ("server/discover", "initialize")},
    "huge": {key: {"result": {"x": "x" * frames.LARGE}} for key in ("server/discover", "initialize")},
    "lists_no_tools": {"tools/list": {"error": {"code": -32601, "message": "Method not found"}}},
    "listing_fails": {"tools/list": {"error": {"code": -32603, "message": "the database is down"}}},
    "lists_text": {"tools/list": {"result": {"tools": "x"}}},
    "odd_cursor": {"tools/list": {"result": {"tools": [], "nextCursor": 5}}},
    "lists_null": {f"{key}/list": {"result": {key: None}} for key in ("tools", "resources", "prompts")},
    "lists_nothing": {f"{key}/list": {"result": {}} for key in ("tools", "resources", "prompts")},
}
"""By the way a server starts: what it answers to a method."""


def list_tools(start: str, cursor: str | None) -> dict[str, Any]:
    tools: list[Any] = [
        {"name": name, "inputSchema": SCHEMAS[name], "annotations": ANNOTATIONS[name]}
        | ({"outputSchema": OUTPUTS[name]} if name in OUTPUTS else {})
        for name in TOOLS
    ]
    if STATE["drifted"]:
        for tool in tools:
            if tool["name"] in {"drifting", "drifts_unannounced"}:
                tool["inputSchema"] = {"type": "object", "properties": {"new": {"type": "string"}}}
    if start == "malformed_tools":
        tools = [None, 5, {"name": 3}, {"name": "no_schema"}, {"name": "bad", "inputSchema": "x"}, *tools]
    listing: dict[str, Any] = {"tools": tools, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    if start == "endless_pages":
        listing["nextCursor"] = f"page {int((cursor or 'page 0').split()[1]) + 1}"
    return listing


def serve(message: dict[str, Any], era: str, start: str) -> None:
    method, request_id, params = message.get("method"), message.get("id"), message.get("params") or {}
    if request_id is None or method is None:
        return
    if method in ODD.get(start, {}):
        send({"jsonrpc": "2.0", "id": request_id, **ODD[start][method]})
    elif method == "server/discover" and era != "handshake":
        result(
            request_id,
            supportedVersions=[MODERN],
            capabilities={"tools": {"listChanged": True}},
            ttlMs=0,
            cacheScope="private",
        )
    elif method == "initialize" and era != "modern":
        version = "1999-01-01" if start == "old_version" else HANDSHAKE
        send(
            {
                "jsonrpc": "2.0",
                "id": request_id,
                "result": {
                    "protocolVersion": version,
                    "capabilities": {"tools": {"listChanged": True}},
                    "serverInfo": {"name": "hostile", "version": "1"},
                },
            }
        )
    elif method == "ping" and era != "modern":
        send({"jsonrpc": "2.0", "id": request_id, "result": {}})
    elif method == "tools/list":
        result(request_id, **list_tools(start, params.get("cursor")))
    elif method == "tools/call" and params.get("name") in TOOLS:
        STATE["params"] = params
        TOOLS[params["name"]](request_id, params.get("arguments") or {})
    elif method == "tools/call":
        error(request_id, -32602, f"Unknown tool: {params.get('name')}")
    else:
        error(request_id, -32601, "Method not found")


def main() -> None:
    options = dict(argument.split("=", 1) for argument in sys.argv[1:])
    era, start = options.get("era", "both"), options.get("start", "")
    if start == "dies":
        os.write(2, b"ImportError: no module named config\n")
        os._exit(1)
    if start == "banner":
        raw(b"   _____  Welcome\n  Loading...\n")
    if start == "noisy":
        floods.forever(b"starting...\n" * 1000)
    if start == "silence":
        while True:
            signal.pause()
    for line in sys.stdin.buffer:
        serve(json.loads(line), era, start)
