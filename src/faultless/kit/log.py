"""One event is one line on stderr: a JSON object, or words and colour when a person is watching.

Three layers: pure functions are silent, operations log what failed, the boundary logs the request's context.
Argument values are never logged above DEBUG. Logging never raises, and never blocks a server whose stderr
nobody reads: lines are dropped then, and counted.
"""

from __future__ import annotations

import json
import os
import select
import stat
import sys
import threading
import traceback
from datetime import UTC, datetime
from enum import IntEnum
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from logging import LogRecord

    from faultless.contract import Json

STDERR = 2
_ATOMIC_BYTES = select.PIPE_BUF
_DEEPEST = 8
_LARGEST_INTEGER_BITS = 4096
_LONGEST_BODY = 2000
"""Of what somebody else says."""
# A reader this slow is taken for one that never reads, until it does.
_PATIENCE_SECONDS = 0.1


class Level(IntEnum):
    """OpenTelemetry severity numbers."""

    TRACE = 1
    DEBUG = 5
    INFO = 9
    WARN = 13
    ERROR = 17
    FATAL = 21


# The numbers of the standard library, which has none below DEBUG.
_STDLIB_LEVELS = (
    (1, Level.TRACE),
    (10, Level.DEBUG),
    (20, Level.INFO),
    (30, Level.WARN),
    (40, Level.ERROR),
    (50, Level.FATAL),
)
_COLOURS = {
    Level.TRACE: "2",
    Level.DEBUG: "36",
    Level.INFO: "32",
    Level.WARN: "33",
    Level.ERROR: "31",
    Level.FATAL: "1;31",
}


class _Stderr:
    """Whole lines to file descriptor 2, from any thread."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.dropped = 0
        self._torn = False
        # None when the descriptor was closed at start; by now it may be anybody's file.
        self._is_open = sys.__stderr__ is not None
        self._is_pipe = self._is_open and _is_pipe(STDERR)

    def write(self, line: bytes) -> None:
        if not self._is_open:
            return
        with self.lock:
            rest = memoryview(b"\n" + line if self._torn else line)
            start = len(rest)
            while rest and self._can_take_more():
                rest = rest[self._write_some(rest) :]
            self._torn = 0 < len(rest) < start or (self._torn and bool(rest))
            self.dropped = self.dropped + 1 if rest else 0

    def _can_take_more(self) -> bool:
        """A ready pipe takes PIPE_BUF bytes without blocking; anything else is trusted to take a line."""
        if not self._is_pipe:
            return True
        try:
            return bool(select.select([], [STDERR], [], 0 if self.dropped else _PATIENCE_SECONDS)[1])
        except (OSError, ValueError):
            return True  # closed since: the write finds out

    def _write_some(self, data: memoryview) -> int:
        try:
            return os.write(STDERR, data[:_ATOMIC_BYTES] if self._is_pipe else data)
        except OSError:
            return len(data)  # nobody can be told


class _Settings:
    """What `configure` decided, and the stream it decided for."""

    def __init__(self, level: Level) -> None:
        self.level = level
        self.for_person = sys.__stderr__ is not None and os.isatty(STDERR)
        self.coloured = (
            self.for_person and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        )
        self.stream = _Stderr()


_settings: _Settings | None = None


def trace(body: str, /, **attributes: object) -> None:
    emit(Level.TRACE, body, attributes)


def debug(body: str, /, **attributes: object) -> None:
    emit(Level.DEBUG, body, attributes)


def info(body: str, /, **attributes: object) -> None:
    emit(Level.INFO, body, attributes)


def warn(body: str, /, **attributes: object) -> None:
    emit(Level.WARN, body, attributes)


def error(body: str, /, **attributes: object) -> None:
    emit(Level.ERROR, body, attributes)


def fatal(body: str, /, **attributes: object) -> None:
    emit(Level.FATAL, body, attributes)


def emit(level: Level, body: str, attributes: Mapping[str, object]) -> None:
    settings = _current()
    if level < settings.level:
        return
    line = _format(settings, level, body, attributes)
    dropped = settings.stream.dropped
    if dropped:
        notice = {"dropped_lines": dropped}
        line = _format(settings, Level.WARN, "stderr was not read, log lines are lost", notice) + line
    settings.stream.write(line)


def configure(level: Level | None = None) -> None:
    """Read the environment, and take over what is said through `logging` and `warnings`."""
    global _settings  # noqa: PLW0603 - one process has one stderr
    named, complaint = (level, None) if level is not None else _level_from(os.environ)
    _settings = _Settings(named)
    _take_over_logging(named)
    if complaint:
        warn(complaint, choices=[choice.name for choice in Level])


def _current() -> _Settings:
    if _settings is None:
        configure()
    return _settings or _Settings(Level.INFO)


def _level_from(environment: Mapping[str, str]) -> tuple[Level, str | None]:
    for variable in ("FAULTLESS_LOG_LEVEL", "OTEL_LOG_LEVEL"):
        name = environment.get(variable, "").strip()
        if name.upper() in Level.__members__:
            return Level[name.upper()], None
        if name:
            return Level.INFO, f"{variable} is {_bounded(name, 40)!r}, which is no log level; using INFO"
    return Level.INFO, None


def _format(settings: _Settings, level: Level, body: str, attributes: Mapping[str, object]) -> bytes:
    now = datetime.now(UTC)
    plain = {name: _plain(value) for name, value in attributes.items()}
    if settings.for_person:
        text = _for_person(now, level, _text(body), plain, coloured=settings.coloured)
    else:
        text = _for_machine(now, level, _text(body), plain)
    return text.encode("utf-8", "replace") + b"\n"


def _for_machine(now: datetime, level: Level, body: str, attributes: dict[str, Json]) -> str:
    record = {
        "timestamp": now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "severity_text": level.name,
        "severity_number": level.value,
        "body": body,
        "attributes": attributes,
    }
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def _for_person(
    now: datetime, level: Level, body: str, attributes: dict[str, Json], *, coloured: bool
) -> str:
    clock = now.astimezone().strftime("%H:%M:%S")
    name, dim, plain = (f"\x1b[{_COLOURS[level]}m", "\x1b[2m", "\x1b[0m") if coloured else ("", "", "")
    words = [f"{dim}{clock}{plain}", f"{name}{level.name:<5}{plain}", _visible(body)]
    words += [f"{dim}{key}={plain}{_visible(_text(value))}" for key, value in attributes.items()]
    return " ".join(words)


def _text(value: object) -> str:
    plain = _plain(value)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _visible(text: str) -> str:
    """No terminal commands from strangers; the lines of a traceback stay lines, indented."""
    safe = "".join(
        mark if mark.isprintable() or mark in "\n\t" else "\N{REPLACEMENT CHARACTER}" for mark in text
    )
    return safe.replace("\n", "\n    ")


def _plain(value: Any, depth: int = 0) -> Json:  # noqa: ANN401 - isinstance may run the value's own code
    """Something JSON can hold, made without running code of the value's own class."""
    kind = type(value)
    if value is None or value is True or value is False:
        return value
    if issubclass(kind, str):
        return str.__str__(value)
    if issubclass(kind, int):
        integer = int.__int__(value)
        bits = integer.bit_length()
        return integer if bits <= _LARGEST_INTEGER_BITS else f"an integer of {bits} bits"
    if issubclass(kind, float):
        return float.__float__(value) if float.__sub__(value, value) == 0 else float.__repr__(value)
    if issubclass(kind, PurePath):
        return PurePath.__str__(value)
    if issubclass(kind, BaseException):
        return "".join(traceback.format_exception_only(value)).strip()
    if issubclass(kind, (dict, list, tuple, set, frozenset)):
        return _plain_items(value, depth) if depth < _DEEPEST else "…"
    return bytes.__repr__(value) if issubclass(kind, bytes) else f"<{kind.__qualname__}>"


def _plain_items(value: Any, depth: int) -> Json:  # noqa: ANN401 - as above
    if issubclass(type(value), dict):
        return {_text(name): _plain(item, depth + 1) for name, item in list(dict.items(value))}
    walk = next(own.__iter__ for own in (list, tuple, set, frozenset) if issubclass(type(value), own))
    return [_plain(item, depth + 1) for item in list(walk(value))]


def _bounded(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit} more characters)"


def _is_pipe(descriptor: int) -> bool:
    try:
        return stat.S_ISFIFO(os.fstat(descriptor).st_mode)
    except OSError:
        return False


def _take_over_logging(lowest: Level) -> None:
    """Our own modules below this one say what they say at the level asked for, libraries from WARN up."""
    import logging  # noqa: PLC0415 - slow to import, and not needed to say something ourselves

    ours = logging.getLogger("faultless")
    ours.setLevel(next(theirs for theirs, level in _STDLIB_LEVELS if level >= lowest))

    class Route(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.levelno >= logging.WARNING or record.name.startswith("faultless."):
                said_at = (level for theirs, level in reversed(_STDLIB_LEVELS) if record.levelno >= theirs)
                emit(next(said_at, Level.TRACE), *_describe(record))

    root, route = logging.getLogger(), Route()
    route.set_name("faultless")
    root.handlers[:] = [*(other for other in root.handlers if other.name != route.name), route]
    logging.captureWarnings(capture=True)


def _describe(record: LogRecord) -> tuple[str, dict[str, object]]:
    """A frame of megabytes may be quoted in it, and its arguments may not fit its format."""
    try:
        body = record.getMessage()
    except (TypeError, ValueError, KeyError, AttributeError):
        body = str(record.msg)
    attributes: dict[str, object] = {"logger": record.name}
    if record.exc_info and record.exc_info[1] is not None:
        attributes["traceback"] = "".join(traceback.format_exception(record.exc_info[1]))
    return _bounded(body, _LONGEST_BODY), attributes


def _after_fork() -> None:
    if _settings is not None:
        _settings.stream.lock = threading.RLock()


os.register_at_fork(after_in_child=_after_fork)
