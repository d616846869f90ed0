"""Every mail on its way, with its state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from faultless.outbox.states import Entry, State
from faultless.outbox.vault import APPROVED, DONE, DRAFTS, REJECTED

if TYPE_CHECKING:
    from faultless.outbox.states import OutboxJournal
    from faultless.outbox.vault import Vault

# What a note is that the journal knows nothing of, by the folder it lies in.
_UNTOLD = {
    DRAFTS: (State.DRAFTED, ""),
    APPROVED: (State.DRAFTED, "it lies in Approved/ and nobody approved it yet"),
    DONE: (State.SENT, "not by this outbox"),
    REJECTED: (State.REJECTED, ""),
}
# States a note can be in while it lies in a folder; anything else in the journal is about an earlier note.
_FITTING = {
    DRAFTS: {State.DRAFTED},
    APPROVED: {State.APPROVED, State.SENDING, State.UNKNOWN, State.FAILED, State.SENT},
    DONE: {State.SENT},
    REJECTED: {State.REJECTED},
}


async def list_entries(vault: Vault, journal: OutboxJournal) -> list[tuple[str, Entry]]:
    """Pairs of the note's path and its entry; notes that were taken away come last, without a path."""
    known = journal.load()
    rows: list[tuple[str, Entry]] = []
    seen: set[str] = set()
    for folder in (DRAFTS, APPROVED, DONE, REJECTED):
        for path in await vault.list(folder):
            name = path.rpartition("/")[2]
            entry = known.get(name)
            if entry is None or entry.state not in _FITTING[folder]:
                state, reason = _UNTOLD[folder]
                entry = Entry(name, state, reason=reason)
            else:
                seen.add(name)
            rows.append((path, entry))
    unfinished = {State.SENDING, State.UNKNOWN, State.FAILED, State.APPROVED}
    rows += [("", it) for name, it in known.items() if name not in seen and it.state in unfinished]
    return rows
