"""What is written down about sends: how far each one came (ledger), and every attempt (audit journal).

The ledger is written before the next step is taken.

state     meaning                                             so after a crash
claimed   nothing has been asked of Gmail that sends          begin again
drafted   a draft exists; nobody was asked to send it         look up its delivery, then go on with that draft
sending   Gmail was asked to send the draft                   look up its delivery, never send blindly
sent      it left                                             answer as before
"""

from __future__ import annotations

import json
import secrets
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind
from faultless.durable import append_line, lock, read_lines, write_atomically
from faultless.kit import log

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from faultless.contract import Json

SENT = "sent"
"""The outcome of an attempt, in the audit journal; failures go by the name of their kind."""
_MAY_HAVE_LEFT = frozenset({SENT, FaultKind.OUTCOME_UNKNOWN.value})
_HOUR = timedelta(hours=1)


class State(StrEnum):
    CLAIMED = "claimed"
    DRAFTED = "drafted"
    SENDING = "sending"
    SENT = "sent"


@dataclass(frozen=True, slots=True)
class SendRecord:
    send_id: str
    digest: str
    mark: str
    """What the message carries, to be recognised by."""
    started_at: float
    """Seconds since the epoch."""
    state: State = State.CLAIMED
    draft_id: str = ""
    draft_message_id: str = ""
    """Of the draft; the message that leaves may keep it."""
    thread_id: str = ""
    message_id: str = ""
    sent_at: str = ""


class SendLedger:
    """One file per send. Only who holds the send may go on with it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def hold(self, send_id: str) -> AbstractContextManager[bool]:
        return lock(self._folder / f"{send_id}.lock", wait=False)

    def load(self, send_id: str) -> SendRecord | None:
        try:
            text = self._path(send_id).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        try:
            fields = json.loads(text)
            return SendRecord(**(fields | {"state": State(fields["state"])}))
        except (ValueError, TypeError, KeyError):
            raise Fault(
                FaultKind.OUTCOME_UNKNOWN,
                "the record of this send cannot be read, so nobody knows how far it came",
                hint="look into the account's Sent folder, then approve the mail anew if it is not there",
                details={"send_id": send_id},
            ) from None

    def save(self, record: SendRecord) -> SendRecord:
        write_atomically(self._path(record.send_id), json.dumps(asdict(record)) + "\n")
        return record

    def _path(self, send_id: str) -> Path:
        return self._folder / f"{send_id}.json"


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
