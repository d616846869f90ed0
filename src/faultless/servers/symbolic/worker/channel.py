"""Events from a sandboxed child to its supervisor: JSON lines on a pipe, each behind a secret of that child.

The secret is no protection against code that can read memory; such code is refused before it runs. It makes
sure that bytes written by accident, or blindly by number, are noticed and never read as an event.
"""

from __future__ import annotations

import json
import os
from typing import Any

LINE_LIMIT = 1 << 20
TOTAL_LIMIT = 16 << 20


class TamperedError(Exception):
    """Something other than the child's own reports came through the pipe."""


class Writer:
    def __init__(self, descriptor: int, secret: str) -> None:
        self._descriptor = descriptor
        self._secret = secret

    def emit(self, event: dict[str, Any]) -> None:
        text = json.dumps(event, ensure_ascii=True, separators=(",", ":"))
        data = f"{self._secret}{text}\n".encode()
        while data:
            written = os.write(self._descriptor, data)
            data = data[written:]


class Reader:
    def __init__(self, descriptor: int, secret: str) -> None:
        self.descriptor = descriptor
        self._secret = secret.encode()
        self._buffer = b""
        self._total = 0

    def read(self) -> list[dict[str, Any]] | None:
        """What has arrived; nothing at the end of the pipe is told by None."""
        data = os.read(self.descriptor, 1 << 16)
        if not data:
            return None
        self._total += len(data)
        self._buffer += data
        *lines, self._buffer = self._buffer.split(b"\n")
        if self._total > TOTAL_LIMIT or len(self._buffer) > LINE_LIMIT:
            raise TamperedError("more than any report holds")
        return [self._parse(line) for line in lines]

    def _parse(self, line: bytes) -> dict[str, Any]:
        if not line.startswith(self._secret):
            raise TamperedError("bytes that are no report")
        try:
            event = json.loads(line[len(self._secret) :])
        except ValueError as error:
            raise TamperedError("a broken report") from error
        if not isinstance(event, dict) or not isinstance(event.get("event"), str):
            raise TamperedError("a report that is no event")
        return event
