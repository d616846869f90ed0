"""How far each send came, written down before the next step is taken.

state     meaning                                             so after a crash
claimed   nothing has been asked of Gmail that sends          begin again
drafted   a draft exists; nobody was asked to send it         look up its fate, then go on with that draft
sending   Gmail was asked to send the draft                   look up its fate, never send blindly
sent      it left                                             answer as before
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind
from faultless.durable import lock, write_atomically

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path


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
    """One file a send. Only who holds the send may go on with it."""

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
