"""The audit journal: every attempt to send, before and after it."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind
from faultless.durable import append_line, lock, read_lines
from faultless.kit import log

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from faultless.contract import Json

SENT = "sent"
"""The outcome of an attempt, in the audit journal; failures go by the name of their kind."""
_MAY_HAVE_LEFT = frozenset({SENT, FaultKind.OUTCOME_UNKNOWN.value})
_HOUR = timedelta(hours=1)


class AuditJournal:
    """A line before and a line after every attempt to send, with one id and no text of the mail.

    One file per day, so that old ones can be put away.
    """

    def __init__(self, folder: Path, max_sends_per_hour: int | None = None) -> None:
        self._folder = folder
        self._limit = max_sends_per_hour

    def begin(self, **facts: Json) -> str:
        """Write the line before; returns its id. Without it nothing is sent."""
        attempt_id = secrets.token_hex(8)
        now = datetime.now(UTC)
        try:
            # Counting and adding under one lock: two servers must not both take the last place.
            with lock(self._folder / "audit.lock"):
                wait = self._find_wait(now)
                append_line(self._path(now), _line(now, "send_attempt", attempt_id, facts))
        except OSError as problem:
            raise Fault(
                FaultKind.UNAVAILABLE,
                "nothing was sent: the audit journal cannot be written",
                hint="make room, or give the server's state folder back to its user",
                details={"reason": problem.strerror},
            ) from problem
        if wait is not None:
            self.end(attempt_id, FaultKind.RATE_LIMITED.value)
            raise Fault(
                FaultKind.RATE_LIMITED,
                f"nothing was sent: this server sends at most {self._limit} mails an hour",
                hint="wait as long as retry_after_seconds says; --max-sends-per-hour sets the limit",
                retry_after_seconds=wait,
            )
        return attempt_id

    def end(self, attempt_id: str, outcome: str, **facts: Json) -> None:
        """Write the line after. The mail is where it is, so a full disk is only told to the log."""
        now = datetime.now(UTC)
        try:
            append_line(
                self._path(now), _line(now, "send_outcome", attempt_id, {"outcome": outcome, **facts})
            )
        except OSError as problem:
            log.error("the audit journal cannot be written", attempt_id=attempt_id, reason=problem.strerror)

    def _find_wait(self, now: datetime) -> float | None:
        """Seconds until there is room for one more; None if there is."""
        if self._limit is None:
            return None
        times = sorted(self._list_recent(now))
        if len(times) < self._limit:
            return None
        return max(1.0, (times[-self._limit] + _HOUR - now).total_seconds())

    def _list_recent(self, now: datetime) -> Iterable[datetime]:
        """When mails may have left within the last hour: attempts that are not known to have failed."""
        began: dict[str, datetime] = {}
        days = sorted({self._path(now - _HOUR), self._path(now)})  # shortly after midnight, two
        for record in (record for path in days for record in read_lines(path)):
            attempt_id, moment = str(record.get("attempt_id")), datetime.fromisoformat(str(record["time"]))
            if record.get("event") == "send_attempt" and now - moment < _HOUR:
                began[attempt_id] = moment
            elif record.get("outcome") not in _MAY_HAVE_LEFT:
                began.pop(attempt_id, None)
        return began.values()

    def _path(self, moment: datetime) -> Path:
        return self._folder / f"audit-{moment:%Y-%m-%d}.jsonl"


def _line(now: datetime, event: str, attempt_id: str, facts: dict[str, Json]) -> dict[str, Json]:
    return {"time": now.isoformat(), "event": event, "attempt_id": attempt_id, **facts}
