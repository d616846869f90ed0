"""Bounded memory of an endless stream: its beginning, its end, and how much is missing between."""

from __future__ import annotations

from dataclasses import dataclass

_CHARACTER_AT_MOST = 4  # bytes of one UTF-8 character
_TOP_BITS = 0b1100_0000
_FIRST_OF_SEVERAL = 0b1100_0000
_CONTINUATION = 0b1000_0000
_LENGTHS = ((0b1111_0000, 4), (0b1110_0000, 3), (0b1100_0000, 2))


@dataclass(frozen=True)
class Captured:
    text: str
    """Invalid UTF-8 replaced; a marker line stands where bytes were dropped."""
    dropped_bytes: int
    data: bytes = b""
    """What was kept, as it came."""
    cut: int | None = None
    """Where the marker begins in the text."""

    @property
    def parts(self) -> tuple[str, str, str]:
        """Before the cut, the marker, and after it; all of it is before if nothing was cut."""
        if self.cut is None:
            return self.text, "", ""
        after = self.cut + len(_marker(self.dropped_bytes))
        return self.text[: self.cut], self.text[self.cut : after], self.text[after:]


class Capture:
    def __init__(self, limit: int) -> None:
        self._head_limit = limit - limit // 2
        self._tail_limit = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._seen = 0

    def feed(self, data: bytes) -> None:
        self._seen += len(data)
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        if len(self._tail) > 2 * self._tail_limit:  # not at every read: moving the bytes costs
            self._trim()

    def _trim(self) -> None:
        del self._tail[: max(0, len(self._tail) - self._tail_limit)]

    def result(self) -> Captured:
        self._trim()
        if len(self._head) + len(self._tail) == self._seen:
            whole = bytes(self._head + self._tail)
            return Captured(whole.decode(errors="replace"), 0, whole)
        head = self._head[: _end_of_whole_characters(self._head)]
        tail = self._tail[_start_of_whole_characters(self._tail) :]
        dropped = self._seen - len(head) - len(tail)
        before = head.decode(errors="replace")
        text = before + _marker(dropped) + tail.decode(errors="replace")
        return Captured(text, dropped, bytes(head + tail), len(before))


def _marker(dropped_bytes: int) -> str:
    return f"\n[{dropped_bytes} bytes dropped]\n"


def _end_of_whole_characters(data: bytearray) -> int:
    """Where to cut so that no character is cut in two."""
    for back in range(1, min(_CHARACTER_AT_MOST, len(data) + 1)):
        byte = data[-back]
        if byte & _TOP_BITS == _FIRST_OF_SEVERAL:
            length = next(length for mark, length in _LENGTHS if byte >= mark)
            return len(data) - back if length > back else len(data)
        if byte & _TOP_BITS != _CONTINUATION:
            break
    return len(data)


def _start_of_whole_characters(data: bytearray) -> int:
    for index, byte in enumerate(data[: _CHARACTER_AT_MOST - 1]):
        if byte & _TOP_BITS != _CONTINUATION:
            return index
    return min(_CHARACTER_AT_MOST - 1, len(data))
