"""The states of a mail on its way out, the journal that remembers them through kill -9, and where it lies.

state     where the note is   meaning
drafted   Drafts/             written, nobody approved it
approved  Approved/           approved; nothing was asked of Gmail
sending   Approved/           Gmail was or is about to be asked: find out before anything else
unknown   Approved/           it may have left, and nobody could tell yet
failed    Approved/           it did not leave; the note says why
sent      Done/               it left
rejected  Rejected/           a person said no

A note for another account is `elsewhere`, which no journal holds.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind
from faultless.durable import append_line, explained, lock, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from faultless.contract import Json


class State(StrEnum):
    DRAFTED = "drafted"
    APPROVED = "approved"
    SENDING = "sending"
    UNKNOWN = "unknown"
    FAILED = "failed"
    SENT = "sent"
    REJECTED = "rejected"
    ELSEWHERE = "elsewhere"


MAY_HAVE_LEFT = frozenset({State.SENDING, State.UNKNOWN})
"""To be looked up before anything else is done with the note."""
_WHAT = "the outbox's journal"


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of one mail; the newest of a note counts."""

    note: str
    """The note's file name; it keeps it from folder to folder."""
    state: State
    approval_id: str = ""
    reason: str = ""
    hint: str = ""
    """The next move, where there was a fault."""
    kind: str = ""
    """Of the fault, where there was one."""
    message_id: str = ""
    via: str = ""
    """`server`, or `fallback` where the vault was changed without its server."""
    time: str = ""
    account: str = ""
    """Whose it is, in a list; a journal belongs to one account."""


_NAMES = tuple(field.name for field in fields(Entry))


class OutboxJournal:
    """Lines are only added; a torn one is passed over."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, entry: Entry) -> Entry:
        with explained(_WHAT), self._alone():
            return self._append(entry)

    def follow(self, known: Entry | None, entry: Entry) -> Entry:
        """Add it if `known` is still the newest of its note: a person and a running outbox decide at once."""
        with explained(_WHAT), self._alone():
            if self.load().get(entry.note) != known:
                raise Fault(
                    FaultKind.CONFLICT,
                    f"{entry.note} changed its state at this moment; nothing was done with it",
                    hint="`faultless outbox list` shows where it is",
                )
            return self._append(entry)

    def load(self) -> dict[str, Entry]:
        """The newest entry of every note."""
        newest: dict[str, Entry] = {}
        for record in read_lines(self._path):
            if record.get("note") and record.get("state") in set(State):
                entry = _read(record)
                newest[entry.note] = entry
        return newest

    def _alone(self) -> AbstractContextManager[bool]:
        return lock(self._path.with_suffix(".lock"))

    def _append(self, entry: Entry) -> Entry:
        stamped = {**asdict(entry), "time": datetime.now(UTC).isoformat()}
        append_line(self._path, stamped)
        return _read(stamped)


def _read(record: dict[str, Json]) -> Entry:
    known = {name: str(record.get(name) or "") for name in _NAMES}
    return Entry(**(known | {"state": State(known["state"])}))  # type: ignore[arg-type]  # the one that is not text


@contextmanager
def exclude_others(vault: Path, account: str = "") -> Iterator[None]:
    """One outbox per vault and account. The lock is in the vault, so that it holds for any state folder."""
    name = f".outbox-{account}.lock" if account else ".outbox.lock"
    with ExitStack() as stack:
        with explained("the outbox's lock in the vault"):
            held = stack.enter_context(lock(vault / name, wait=False))
        if not held:
            raise Fault(
                FaultKind.CONFLICT,
                "another outbox works on this vault",
                hint="end it first, or leave it to its work",
            )
        yield


def locate_state(state_folder: Path, vault: Path) -> Path:
    """The vault's own folder in the state folder, which must not lie where the vault's server can write."""
    if state_folder.resolve().is_relative_to(vault.resolve()):
        raise Fault(
            FaultKind.PERMISSION_DENIED,
            "the state folder lies inside the vault, where approvals could be written by its server",
            hint="name another with --state",
        )
    key = hashlib.sha256(os.fsencode(vault.resolve())).hexdigest()[:16]
    return state_folder / "outbox" / key
