"""What libraries say through `logging` and `warnings`, as lines of our own log."""

from __future__ import annotations

import logging
import traceback

from faultless.kit import log

LONGEST_BODY = 2000
_LEVELS = (
    (logging.CRITICAL, log.Level.FATAL),
    (logging.ERROR, log.Level.ERROR),
    (logging.WARNING, log.Level.WARN),
    (logging.INFO, log.Level.INFO),
)


class _Route(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        level = next((ours for theirs, ours in _LEVELS if record.levelno >= theirs), log.Level.DEBUG)
        attributes: dict[str, object] = {"logger": record.name}
        if record.exc_info and record.exc_info[1] is not None:
            attributes["traceback"] = "".join(traceback.format_exception(record.exc_info[1]))
        log.emit(level, _message(record), attributes)


def route() -> None:
    """Libraries' records at WARN and above go to our log, once, whatever was configured before."""
    root = logging.getLogger()
    for earlier in [one for one in root.handlers if isinstance(one, _Route)]:
        root.removeHandler(earlier)
    root.addHandler(_Route(logging.WARNING))
    logging.captureWarnings(capture=True)


def _message(record: logging.LogRecord) -> str:
    """A frame of megabytes may be quoted here, and the arguments may not fit the format."""
    try:
        body = record.getMessage()
    except (TypeError, ValueError, KeyError, AttributeError):
        body = str(record.msg)
    return log.bounded(body, LONGEST_BODY)
