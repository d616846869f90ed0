"""A raw message as the tree of parts Gmail makes of it."""

from __future__ import annotations

import base64
import email
import email.policy
import hashlib
import json
from email.message import Message
from typing import Any

INLINE_BYTES = 200_000
"""A longer body is handed out like an attachment."""


def encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode()


def parse(raw: bytes) -> Message:
    return email.message_from_bytes(raw, policy=email.policy.compat32)


def unpack_upload(content_type: str, body: bytes) -> dict[str, Any]:
    """The description with the message in it, as if it had come as JSON; no line of the message may change."""
    boundary = b"--" + content_type.partition("boundary=")[2].encode()
    _, described, uploaded, _ = body.split(boundary)
    given: dict[str, Any] = json.loads(described.partition(b"\r\n\r\n")[2])
    given.setdefault("message", {})["raw"] = encode(uploaded.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n"))
    return given


def list_headers(message: Message) -> list[dict[str, str]]:
    return [{"name": name, "value": _text(value)} for name, value in message.items()]


def _text(value: object) -> str:
    """Eight-bit headers come out as Latin-1 or UTF-8, never as bytes."""
    data = str(value).encode("utf-8", "surrogateescape")
    return data.decode("utf-8", "replace")


def build(message: Message, blobs: dict[str, bytes], part_id: str = "") -> dict[str, Any]:
    """The payload; what is kept apart goes into `blobs` by its attachment id."""
    part: dict[str, Any] = {
        "partId": part_id,
        "mimeType": message.get_content_type(),
        "filename": message.get_filename() or "",
        "headers": list_headers(message),
    }
    payload = message.get_payload()
    if isinstance(payload, list):
        part["body"] = {"size": 0}
        start = 0
        part["parts"] = [
            build(child, blobs, f"{part_id}.{index}" if part_id else str(index))
            for index, child in enumerate(payload, start)
        ]
        return part
    data = message.get_payload(decode=True)
    content = data if isinstance(data, bytes) else b""
    is_kept = (
        bool(part["filename"])
        or len(content) > INLINE_BYTES
        or message.get_content_maintype() not in {"text", "message"}
    )
    part["body"] = (
        _keep(content, blobs) if is_kept and content else {"size": len(content), "data": encode(content)}
    )
    return part


def _keep(content: bytes, blobs: dict[str, bytes]) -> dict[str, Any]:
    name = "ANGj" + hashlib.sha256(content).hexdigest()
    blobs[name] = content
    return {"size": len(content), "attachmentId": name}
