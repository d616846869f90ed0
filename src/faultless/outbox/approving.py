"""A person's yes or no to one note."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from faultless.approval.store import DEFAULT_LIFETIME
from faultless.contract import Fault, FaultKind
from faultless.outbox.letter import read_letter, require_unsent
from faultless.outbox.states import UNSETTLED, Entry, State
from faultless.outbox.vault import APPROVED, DRAFTS, REJECTED

if TYPE_CHECKING:
    from faultless.approval import Approval, ApprovalStore, Content
    from faultless.outbox.letter import Note
    from faultless.outbox.states import OutboxJournal
    from faultless.outbox.vault import Vault

CLOSED = UNSETTLED | {State.SENT}


@dataclass(frozen=True, slots=True)
class Desk:
    """Where a person decides."""

    vault: Vault
    approvals: ApprovalStore
    journal: OutboxJournal

    async def open(self, name: str) -> tuple[Note, Content]:
        """The note, by its path in the vault or its bare name, and the exact mail it stands for."""
        note = await self._find(name)
        require_unsent(note)
        _require_open(note, self.journal.load().get(note.name))
        return note, read_letter(note)

    async def approve(
        self, note: Note, content: Content, approved_by: str, lifetime: timedelta = DEFAULT_LIFETIME
    ) -> Approval:
        """Bind exactly the content that was shown; what stands in the note by then is compared later."""
        known = self.journal.load().get(note.name)
        _require_open(note, known)  # again: a person takes time to read
        await self._require_room(note)
        approval = self.approvals.record(
            content,
            approved_by=approved_by,
            source=note.path,
            lifetime=lifetime,
            renews=self._find_renewable(known, content),
        )
        # Before the note moves: an outbox that is running takes it as soon as it is there.
        self.journal.follow(known, Entry(note.name, State.APPROVED, approval.id))
        if not _is_in_approved(note):
            await self.vault.move(note.path, f"{APPROVED}/{note.name}")
        return approval

    async def reject(self, note: Note, reason: str = "") -> Entry:
        known = self.journal.load().get(note.name)
        _require_open(note, known)
        await self.vault.write_fields(note, {"status": State.REJECTED.value, "outbox_reason": reason})
        entry = Entry(note.name, State.REJECTED, reason=reason, via=self.vault.via)
        # Before the note moves: what a running outbox is sending by now can no longer be rejected.
        recorded = self.journal.follow(known, entry)
        await self.vault.move(note.path, f"{REJECTED}/{note.name}")
        return recorded

    async def settle(self, name: str, *, left: bool) -> Entry:
        """A person looked into the account and says what nobody else could find out."""
        bare = (name if name.endswith(".md") else f"{name}.md").rpartition("/")[2]
        known = self.journal.load().get(bare)
        if known is None or known.state is not State.UNKNOWN:
            raise Fault(
                FaultKind.CONFLICT,
                f"{bare} is not unknown, so there is nothing to settle",
                hint="`faultless outbox list` shows every state",
            )
        if left:  # the next pass files the note
            return self.journal.follow(known, Entry(bare, State.SENT, known.approval_id))
        if f"{APPROVED}/{bare}" in await self.vault.list(APPROVED):
            # Before the journal: lying in Approved/ may be taken for an approval.
            await self.vault.move(f"{APPROVED}/{bare}", f"{DRAFTS}/{bare}")
        reason = "a person found that it did not leave"
        return self.journal.follow(known, Entry(bare, State.DRAFTED, reason=reason))

    def _find_renewable(self, known: Entry | None, content: Content) -> str | None:
        """The same mail goes on with its draft, so that a send still under way cannot be overtaken."""
        if known is None or known.state is not State.FAILED:
            return None
        try:
            same = self.approvals.find(known.approval_id).digest == content.digest()
        except Fault:
            return None
        return known.approval_id if same else None

    async def _require_room(self, note: Note) -> None:
        """The journal goes by names, so a second note must not come beside one that is under way."""
        if not _is_in_approved(note) and f"{APPROVED}/{note.name}" in await self.vault.list(APPROVED):
            raise Fault(
                FaultKind.CONFLICT,
                f"{APPROVED}/{note.name} is under way already",
                hint="wait until it left, or give this note another name",
            )

    async def _find(self, name: str) -> Note:
        bare = name if name.endswith(".md") else f"{name}.md"
        candidates = [bare] if "/" in bare else [f"{DRAFTS}/{bare}", f"{APPROVED}/{bare}"]
        for path in candidates:
            try:
                return await self.vault.read(path)
            except Fault as fault:
                if fault.kind is not FaultKind.NOT_FOUND:
                    raise
        raise Fault(
            FaultKind.NOT_FOUND,
            f"there is no note {candidates[0]}",
            hint="`faultless outbox list` shows what waits",
        )


def _is_in_approved(note: Note) -> bool:
    return note.path.startswith(f"{APPROVED}/")


def _require_open(note: Note, entry: Entry | None) -> None:
    """A mail that may have left is not decided upon, nor another of its name, which would hide it."""
    if entry is None or entry.state not in CLOSED:
        return
    if entry.state in UNSETTLED or _is_in_approved(note):
        raise Fault(
            FaultKind.CONFLICT,
            f"{note.name} is {entry.state.value}; it is too late to decide",
            hint="`faultless outbox list` shows where it is; `settle` says what became of an unknown one",
        )
