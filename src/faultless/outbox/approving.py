"""A person's yes or no to one note."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from faultless.approval.store import DEFAULT_LIFETIME
from faultless.contract import Fault, FaultKind
from faultless.outbox.letter import read_letter
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
        entry = self.journal.load().get(note.name)
        if entry is not None and entry.state in CLOSED and note.path.startswith(f"{APPROVED}/"):
            raise Fault(
                FaultKind.CONFLICT,
                f"{note.path} is {entry.state.value}; it is too late to decide",
                hint="`faultless outbox list` shows where it is",
            )
        return note, read_letter(note)

    async def approve(
        self, note: Note, content: Content, approved_by: str, lifetime: timedelta = DEFAULT_LIFETIME
    ) -> Approval:
        """Bind exactly the content that was shown; what stands in the note by then is compared later."""
        approval = self.approvals.record(
            content, approved_by=approved_by, source=note.path, lifetime=lifetime
        )
        # Before the note moves: an outbox that is running takes it as soon as it is there.
        self.journal.add(Entry(note.name, State.APPROVED, approval.id))
        if not note.path.startswith(f"{APPROVED}/"):
            await self.vault.move(note.path, f"{APPROVED}/{note.name}")
        return approval

    async def reject(self, note: Note, reason: str = "") -> Entry:
        await self.vault.write_fields(note, {"status": State.REJECTED.value, "outbox_reason": reason})
        await self.vault.move(note.path, f"{REJECTED}/{note.name}")
        return self.journal.add(Entry(note.name, State.REJECTED, reason=reason, via=self.vault.via))

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
