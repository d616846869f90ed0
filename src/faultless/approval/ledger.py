"""How far the send of each approval came. A record is there from the approval on, so a missing one was lost.

It is written before the next step is taken.

state     meaning                                             so after a crash
claimed   nothing has been asked of Gmail that sends          begin again
drafted   a draft exists; nobody was asked to send it         look up its delivery, then go on with that draft
sending   Gmail was asked to send the draft                   look up its delivery, never send blindly
sent      it left                                             answer as before
void      a person found that it did not leave                send nothing under this id any more
"""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind
from faultless.durable import explained, lock, write_atomically

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path


class SendState(StrEnum):
    CLAIMED = "claimed"
    DRAFTED = "drafted"
    SENDING = "sending"
    SENT = "sent"
    VOID = "void"


@dataclass(frozen=True, slots=True)
class SendRecord:
    send_id: str
    digest: str
    mark: str
    """What the message carries, to be recognised by."""
    started_at: float
    """Seconds since the epoch."""
    state: SendState = SendState.CLAIMED
    draft_id: str = ""
    draft_message_id: str = ""
    """Of the draft as we made it; a draft that was changed has another. What leaves may keep it."""
    thread_id: str = ""
    message_id: str = ""
    sent_at: str = ""


class SendLedger:
    """One file per send. Only who holds the send may go on with it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def claim(self, send_id: str, digest: str) -> SendRecord:
        """The first record of a send; nothing was asked of anybody yet."""
        return self.save(SendRecord(send_id, digest, secrets.token_hex(16), time.time()))

    def settle(self, send_id: str, *, left: bool) -> None:
        """What a person found out; whoever is sending it at this moment knows better."""
        with self.hold(send_id) as held:
            if not held:
                raise Fault(
                    FaultKind.CONFLICT,
                    "this very mail is being sent or looked up at this moment",
                    hint="try again in a minute",
                )
            try:
                record = self.load(send_id)
            except Fault:
                record = SendRecord(send_id, "", "", time.time())
            self.save(replace(record, state=SendState.SENT if left else SendState.VOID))

    def hold(self, send_id: str) -> AbstractContextManager[bool]:
        with explained("the record of sends"):
            return lock(self._folder / f"{send_id}.lock", wait=False)

    def has(self, send_id: str) -> bool:
        return self._path(send_id).exists()

    def load(self, send_id: str) -> SendRecord:
        """The record; outcome_unknown where it is missing or cannot be read."""
        try:
            fields = json.loads(self._path(send_id).read_text(encoding="utf-8"))
            return SendRecord(**(fields | {"state": SendState(fields["state"])}))
        except FileNotFoundError:
            what = "is missing"
        except (ValueError, TypeError, KeyError, OSError):
            what = "cannot be read"
        raise Fault(
            FaultKind.OUTCOME_UNKNOWN,
            f"the record of this send {what}, so nobody knows how far it came",
            hint="look into the account's Sent folder, then approve the mail anew if it is not there",
            details={"send_id": send_id},
        ) from None

    def save(self, record: SendRecord) -> SendRecord:
        with explained("the record of sends"):
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_atomically(self._path(record.send_id), json.dumps(asdict(record)) + "\n")
        return record

    def _path(self, send_id: str) -> Path:
        return self._folder / f"{send_id}.json"
