"""What a peer may cost: turns in the event loop, bytes of a frame, values in it."""

from __future__ import annotations

import time

import anyio
import anyio.lowlevel

from faultless.contract import Fault, FaultKind

MAX_FRAME_BYTES = 32 * 1024 * 1024
_MAX_VALUES = 500_000
"""In one frame. Parsing cannot be interrupted, and a value costs a hundred times what a byte of text does."""
_TURN_SECONDS = 0.02
"""How long frames may be read without a wait before everybody else in the event loop has a turn."""


class Turn:
    """A share of the event loop: a peer that always has more to say must not keep it from all others."""

    def __init__(self) -> None:
        self._ends = 0.0

    def begin(self) -> None:
        self._ends = time.monotonic() + _TURN_SECONDS

    async def share(self) -> None:
        """Let others run, if this turn has taken long enough."""
        if time.monotonic() >= self._ends:
            await anyio.lowlevel.checkpoint()
            self.begin()


class ValueCounter:
    """Counts the values of a JSON text from its commas and quotes, piece by piece, without parsing it."""

    def __init__(self) -> None:
        self._commas = 0
        self._quotes = 0
        self._held = b""
        """A backslash whose character is in the next piece."""

    def feed(self, piece: bytes) -> None:
        text = (self._held + piece).replace(b"\\\\", b"")
        self._held = b"\\" if text.endswith(b"\\") else b""
        parts = text.removesuffix(b"\\").replace(b'\\"', b"").split(b'"')
        outside = parts[self._quotes % 2 :: 2]  # after an odd number of quotes it begins inside a string
        self._commas += sum(part.count(b",") for part in outside)
        self._quotes += len(parts) - 1

    @property
    def values(self) -> int:
        return self._commas + self._quotes // 2

    @property
    def is_over(self) -> bool:
        return self.values > _MAX_VALUES


def explain_size(size: int, counted: str = "bytes") -> Fault:
    limit = ", or raise max_frame_bytes" if counted == "bytes" else ""
    return Fault(
        FaultKind.TOO_LARGE,
        f"the server sent a frame of {size} {counted}, more than this client accepts",
        hint=f"ask the tool for less{limit}",
        details={f"frame_{counted}": size},
        layer="protocol",
    )
