"""What a sandboxed child says to its supervisor: the events, and the pipe that carries them.

An event is one line of JSON behind a secret of that child. The secret is no protection against code that can
read memory; such code is refused before it runs. It makes sure that bytes written by accident, or blindly by
number, are noticed and never read as an event. What is read has a known name and the fields of that name,
each of its type; anything else is tampering.
"""

from __future__ import annotations

import json
import os
import types
import typing
from dataclasses import asdict, dataclass, field, is_dataclass
from functools import cache
from typing import Any

from .arguments import Written

_LINE_LIMIT = 1 << 20
_TOTAL_LIMIT = 16 << 20


@dataclass(frozen=True)
class ShownOutcome:
    """What one call returned or raised, in words. `error` and `type` are names of classes."""

    text: str
    error: str | None = None
    line: int = 0
    stack: list[str] = field(default_factory=list)
    type: str | None = None


@dataclass(frozen=True)
class ShownCall:
    """One input, run in plain Python, and what is true of the call."""

    input: Written
    verdict: str
    label: str
    violation: str = ""
    outcomes: list[ShownOutcome] = field(default_factory=list)
    mutated: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Isolated:
    """The layers this child stands under."""

    layers: list[str]


@dataclass(frozen=True)
class Refused:
    kind: str
    message: str
    hint: str | None
    details: dict[str, Any]


@dataclass(frozen=True)
class MemoryExhausted:
    pass


@dataclass(frozen=True)
class Facts:
    """What is known of the subject once it is loaded. `sides` are those of all branches."""

    notes: list[str]
    doubts: list[str]
    sides: int
    contract: str
    has_int: bool
    may_alias: bool


@dataclass(frozen=True)
class Witness:
    """The input of one explored path, and what the explorer claims of it."""

    input: Written
    verdict: str
    label: str
    results: list[str]


@dataclass(frozen=True)
class Restarted:
    """The exploration begins anew; earlier witnesses are void."""


@dataclass(frozen=True)
class Explored:
    exhausted: bool = False
    confirmed: bool = False
    paths: int = 0
    doubts: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Candidate:
    """An input that an engine takes for a failure."""

    input: Written
    label: str
    engine: str


@dataclass(frozen=True)
class Covers:
    """An input that takes sides of branches no earlier one took."""

    input: Written
    taken: list[tuple[int, bool]]


@dataclass(frozen=True)
class TooSlow:
    input: Written


@dataclass(frozen=True)
class Searched:
    """How many inputs were tried so far, and what came of them."""

    inputs: int = 0
    passed: int = 0
    skipped: int = 0
    failed: int = 0
    slow: int = 0
    unclear: int = 0
    finished: bool = False
    enumerated: bool = False


@dataclass(frozen=True)
class Shrunk:
    call: ShownCall


@dataclass(frozen=True)
class Replayed:
    call: ShownCall
    taken: list[tuple[int, bool]]


@dataclass(frozen=True)
class Measured:
    """Lines and branch sides that were run, and the path of the first input in words."""

    lines: list[int] = field(default_factory=list)
    possible_lines: list[int] = field(default_factory=list)
    sides: list[tuple[int, bool]] = field(default_factory=list)
    possible_sides: int = 0
    condition: str = ""


@dataclass(frozen=True)
class Operations:
    """What a proof's inputs did: operation, kinds of its operands, line; and what else is against it."""

    notes: list[tuple[str, list[str], int]]
    items: list[str]
    doubts: list[str]


@dataclass(frozen=True)
class Finished:
    pass


@dataclass(frozen=True)
class Ended:
    """One side of a comparison, run alone, came to an end."""

    outcome: ShownOutcome
    is_limit: bool


@dataclass(frozen=True)
class Endless:
    pass


@dataclass(frozen=True)
class Gone:
    """The child's process is over. The supervisor's own event: no child can send it."""

    status: int


Event = (
    Isolated
    | Refused
    | MemoryExhausted
    | Facts
    | Witness
    | Restarted
    | Explored
    | Candidate
    | Covers
    | TooSlow
    | Searched
    | Shrunk
    | Replayed
    | Measured
    | Operations
    | Finished
    | Ended
    | Endless
)
_BY_NAME: dict[str, type] = {kind.__name__: kind for kind in typing.get_args(Event)}


class TamperedError(Exception):
    """Something other than the child's own events came through the pipe."""


class Writer:
    def __init__(self, descriptor: int, secret: str) -> None:
        self._descriptor = descriptor
        self._secret = secret

    def emit(self, event: Event) -> None:
        message = {"event": type(event).__name__, **asdict(event)}
        text = json.dumps(message, ensure_ascii=True, separators=(",", ":"))
        data = f"{self._secret}{text}\n".encode()
        while data:
            data = data[os.write(self._descriptor, data) :]


class Reader:
    def __init__(self, descriptor: int, secret: str) -> None:
        self.descriptor = descriptor
        self._secret = secret.encode()
        self._buffer = b""
        self._total = 0

    def read(self) -> list[Event] | None:
        """What has arrived; None at the end of the pipe."""
        data = os.read(self.descriptor, 1 << 16)
        if not data:
            return None
        self._total += len(data)
        self._buffer += data
        *lines, self._buffer = self._buffer.split(b"\n")
        if self._total > _TOTAL_LIMIT or len(self._buffer) > _LINE_LIMIT:
            raise TamperedError("more than any report holds")
        return [self._parse(line) for line in lines]

    def _parse(self, line: bytes) -> Event:
        if not line.startswith(self._secret):
            raise TamperedError("bytes that are no report")
        try:
            message = json.loads(line[len(self._secret) :])
        except ValueError as error:
            raise TamperedError("a broken report") from error
        name = message.pop("event", None) if isinstance(message, dict) else None
        if not isinstance(name, str) or name not in _BY_NAME:
            raise TamperedError("a report that is no event")
        event: Event = _read(_BY_NAME[name], message)
        return event


def _read(kind: Any, value: Any) -> Any:
    """The value as `kind`, where JSON has turned tuples into lists and dataclasses into objects."""
    if kind is Any:
        return value
    if isinstance(kind, type) and is_dataclass(kind):
        hints = _field_types(kind)
        if _require(dict, value).keys() != hints.keys():
            raise TamperedError("an event with other fields")
        return kind(**{name: _read(hints[name], item) for name, item in value.items()})
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType:
        return None if value is None else _read(arguments[0], value)
    if origin is dict:
        return {_require(str, key): _read(arguments[1], item) for key, item in _require(dict, value).items()}
    if origin is list or (origin is tuple and arguments[-1] is Ellipsis):
        return origin(_read(arguments[0], item) for item in _require(list, value))
    if origin is tuple:
        if len(_require(list, value)) != len(arguments):
            raise TamperedError("a field of another length")
        return tuple(map(_read, arguments, value))
    return _require(kind, value)


def _require(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise TamperedError("a field of another type")
    return value


@cache
def _field_types(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)
