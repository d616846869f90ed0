"""What a hostile server says with: frames, answers, and the list of its tools."""

import json
import sys
from collections.abc import Callable
from typing import Any

READ_ONLY = {"readOnlyHint": True}
IDEMPOTENT = {"idempotentHint": True}

Tool = Callable[[int, dict[str, Any]], None]
TOOLS: dict[str, Tool] = {}
ANNOTATIONS: dict[str, dict[str, bool]] = {}
SCHEMAS: dict[str, dict[str, Any]] = {}
OUTPUTS: dict[str, dict[str, Any]] = {}
STATE: dict[str, Any] = {"drifted": False, "params": {}}


def raw(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def send(message: object) -> None:
    raw(json.dumps(message).encode() + b"\n")


def result(request_id: int | None, **fields: object) -> None:
    send({"jsonrpc": "2.0", "id": request_id, "result": {"resultType": "complete", **fields}})


def text(request_id: int | None, said: str, **fields: object) -> None:
    result(request_id, content=[{"type": "text", "text": said}], **fields)


def payload(request_id: int | None, **fields: object) -> None:
    text(request_id, json.dumps(fields))


def error(request_id: int | None, code: object, message: str, **more: object) -> None:
    send({"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message, **more}})


def tool(annotations: dict[str, bool] | None = None, **schemas: dict[str, Any]) -> Callable[[Tool], Tool]:
    def add(function: Tool) -> Tool:
        name = function.__name__
        TOOLS[name] = function
        ANNOTATIONS[name] = annotations or {}
        SCHEMAS[name] = schemas.get("input", {"type": "object"})
        if "output" in schemas:
            OUTPUTS[name] = schemas["output"]
        return function

    return add


def alias(name: str, of: str, annotations: dict[str, bool]) -> None:
    TOOLS[name], ANNOTATIONS[name], SCHEMAS[name] = TOOLS[of], annotations, SCHEMAS[of]
