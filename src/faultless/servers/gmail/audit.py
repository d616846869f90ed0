"""The audit journal: a line before and a line after every attempt to send, with one id and no body text."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind
from faultless.durable import append_line, lock, read_lines
from faultless.kit import log

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from faultless.contract import Json

HOUR = timedelta(hours=1)
SENT, UNKNOWN = "sent", FaultKind.OUTCOME_UNKNOWN.value


class Audit:
    """One file a day, so that old ones can be put away."""

    def __init__(self, folder: Path, max_sends_per_hour: int | None = None) -> None:
        self._folder = folder
        self._limit = max_sends_per_hour

    def begin(self, **facts: Json) -> str:
        """Write the line before; returns its id. Without it nothing is sent."""
        attempt_id = secrets.token_hex(8)
        now = datetime.now(UTC)
        try:
            # Counting and adding in one breath: two servers must not both take the last place.
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
        times = sorted(self._count(now))
        if len(times) < self._limit:
            return None
        frees = times[-self._limit] + HOUR if self._limit else now + HOUR
        return max(1.0, (frees - now).total_seconds())

    def _count(self, now: datetime) -> list[datetime]:
        """When mails may have left within the last hour: attempts that are not known to have failed."""
        began: dict[str, datetime] = {}
        for record in self._read(now):
            attempt_id, moment = str(record.get("attempt_id")), datetime.fromisoformat(str(record["time"]))
            if record.get("event") == "send_attempt" and now - moment < HOUR:
                began[attempt_id] = moment
            elif record.get("outcome") not in {SENT, UNKNOWN}:
                began.pop(attempt_id, None)
        return list(began.values())

    def _read(self, now: datetime) -> Iterator[dict[str, Json]]:
        yield from read_lines(self._path(now - HOUR))
        if self._path(now) != self._path(now - HOUR):
            yield from read_lines(self._path(now))

    def _path(self, moment: datetime) -> Path:
        return self._folder / f"audit-{moment:%Y-%m-%d}.jsonl"


def _line(now: datetime, event: str, attempt_id: str, facts: dict[str, Json]) -> dict[str, Json]:
    return {"time": now.isoformat(), "event": event, "attempt_id": attempt_id, **facts}
