"""What a person sees and decides: the list of mails, yes or no to one, what became of an unknown one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from faultless.approval import DEFAULT_LIFETIME
from faultless.contract import Fault, FaultKind
from faultless.outbox.history import find_filed_copy, look_up_history
from faultless.outbox.journal import MAY_HAVE_LEFT, Entry, State
from faultless.outbox.letter import read_account, read_letter, require_unsent
from faultless.outbox.machine import is_machine_note
from faultless.outbox.servers import APPROVED, DONE, DRAFTS, REJECTED

if TYPE_CHECKING:
    from faultless.approval import Approval, ApprovalStore, Content
    from faultless.outbox.journal import OutboxJournal
    from faultless.outbox.letter import Note
    from faultless.outbox.machine import Machine
    from faultless.outbox.servers import Mailer, Vault

# What a note is that the journal knows nothing of, by the folder it lies in.
_UNRECORDED = {
    DRAFTS: (State.DRAFTED, ""),
    APPROVED: (State.DRAFTED, "it lies in Approved/ and nobody approved it yet"),
    DONE: (State.SENT, "not by this outbox"),
    REJECTED: (State.REJECTED, ""),
}
_OPEN = frozenset({DRAFTS, APPROVED})
# States a note can be in while it lies in a folder; anything else in the journal is about an earlier note.
_POSSIBLE = {
    DRAFTS: {State.DRAFTED},
    APPROVED: {State.APPROVED, State.SENDING, State.UNKNOWN, State.FAILED, State.SENT},
    DONE: {State.SENT},
    REJECTED: {State.REJECTED},
}


async def list_entries(vault: Vault, journal: OutboxJournal, account: str = "") -> list[tuple[str, Entry]]:
    """Pairs of the note's path and its entry; notes that were taken away come last, without a path."""
    known = journal.load()
    rows: list[tuple[str, Entry]] = []
    seen: set[str] = set()
    for folder in (DRAFTS, APPROVED, DONE, REJECTED):
        for path in await vault.list(folder):
            if is_machine_note(path):
                continue
            name = path.rpartition("/")[2]
            entry = known.get(name)
            if entry is None or entry.state not in _POSSIBLE[folder]:
                state, reason = _UNRECORDED[folder]
                entry = Entry(name, state, reason=reason)
            else:
                seen.add(name)
            elsewhere = await _find_elsewhere(vault, path, account) if folder in _OPEN else None
            rows.append((path, elsewhere or replace(entry, account=account)))
    unfinished = {State.SENDING, State.UNKNOWN, State.FAILED, State.APPROVED}
    rows += [
        ("", replace(it, account=account))
        for name, it in known.items()
        if name not in seen and it.state in unfinished
    ]
    return rows


async def _find_elsewhere(vault: Vault, path: str, account: str) -> Entry | None:
    """The row of a note that leaves through another account."""
    try:
        named = read_account(await vault.read(path))
    except Fault:
        return None  # it will be told when it is approved or sent
    if named == account or (not named and path.startswith(f"{DRAFTS}/")):
        return None
    reason = f"it is for the account {named}" if named else "it names no account"
    hint = (
        f"`--account {named}`" if named else "the outbox without --account takes it; or add `account:` to it"
    )
    return Entry(path.rpartition("/")[2], State.ELSEWHERE, reason=reason, hint=hint, account=named)


@dataclass(frozen=True, slots=True)
class ApprovalDesk:
    """Where a person decides."""

    vault: Vault
    mailer: Mailer
    approvals: ApprovalStore
    journal: OutboxJournal
    machine: Machine
    account: str = ""

    async def open(self, name: str) -> tuple[Note, Content]:
        """The note, by its path in the vault or its bare name, and the exact mail it stands for."""
        note = await self._find(name)
        self._require_account(note)
        require_unsent(note)
        _require_open(note, self.journal.load().get(note.name))
        return note, read_letter(note, self.vault.folder)

    async def examine(self, note: Note, content: Content) -> list[str]:
        """What a person must know before saying yes; what sending would refuse is refused."""
        await self.machine.require_turn(self.vault)
        await self.mailer.check(content)
        history = await look_up_history(self.approvals, self.mailer, content)
        if history.undecided:
            raise Fault(
                FaultKind.CONFLICT,
                "this exact mail was approved before and may have left",
                hint="look into the account's Sent folder, then `faultless outbox settle` that one first",
            )
        warnings = [
            f"This exact mail left before; it was approved at {it.approved_at} by {it.approved_by}."
            for it in history.left
        ]
        filed = await find_filed_copy(self.vault, note, content)
        if filed and not warnings:
            warnings.append(f"This exact mail left before; it is filed as {filed}.")
        renewed = self._find_renewable(self.journal.load().get(note.name), content)
        if any(it.id != renewed for it in history.waiting):
            warnings.append("This exact mail was approved before and did not leave yet; it may leave twice.")
        return warnings

    async def approve(
        self, note: Note, content: Content, approved_by: str, lifetime: timedelta = DEFAULT_LIFETIME
    ) -> Approval:
        """Bind exactly the content that was shown; what stands in the note by then is compared later."""
        known = self.journal.load().get(note.name)
        _require_open(note, known)  # again: a person takes time to read
        await self._require_room(note)
        if read_account(note) != self.account:  # it named none; from now on it is this one's
            await self.vault.write_fields(note, {"account": self.account})
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

    async def resolve_unknown(self, name: str, *, left: bool) -> Entry:
        """A person looked into the account and says what nobody else could find out."""
        bare = (name if name.endswith(".md") else f"{name}.md").rpartition("/")[2]
        known = self.journal.load().get(bare)
        if known is None or known.state is not State.UNKNOWN:
            raise Fault(
                FaultKind.CONFLICT,
                f"{bare} is not unknown, so there is nothing to settle",
                hint="`faultless outbox list` shows every state",
            )
        if known.approval_id:
            self.approvals.ledger.settle(known.approval_id, left=left)
        if left:  # the next pass files the note
            return self.journal.follow(known, Entry(bare, State.SENT, known.approval_id))
        if f"{APPROVED}/{bare}" in await self.vault.list(APPROVED):
            note = await self.vault.read(f"{APPROVED}/{bare}")
            await self.vault.write_fields(
                note, {"status": "pending_approval", "outbox_reason": None, "outbox_hint": None}
            )
            # Before the journal: lying in Approved/ may be taken for an approval.
            await self.vault.move(f"{APPROVED}/{bare}", f"{DRAFTS}/{bare}")
        reason = "a person found that it did not leave"
        return self.journal.follow(known, Entry(bare, State.DRAFTED, reason=reason))

    def _find_renewable(self, known: Entry | None, content: Content) -> str | None:
        """The same mail goes on with its draft, so that a send still under way cannot be overtaken.

        Not with a draft that somebody changed in the account: that one needs an approval of its own.
        """
        if known is None or known.state is not State.FAILED or known.kind == FaultKind.APPROVAL_REQUIRED:
            return None
        try:
            same = self.approvals.find(known.approval_id).digest == content.digest()
        except Fault:
            return None
        return known.approval_id if same else None

    def _require_account(self, note: Note) -> None:
        """A draft that names no account may be taken by any desk."""
        named = read_account(note)
        if named and named != self.account:
            raise Fault(
                FaultKind.USAGE_ERROR,
                f"{note.path} is for the account {named}",
                hint=f"decide on it with --account {named}, or change `account:` in the note",
            )

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
    if entry is not None and (
        entry.state in MAY_HAVE_LEFT or (entry.state is State.SENT and _is_in_approved(note))
    ):
        raise Fault(
            FaultKind.CONFLICT,
            f"{note.name} is {entry.state.value}; it is too late to decide",
            hint="`faultless outbox list` shows where it is; `settle` says what became of an unknown one",
        )
