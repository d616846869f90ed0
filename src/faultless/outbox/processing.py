"""One pass over the vault: what may have left is looked up first, then what is approved is sent."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from faultless.approval import ApprovalStore
from faultless.contract import Fault, FaultKind
from faultless.contract.backoff import choose_wait
from faultless.outbox.journal import MAY_HAVE_LEFT, Entry, OutboxJournal, State
from faultless.outbox.letter import read_letter, require_unsent
from faultless.outbox.servers import APPROVED, DONE, DRAFTS, REJECTED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from faultless.outbox.letter import Note
    from faultless.outbox.servers import Mailer, Vault

_FIRST_RETRY_SECONDS = 5.0
_LONGEST_RETRY_SECONDS = 300.0
# Nothing left, and the same call may succeed later; anything else waits for a person.
_TEMPORARY = frozenset(
    {
        FaultKind.AUTH_REQUIRED,
        FaultKind.CRASH,
        FaultKind.INTERRUPTED,
        FaultKind.RATE_LIMITED,
        FaultKind.TIMEOUT,
        FaultKind.UNAVAILABLE,
        FaultKind.UPSTREAM_ERROR,
    }
)
# Whoever else is sending it will have an answer; so will a look at what became of it.
_UNDECIDED = frozenset({FaultKind.OUTCOME_UNKNOWN, FaultKind.CONFLICT})


@dataclass
class Pass:
    """What one pass did, and what kept it from doing more."""

    changed: list[Entry] = field(default_factory=list)
    problems: list[Fault] = field(default_factory=list)


@dataclass
class RetrySchedule:
    """When a note that failed may be tried again; forgotten when the process ends."""

    clock: Callable[[], float] = time.monotonic
    _failures: Counter[str] = field(default_factory=Counter)
    _not_before: dict[str, float] = field(default_factory=dict)

    def is_due(self, name: str) -> bool:
        return self.clock() >= self._not_before.get(name, 0.0)

    def put_off(self, name: str, asked_seconds: float | None) -> None:
        self._failures[name] += 1
        wait = choose_wait(self._failures[name], _FIRST_RETRY_SECONDS, _LONGEST_RETRY_SECONDS, asked_seconds)
        self._not_before[name] = self.clock() + wait


@dataclass
class Outbox:
    """Approved notes leave through the mailer; every step is in the journal before it is taken."""

    vault: Vault
    mailer: Mailer
    approvals: ApprovalStore
    journal: OutboxJournal
    approve_by_move: bool = False
    on_change: Callable[[Entry], None] = lambda _: None
    retries: RetrySchedule = field(default_factory=RetrySchedule)

    async def run_once(self) -> Pass:
        """What may have left is looked up before anything else is sent."""
        entries = self.journal.load()
        paths = {path.rpartition("/")[2]: path for path in await self.vault.list(APPROVED)}
        unknown = [name for name, entry in entries.items() if entry.state in MAY_HAVE_LEFT]
        done = Pass()
        for name in unknown:
            if name not in paths:  # somebody took the note away; the journal still has to know
                await self._attempt(done, self._resolve_unknown(None, entries[name]))
        for name in [*(it for it in unknown if it in paths), *(it for it in paths if it not in unknown)]:
            if self.retries.is_due(name):
                await self._attempt(done, self._process(paths[name]))
        return done

    async def _attempt(self, done: Pass, work: Awaitable[Entry | None]) -> None:
        """One note's trouble must not hold up the others."""
        try:
            entry = await work
        except Fault as fault:
            if fault.kind is not FaultKind.NOT_FOUND:  # a person moved the note meanwhile
                done.problems.append(fault)
            return
        if entry is not None:
            done.changed.append(entry)

    async def _process(self, path: str) -> Entry | None:
        note = await self.vault.read(path)
        entry = self.journal.load().get(note.name)
        if entry is not None and entry.state in MAY_HAVE_LEFT:
            entry = await self._resolve_unknown(note, entry)
            if entry.state in MAY_HAVE_LEFT:
                return entry
        if entry is not None and entry.state is State.SENT:
            if not await self._is_filed(entry):
                return await self._file_if_unchanged(note, entry)
            entry = None  # another note of the same name
        if str(note.frontmatter.get("status")) == State.REJECTED.value:
            return await self._file(note, REJECTED, Entry(note.name, State.REJECTED))
        return await self._send_approved(note, entry)

    async def _is_filed(self, entry: Entry) -> bool:
        """Whether its note is in Done/ already; the journal may have been cut off before it said so."""
        if entry.via:
            return True
        try:
            filed = await self.vault.read(f"{DONE}/{entry.note}")
        except Fault as fault:
            if fault.kind is FaultKind.NOT_FOUND:
                return False
            raise
        return filed.frontmatter.get("message_id") == entry.message_id

    async def _file_if_unchanged(self, note: Note, entry: Entry) -> Entry:
        try:
            same = read_letter(note).digest() == self.approvals.find(entry.approval_id).digest
        except Fault:
            same = False
        if same:
            return await self._file_as_sent(note, entry)
        reason = f"the approved version left as message {entry.message_id}; this one was changed since"
        return await self._send_back(note, Fault(FaultKind.APPROVAL_REQUIRED, reason))

    async def _resolve_unknown(self, note: Note | None, entry: Entry) -> Entry:
        """Ask what became of it. Where nobody can tell, it stays as it is, and nothing is sent."""
        try:
            state, message_id = await self.mailer.look_up_delivery(entry.approval_id)
        except Fault as fault:
            reason = f"its fate cannot be looked up now: {fault.message}"
            return await self._record_and_tell(
                note, replace(entry, state=State.UNKNOWN, reason=reason, kind=fault.kind)
            )
        if state == "sent":
            return self._record(replace(entry, state=State.SENT, message_id=message_id, reason="", kind=""))
        if state == "not_sent":
            return self._record(replace(entry, state=State.APPROVED, reason="", kind=""))
        reason = "it may have left; look into the account's Sent folder"
        return await self._record_and_tell(note, replace(entry, state=State.UNKNOWN, reason=reason))

    async def _send_approved(self, note: Note, entry: Entry | None) -> Entry | None:
        try:
            content = read_letter(note)
            entry = self._find_approval(note, entry)
            self.approvals.check(entry.approval_id, content)
        except Fault as fault:
            if fault.kind not in {FaultKind.APPROVAL_REQUIRED, FaultKind.INVALID_PARAMS}:
                raise
            return await self._send_back(note, fault)
        if entry.state is State.FAILED and entry.kind not in _TEMPORARY:
            return None  # a person has to do something first, and approve again
        entry = self.journal.follow(entry, replace(entry, state=State.SENDING, reason="", kind=""))
        self.on_change(entry)
        try:
            message_id = await self.mailer.send(content, entry.approval_id)
        except Fault as fault:
            return await self._record_failure(note, entry, fault)
        return await self._file_as_sent(
            note, self._record(replace(entry, state=State.SENT, message_id=message_id))
        )

    def _find_approval(self, note: Note, entry: Entry | None) -> Entry:
        """The journal knows the approval; what the note says about itself is no proof."""
        if entry is not None and entry.state in {State.APPROVED, State.FAILED}:
            return entry
        if not self.approve_by_move:
            raise Fault(
                FaultKind.APPROVAL_REQUIRED,
                "it lies in Approved/ and nobody approved it",
                hint="approve it with `faultless outbox approve`",
            )
        require_unsent(note)
        approval = self.approvals.record(read_letter(note), approved_by="moved by hand", source=note.path)
        return self._record(Entry(note.name, State.APPROVED, approval.id))

    async def _record_failure(self, note: Note, entry: Entry, fault: Fault) -> Entry:
        """A fault that leaves the fate open is looked up at once; the server may be up again."""
        kind = fault.kind
        if kind in _UNDECIDED or fault.outcome == "unknown":
            entry = await self._resolve_unknown(note, entry)
            if entry.state is State.SENT:
                return await self._file_as_sent(note, entry)
            if entry.state in MAY_HAVE_LEFT:
                return entry
            kind = FaultKind.INTERRUPTED  # it is known by now that nothing left
        self.retries.put_off(note.name, fault.retry_after_seconds)
        return await self._record_and_tell(
            note, replace(entry, state=State.FAILED, reason=fault.message, kind=kind.value)
        )

    async def _file_as_sent(self, note: Note, entry: Entry) -> Entry:
        fields = {
            "status": State.SENT.value,
            "message_id": entry.message_id,
            "outbox_reason": None,
        }
        return await self._file(note, DONE, entry, fields)

    async def _send_back(self, note: Note, fault: Fault) -> Entry:
        entry = Entry(note.name, State.DRAFTED, reason=fault.message, kind=fault.kind.value)
        fields = {"status": "pending_approval", "outbox_reason": fault.message}
        return await self._file(note, DRAFTS, entry, fields)

    async def _file(
        self, note: Note, folder: str, entry: Entry, fields: Mapping[str, str | None] | None = None
    ) -> Entry:
        """Write the fields, move the note; a name that is taken gets the approval's beside it."""
        if fields is not None:
            await self._write_changed(note, fields)
        try:
            await self.vault.move(note.path, f"{folder}/{note.name}")
        except Fault as fault:
            if fault.kind is not FaultKind.CONFLICT:
                raise
            mark = entry.approval_id[:8] or f"{datetime.now(UTC):%Y%m%d%H%M%S}"
            await self.vault.move(note.path, f"{folder}/{note.name.removesuffix('.md')} {mark}.md")
        return self._record(replace(entry, via=self.vault.via))

    async def _record_and_tell(self, note: Note | None, entry: Entry) -> Entry:
        """Journal first; the note's own words are for the person, and may be a pass late."""
        recorded = self._record(entry)
        if note is not None:
            await self._write_changed(note, {"status": entry.state.value, "outbox_reason": entry.reason})
        return recorded

    async def _write_changed(self, note: Note, fields: Mapping[str, str | None]) -> None:
        different = {name: value for name, value in fields.items() if note.frontmatter.get(name) != value}
        if different:
            await self.vault.write_fields(note, different)

    def _record(self, entry: Entry) -> Entry:
        """Nothing new is not written down again: an outbox that waits would fill the disk."""
        known = self.journal.load().get(entry.note)
        if known is not None and replace(known, time="") == replace(entry, time=""):
            return known
        recorded = self.journal.add(entry)
        if known is None or (known.state, known.reason) != (entry.state, entry.reason):
            self.on_change(recorded)  # not when a sent mail is filed: that is news to nobody
        return recorded
