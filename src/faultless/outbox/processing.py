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
from faultless.outbox.history import find_filed_copy, look_up_history
from faultless.outbox.journal import MAY_HAVE_LEFT, Entry, OutboxJournal, State
from faultless.outbox.letter import read_account, read_letter, require_unsent
from faultless.outbox.machine import Machine, is_machine_note
from faultless.outbox.servers import APPROVED, DONE, DRAFTS, REJECTED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path

    from faultless.approval import Content
    from faultless.outbox.letter import Note
    from faultless.outbox.servers import Mailer, Vault

_QUIET_SECONDS = 30.0
"""A note that was moved is taken up once it has read the same for so long."""
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
_UNKNOWN = "it may have left, and nobody could tell yet"
_LOOK = "look into the account's Sent folder, then `faultless outbox settle` it --left or --not-left"
_AT_THE_TERMINAL = "approve it with `faultless outbox approve`"
_VOID = Fault(
    FaultKind.APPROVAL_REQUIRED, "it did not leave, and needs a new approval", hint=_AT_THE_TERMINAL
)
_LEFT_BEFORE = "this exact mail left before, and moving a note sends the same mail once only"
# What stands in the note, or in the server's settings, is refused; a person has to change it.
_REFUSED = frozenset(
    {
        FaultKind.APPROVAL_REQUIRED,
        FaultKind.INVALID_PARAMS,
        FaultKind.PERMISSION_DENIED,
        FaultKind.TOO_LARGE,
        FaultKind.UNSUPPORTED,
        FaultKind.USAGE_ERROR,
    }
)
# Whoever else is sending it will have an answer; so will a look at what became of it.
_UNDECIDED = frozenset({FaultKind.OUTCOME_UNKNOWN, FaultKind.CONFLICT})


@dataclass
class Pass:
    """What one pass did, and what kept it from doing more."""

    changed: list[Entry] = field(default_factory=list)
    problems: list[Fault] = field(default_factory=list)
    waits: bool = False
    """Whether a note is there that has not been quiet for long enough."""


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
class Sightings:
    """How long each note has read the same. A sync writes a note in pieces, and under dates of its own."""

    quiet_seconds: float
    clock: Callable[[], float]
    _seen: dict[str, tuple[str, float]] = field(default_factory=dict)

    def is_quiet(self, note: Note, vault: Path) -> bool:
        """Its files count too: they may arrive after the note, or in pieces."""
        try:
            reads = f"{note.version} {read_letter(note, vault).digest()}"
        except Fault as fault:
            reads = f"{note.version} {fault.message}"
        seen, since = self._seen.get(note.path, ("", 0.0))
        if seen != reads:
            since = self.clock()
            self._seen[note.path] = reads, since
        return self.clock() - since >= self.quiet_seconds


@dataclass
class Outbox:
    """Approved notes leave through the mailer; every step is in the journal before it is taken."""

    vault: Vault
    mailer: Mailer
    approvals: ApprovalStore
    journal: OutboxJournal
    machine: Machine
    approve_by_move: bool = False
    quiet_seconds: float = _QUIET_SECONDS
    on_change: Callable[[Entry], None] = lambda _: None
    retries: RetrySchedule = field(default_factory=RetrySchedule)
    clock: Callable[[], float] = time.monotonic
    account: str = ""
    """Notes for another are left alone."""
    _pass: Pass = field(default_factory=Pass)

    def __post_init__(self) -> None:
        self._sightings = Sightings(self.quiet_seconds, self.clock)

    async def run_once(self) -> Pass:
        """What may have left is looked up before anything else is sent."""
        self._pass = done = Pass()
        entries = self.journal.load()
        listed = await self.vault.list(APPROVED)
        paths = {path.rpartition("/")[2]: path for path in listed if not is_machine_note(path)}
        unknown = [name for name, entry in entries.items() if entry.state in MAY_HAVE_LEFT]
        for name in unknown:
            if name not in paths:  # somebody took the note away; the journal still has to know
                await self._attempt(done, self._resolve_unknown(None, entries[name]))
        try:
            if not await self.machine.require_turn(self.vault) and self.approve_by_move:
                await self.machine.take_turn(self.vault)
        except Fault as fault:
            done.problems.append(fault)
            return done
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
        if read_account(note) != self.account:
            is_ours = entry is not None and entry.state in MAY_HAVE_LEFT  # as it was when it may have left
            return await self._resolve_unknown(None, entry) if entry is not None and is_ours else None
        if entry is not None and entry.state in MAY_HAVE_LEFT:
            entry = await self._resolve_unknown(note, entry)
            if entry.state in MAY_HAVE_LEFT:
                return entry
            if entry.state is State.DRAFTED:
                return await self._send_back(note, _VOID)
        if entry is not None and entry.state is State.SENT:
            if not await self._is_filed(entry):
                return await self._file_if_unchanged(note, entry)
            entry = None  # another note of the same name
        if (
            self.approve_by_move
            and not _has_approval(entry)
            and not self._sightings.is_quiet(note, self.vault.folder)
        ):
            self._pass.waits = True
            return None
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
            same = (
                read_letter(note, self.vault.folder).digest() == self.approvals.find(entry.approval_id).digest
            )
        except Fault:
            same = False
        if same:
            return await self._file_as_sent(note, entry)
        reason = f"the approved version left as message {entry.message_id}; this one was changed since"
        return await self._send_back(note, Fault(FaultKind.APPROVAL_REQUIRED, reason, hint=_AT_THE_TERMINAL))

    async def _resolve_unknown(self, note: Note | None, entry: Entry) -> Entry:
        """Ask what became of it. Where nobody can tell, it stays as it is, and nothing is sent."""
        state, message_id, told = "unknown", "", Fault(FaultKind.OUTCOME_UNKNOWN, _UNKNOWN, hint=_LOOK)
        if entry.approval_id:
            try:
                state, message_id = await self.mailer.look_up_delivery(entry.approval_id)
            except Fault as fault:
                told = Fault(
                    fault.kind, f"its fate cannot be looked up now: {fault.message}", hint=fault.hint
                )
        clear = replace(entry, reason="", hint="", kind="")
        if state == "sent":
            return self._record(replace(clear, state=State.SENT, message_id=message_id))
        if state == "not_sent":
            return self._record(replace(clear, state=State.APPROVED))
        if state == "void":
            return self._record(Entry(entry.note, State.DRAFTED, reason=_VOID.message))
        return await self._record_and_tell(note, _failed(entry, State.UNKNOWN, told))

    async def _send_approved(self, note: Note, entry: Entry | None) -> Entry | None:
        try:
            content = read_letter(note, self.vault.folder)
            entry = (
                entry if entry is not None and _has_approval(entry) else await self._take_up(note, content)
            )
            if entry.state is State.UNKNOWN:
                return entry
            self.approvals.check(entry.approval_id, content)
        except Fault as fault:
            if fault.kind not in _REFUSED:
                raise
            return await self._send_back(note, fault)
        if entry.state is State.FAILED and entry.kind not in _TEMPORARY:
            return None  # a person has to do something first, and approve again
        entry = self.journal.follow(entry, replace(entry, state=State.SENDING, reason="", hint="", kind=""))
        self.on_change(entry)
        try:
            message_id = await self.mailer.send(content, entry.approval_id)
        except Fault as fault:
            return await self._record_failure(note, entry, fault)
        return await self._file_as_sent(
            note, self._record(replace(entry, state=State.SENT, message_id=message_id))
        )

    async def _take_up(self, note: Note, content: Content) -> Entry:
        """A note without an approval of its own: approved by its move, or unknown like the same mail before.

        The journal and the approvals decide; what the note says of itself is no proof that it may leave.
        """
        history = await look_up_history(self.approvals, self.mailer, content)
        says_unknown = note.frontmatter.get("status") in {State.UNKNOWN.value, State.SENDING.value}
        if history.undecided or (says_unknown and not history.waiting and not history.left):
            known = history.undecided[-1].id if history.undecided else ""
            told = Fault(FaultKind.OUTCOME_UNKNOWN, _UNKNOWN, hint=_LOOK)
            return await self._record_and_tell(
                note, _failed(Entry(note.name, State.UNKNOWN, known), State.UNKNOWN, told)
            )
        if not self.approve_by_move:
            raise Fault(
                FaultKind.APPROVAL_REQUIRED,
                "it lies in Approved/ and nobody approved it",
                hint=_AT_THE_TERMINAL,
            )
        require_unsent(note)
        filed = await find_filed_copy(self.vault, note, content)
        if history.left or filed:
            raise Fault(FaultKind.APPROVAL_REQUIRED, _LEFT_BEFORE, hint=_AT_THE_TERMINAL)
        waiting = history.waiting[-1].id if history.waiting else None
        await self._require_alone(note, waiting)
        await self.mailer.check(content)
        approval = self.approvals.record(
            content, approved_by="moved by hand", source=note.path, renews=waiting
        )
        return self._record(Entry(note.name, State.APPROVED, approval.id))

    async def _require_alone(self, note: Note, approval_id: str | None) -> None:
        """A copy is no second approval while the note that was approved is still there."""
        there = {path.rpartition("/")[2] for path in await self.vault.list(APPROVED)}
        for name, entry in self.journal.load().items():
            if approval_id and entry.approval_id == approval_id and name != note.name and name in there:
                raise Fault(
                    FaultKind.APPROVAL_REQUIRED,
                    f"it is the same mail as {name}, which is under way",
                    hint="delete it; or, to send it a second time, approve it at the terminal",
                )

    async def _record_failure(self, note: Note, entry: Entry, fault: Fault) -> Entry:
        """A fault that leaves the fate open is looked up at once; the server may be up again."""
        kind = fault.kind
        if kind in _UNDECIDED or fault.outcome == "unknown":
            entry = await self._resolve_unknown(note, entry)
            if entry.state is State.SENT:
                return await self._file_as_sent(note, entry)
            if entry.state in MAY_HAVE_LEFT:
                return entry
            if entry.state is State.DRAFTED:
                return await self._send_back(note, _VOID)
            kind = FaultKind.INTERRUPTED  # it is known by now that nothing left
        self.retries.put_off(note.name, fault.retry_after_seconds)
        return await self._record_and_tell(
            note, replace(_failed(entry, State.FAILED, fault), kind=kind.value)
        )

    async def _file_as_sent(self, note: Note, entry: Entry) -> Entry:
        fields = {
            "status": State.SENT.value,
            "message_id": entry.message_id,
            "outbox_reason": None,
            "outbox_hint": None,
        }
        return await self._file(note, DONE, entry, fields)

    async def _send_back(self, note: Note, fault: Fault) -> Entry:
        entry = _failed(Entry(note.name, State.DRAFTED), State.DRAFTED, fault)
        fields = {"status": "pending_approval", "outbox_reason": entry.reason, "outbox_hint": entry.hint}
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
            fields = {"status": entry.state.value, "outbox_reason": entry.reason, "outbox_hint": entry.hint}
            await self._write_changed(note, fields)
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


def _has_approval(entry: Entry | None) -> bool:
    return entry is not None and entry.state in {State.APPROVED, State.FAILED}


def _failed(entry: Entry, state: State, told: Fault) -> Entry:
    """The entry with what went wrong and the next move."""
    return replace(entry, state=state, reason=told.message, hint=told.hint or "", kind=told.kind.value)
