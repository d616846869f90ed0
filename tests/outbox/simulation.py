"""Random histories of people, syncs, faults and kills around an outbox; each is replayed by its seed.

The outbox, the desk, the sender, their records and journals are the real ones, on a disk in memory. The vault and the
account's API are simulated. After every step: at most once, only what was approved, nothing lost.
"""

from __future__ import annotations

import json
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio

from faultless.approval import ApprovalStore, Content, SendLedger, SendRecord
from faultless.contract import Fault, FaultKind
from faultless.outbox import (
    ApprovalDesk,
    Entry,
    Machine,
    Note,
    Outbox,
    OutboxJournal,
    State,
    read_letter,
)
from faultless.outbox.processing import RetrySchedule
from faultless.servers.gmail import delivery
from faultless.servers.gmail.compose import MARK
from faultless.servers.gmail.faults import AnswerLostError, explain_refusal
from faultless.servers.gmail.inputs import CheckEmail, SendEmail
from faultless.servers.gmail.mailbox import Mailbox
from faultless.servers.gmail.rest import Request
from faultless.servers.gmail.sending import Sender
from faultless.servers.gmail.settings import Settings
from tests.servers.gmail.fake import api
from tests.servers.gmail.fake.account import Account, RefusedError, Stored
from tests.servers.gmail.fake.mime import parse

ANN = "ann@example.com"
QUIET_SECONDS = 30.0
STEPS = 14
FOLDERS = ("Drafts", "Approved", "Done", "Rejected")
MACHINE_NOTE = "Approved/Outbox machine.md"
REFUSALS = (
    (401, "authError"),
    (403, "userRateLimitExceeded"),
    (429, "rateLimitExceeded"),
    (413, "uploadTooLarge"),
)


class Killed(BaseException):
    """The process ends here."""


class BrokenPromiseError(AssertionError):
    """What must never be, with the seed that shows it."""


@dataclass
class Weather:
    """What goes wrong, and when the process is killed."""

    chance: random.Random
    trouble: float = 0.0
    until_kill: int | None = None

    def step(self) -> None:
        """Any moment at which a process may be killed."""
        if self.until_kill is not None:
            self.until_kill -= 1
            if self.until_kill < 0:
                self.until_kill = None
                raise Killed

    def strikes(self) -> bool:
        return self.chance.random() < self.trouble


@dataclass
class MemoryVault:
    """As `outbox.Vault`, without files and without a server."""

    folder: Path
    weather: Weather
    notes: dict[str, Note] = field(default_factory=dict)
    via: str = "server"
    _versions: int = 0

    def put(self, path: str, fields: dict[str, Any], body: str) -> None:
        self._versions += 1
        self.notes[path] = Note(path, fields, body, str(self._versions))

    async def list(self, folder: str, narrowed: str | None = None) -> list[str]:
        self._begin()
        name, _, value = (narrowed or "").partition(":")
        return sorted(
            path
            for path, note in self.notes.items()
            if path.startswith(f"{folder}/")
            and (not narrowed or note.frontmatter.get(name) == json.loads(value))
        )

    async def read(self, path: str) -> Note:
        self._begin()
        if path not in self.notes:
            raise Fault(FaultKind.NOT_FOUND, f"no {path}")
        return self.notes[path]

    async def write_fields(self, note: Note, fields: dict[str, Any]) -> None:
        self._begin()
        if note.path not in self.notes or self.notes[note.path].version != note.version:
            raise Fault(FaultKind.CONFLICT, "it changed")
        kept = {**note.frontmatter, **fields}
        self.put(note.path, {name: value for name, value in kept.items() if value is not None}, note.body)
        self.weather.step()

    async def create(self, path: str, fields: dict[str, Any], body: str) -> None:
        self._begin()
        if path in self.notes:
            raise Fault(FaultKind.CONFLICT, "it is there")
        self.put(path, fields, body)
        self.weather.step()

    async def move(self, source: str, destination: str) -> None:
        self._begin()
        if source not in self.notes:
            raise Fault(FaultKind.NOT_FOUND, f"no {source}")
        if destination in self.notes:
            raise Fault(FaultKind.CONFLICT, "the name is taken")
        self.notes[destination] = replace(self.notes.pop(source), path=destination)
        self.weather.step()

    def _begin(self) -> None:
        self.weather.step()
        if self.weather.trouble and self.weather.chance.random() < self.weather.trouble / 10:
            raise Fault(FaultKind.UNAVAILABLE, "the vault is away")


class MemoryRest:
    """As `gmail.rest.Rest`, with an account behind it instead of a network."""

    def __init__(self, account: Account, weather: Weather) -> None:
        self._account = account
        self._weather = weather

    async def repeat(self, request: Request) -> dict[str, Any]:
        try:
            return await self.once(request)
        except AnswerLostError as lost:
            raise Fault(lost.kind, lost.reason) from lost

    async def once(self, request: Request) -> dict[str, Any]:
        self._weather.step()
        happens = self._weather.chance.randrange(6) if self._weather.strikes() else None
        if happens == 0:
            raise Fault(FaultKind.UNAVAILABLE, "no connection")
        if happens == 1:
            status, reason = self._weather.chance.choice(REFUSALS)
            raise _refusal(status, reason)
        if happens == 2:
            raise AnswerLostError("the connection broke before")
        try:
            answer = self._answer(request)
        except RefusedError as refused:
            raise _refusal(refused.status, refused.reason) from refused
        self._weather.step()
        if happens in {3, 4}:
            raise AnswerLostError("the connection broke after")
        return {} if happens == 5 else answer

    def _answer(self, request: Request) -> dict[str, Any]:
        head, _, rest = request.path.partition("/")
        query = {
            name: [str(it) for it in value] if isinstance(value, list) else [str(value)]
            for name, value in request.query.items()
        }
        if request.method == "POST":
            method = "drafts.send" if rest == "send" else "drafts.create"
            return api.answer(self._account, method, {}, query, dict(request.body or {}))
        method = f"{head}.get" if rest else f"{head}.list"
        return api.answer(self._account, method, {"id": rest}, query, {})


def _refusal(status: int, reason: str) -> Fault:
    body = json.dumps({"error": {"errors": [{"reason": reason}]}}).encode()
    return explain_refusal(status, {}, body, "asked")


@dataclass
class MemoryMailer:
    """As `outbox.Mailer`, with the sender itself instead of a server around it."""

    sender: Sender

    async def check(self, content: Content) -> None:
        self.sender.check(CheckEmail(**_arguments(content)))

    async def send(self, content: Content, approval_id: str) -> str:
        sent = await self.sender.send(SendEmail(**_arguments(content), approval_id=approval_id))
        return sent.message_id

    async def look_up_delivery(self, approval_id: str) -> tuple[str, str]:
        status = await self.sender.get_status(approval_id)
        return status.state, status.message_id or ""


def _arguments(content: Content) -> dict[str, Any]:
    return {"to": content.to, "subject": content.subject, "body": content.body}


class KillableLedger(SendLedger):
    weather: Weather

    def save(self, record: SendRecord) -> SendRecord:
        self.weather.step()
        saved = super().save(record)
        self.weather.step()
        return saved


class KillableJournal(OutboxJournal):
    weather: Weather

    def _append(self, entry: Entry) -> Entry:
        self.weather.step()
        added = super()._append(entry)
        self.weather.step()
        return added


@dataclass
class Computer:
    """One machine's state folder, and what is made anew each time its outbox starts."""

    state: Path
    by_move: bool

    def __post_init__(self) -> None:
        self.approvals = ApprovalStore(self.state)
        self.machine = Machine.of(self.state)

    def start(self, world: World) -> tuple[Outbox, ApprovalDesk]:
        approvals = ApprovalStore(self.state)
        ledger = KillableLedger(self.state / "gmail" / "sends")
        journal = KillableJournal(self.state / "journal.jsonl")
        ledger.weather = journal.weather = world.weather
        approvals.ledger = ledger
        rest: Any = MemoryRest(world.account, world.weather)
        sender = Sender(rest, Mailbox(rest), Settings(root=self.state, state=self.state))
        sender._approvals, sender._ledger = approvals, ledger
        mailer: Any = MemoryMailer(sender)
        vault: Any = world.vault
        outbox = Outbox(
            vault,
            mailer,
            approvals,
            journal,
            self.machine,
            self.by_move,
            QUIET_SECONDS,
            retries=RetrySchedule(lambda: world.now),
            clock=lambda: world.now,
        )
        return outbox, ApprovalDesk(vault, mailer, approvals, journal, self.machine)


class World:
    """One history."""

    def __init__(self, seed: int, home: Path) -> None:
        self.seed = seed
        self.chance = random.Random(seed)
        self.now = 0.0
        self.weather = Weather(self.chance)
        self.account = Account()
        self.vault = MemoryVault(home, self.weather)
        by_move = self.chance.random() < 0.6
        self.computers = [Computer(home / name, by_move) for name in ("first", "second")]
        self.running: list[tuple[Outbox, ApprovalDesk] | None] = [None, None]
        self.meant: set[str] = set()
        """Digests of what people wrote."""
        self.written: set[str] = set()
        """A word of each mail, to find it by."""
        self.at_the_terminal: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self._numbers = 0

    async def live(self) -> None:
        acts: list[tuple[int, Callable[[], Any]]] = [
            (4, self.write), (3, self.approve), (3, self.move_by_hand), (7, self.run_outbox), (1, self.run_second),
            (1, self.copy), (1, self.rename), (1, self.edit), (1, self.edit_in_account), (1, self.half_sync),
            (1, self.settle), (1, self.reject), (1, self.lag), (1, self.expire), (2, self.wait),
        ]  # fmt: skip
        weights = [weight for weight, _ in acts]
        for _ in range(STEPS):
            act = self.chance.choices([it for _, it in acts], weights)[0]
            await self.do(act)
        await self.calm_down()

    async def do(self, act: Callable[[], Any]) -> None:
        self.kinds[act.__name__] += 1
        self.weather.trouble = self.chance.choice([0.0, 0.2, 0.6])
        self.weather.until_kill = self.chance.randrange(20) if self.chance.random() < 0.4 else None
        try:
            await act()
        except Fault:
            self.kinds["fault"] += 1
        except Killed:
            self.kinds["killed"] += 1
            self.running = [None, None]
        self.weather.trouble, self.weather.until_kill = 0.0, None
        self.check()

    async def calm_down(self) -> None:
        """Nothing goes wrong any more: what was approved leaves, or says why not."""
        self.account.hides_sent = False
        self.running = [None, None]
        for _ in range(4):
            self.now += 1000
            for number in range(2):
                await self._start(number)[0].run_once()
            self.check()
        problems = self._list_stuck()
        self.require(not problems, f"waits without a reason: {problems}")

    def _list_stuck(self) -> list[str]:
        stuck = []
        for computer in self.computers:
            entries = OutboxJournal(computer.state / "journal.jsonl").load()
            stuck += [
                name
                for name, entry in entries.items()
                if f"Approved/{name}" in self.vault.notes
                and entry.state in {State.APPROVED, State.SENDING}
                and self._works(computer)
            ]
        return stuck

    def _works(self, computer: Computer) -> bool:
        named = [note for path, note in self.vault.notes.items() if path.startswith(MACHINE_NOTE[:-3])]
        return all(it.frontmatter.get("outbox_machine") == computer.machine.token for it in named) and all(
            it.path == MACHINE_NOTE for it in named
        )

    def _start(self, number: int) -> tuple[Outbox, ApprovalDesk]:
        running = self.running[number] or self.computers[number].start(self)
        self.running[number] = running
        return running

    # What people do

    async def write(self) -> None:
        self._numbers += 1
        name = f"mail {self._numbers}"
        same = self.chance.random() < 0.2 and self._numbers > 1
        subject = f"mail {self._numbers - 1}" if same else name
        fields = {"to": ANN, "subject": subject, "status": "pending_approval"}
        self._put(f"Drafts/{name}.md", fields, f"text of {subject}")

    def _put(self, path: str, fields: dict[str, Any], body: str) -> None:
        self.vault.put(path, fields, body)
        self.meant.add(read_letter(self.vault.notes[path], self.vault.folder).digest())
        self.written.add(str(fields["subject"]))

    def _pick(self, *folders: str) -> Note | None:
        found = [
            note
            for path, note in sorted(self.vault.notes.items())
            if path.startswith(tuple(f"{it}/" for it in folders)) and not path.startswith(MACHINE_NOTE[:-3])
        ]
        return self.chance.choice(found) if found else None

    async def approve(self) -> None:
        note = self._pick("Drafts", "Approved")
        if note is not None:
            _, desk = self._start(0)
            opened, content = await desk.open(note.path)
            await desk.examine(opened, content)
            self.at_the_terminal[content.digest()] += 1
            await desk.approve(opened, content, "a person")

    async def move_by_hand(self) -> None:
        note = self._pick("Drafts")
        if note is not None and f"Approved/{note.name}" not in self.vault.notes:
            self.vault.notes[f"Approved/{note.name}"] = replace(
                self.vault.notes.pop(note.path), path=f"Approved/{note.name}"
            )

    async def copy(self) -> None:
        note = self._pick(*FOLDERS)
        if note is not None:
            self._numbers += 1
            folder = self.chance.choice(["Drafts", "Approved"])
            fields = dict(note.frontmatter)
            if self.chance.random() < 0.5:  # somebody cleaned it
                for name in ("message_id", "outbox_reason", "outbox_hint", "status"):
                    fields.pop(name, None)
            self.vault.put(f"{folder}/{note.name[:-3]} (conflict {self._numbers}).md", fields, note.body)

    async def rename(self) -> None:
        note = self._pick("Approved", "Drafts")
        if note is not None:
            self._numbers += 1
            path = f"{note.path.partition('/')[0]}/renamed {self._numbers}.md"
            self.vault.notes[path] = replace(self.vault.notes.pop(note.path), path=path)

    async def edit(self) -> None:
        note = self._pick("Drafts", "Approved")
        if note is not None:
            self._numbers += 1
            self._put(
                note.path, dict(note.frontmatter), f"text {self._numbers} of {note.frontmatter['subject']}"
            )

    async def half_sync(self) -> None:
        """A note arrives in two pieces, and the outbox looks in between, before it is quiet."""
        note = self._pick("Approved")
        if note is not None and self.computers[0].by_move:
            half = note.body[: len(note.body) // 2]
            self.vault.put(note.path, dict(note.frontmatter), half)
            self.now += QUIET_SECONDS / 3
            try:
                await self._start(0)[0].run_once()
            finally:
                for path in (note.path, f"Drafts/{note.name}"):  # where it is by now
                    here = self.vault.notes.get(path)
                    if here is not None and here.body == half:
                        self.vault.put(path, dict(here.frontmatter), note.body)

    async def edit_in_account(self) -> None:
        kept = {draft: self.account.messages[it].raw for draft, it in self.account.drafts.items()}
        drafts = sorted(draft for draft, raw in kept.items() if ANN.encode() in raw)
        if drafts:
            draft = self.chance.choice(drafts)
            self.account.edit_draft(draft, ANN.encode(), b"eve@example.com")

    async def settle(self) -> None:
        """A person looks into the account and says what is true."""
        entries = OutboxJournal(self.computers[0].state / "journal.jsonl").load()
        unknown = [entry for entry in entries.values() if entry.state is State.UNKNOWN and entry.approval_id]
        if unknown:
            entry = self.chance.choice(unknown)
            try:
                mark = SendLedger(self.computers[0].state / "gmail" / "sends").load(entry.approval_id).mark
            except Fault:
                return
            left = any(_read_mark(it) == mark for it in self.account.delivered)
            await self._start(0)[1].resolve_unknown(entry.note, left=left)

    async def reject(self) -> None:
        note = self._pick("Drafts", "Approved")
        if note is not None:
            _, desk = self._start(0)
            opened, _ = await desk.open(note.path)
            await desk.reject(opened, "no")

    # What happens by itself

    async def run_outbox(self) -> None:
        self.now += self.chance.choice([1.0, 31.0])
        await self._start(0)[0].run_once()

    async def run_second(self) -> None:
        self.now += self.chance.choice([1.0, 31.0])
        await self._start(1)[0].run_once()

    async def wait(self) -> None:
        self.now += self.chance.choice([-1000.0, 5.0, 31.0, 1e6])

    async def lag(self) -> None:
        self.account.hides_sent = not self.account.hides_sent

    async def expire(self) -> None:
        """The clock jumps past an approval's end."""
        approvals = sorted(self.computers[0].state.glob("approvals/*.json"))
        if approvals:
            path = self.chance.choice(approvals)
            path.write_text(
                json.dumps(json.loads(path.read_text()) | {"expires_at": "2026-01-01T00:00:00+00:00"})
            )

    # What must hold after every step

    def require(self, holds: bool, promise: str) -> None:
        if not holds:
            raise BrokenPromiseError(f"seed {self.seed}: {promise}")

    def check(self) -> None:
        left = [_read_content(it) for it in self.account.delivered]
        marks = Counter(_read_mark(it) for it in self.account.delivered)
        self.require(max(marks.values(), default=0) <= 1, "one approval sent twice")
        by_move = self._read_approvals()
        counted: Counter[str] = Counter()
        for stored, content in zip(self.account.delivered, left, strict=True):
            digest = content.digest()
            self.require(digest in self.meant, "it left and nobody wrote it")
            approved, who = by_move.get(_read_mark(stored), ("", ""))
            self.require(approved == digest, "it left and nobody approved it")
            counted[digest] += who == "moved by hand"
        self.require(max(counted.values(), default=0) <= 1, "moving sent the same mail twice")
        for digest, count in Counter(it.digest() for it in left).items():
            self.require(
                count <= self.at_the_terminal[digest] + counted[digest], "more left than was approved"
            )
        self._check_notes(left)

    def _read_approvals(self) -> dict[str, tuple[str, str]]:
        """By mark: what was approved, and by whom."""
        found: dict[str, tuple[str, str]] = {}
        for computer in self.computers:
            for path in (computer.state / "approvals").glob("*.json"):
                approval = json.loads(path.read_text())
                record = json.loads((computer.state / "gmail" / "sends" / path.name).read_text())
                found[record["mark"]] = approval["digest"], approval["approved_by"]
        return found

    def _check_notes(self, left: list[Content]) -> None:
        there = {str(note.frontmatter.get("subject")) for note in self.vault.notes.values()}
        self.require(self.written <= there, f"lost: {self.written - there}")
        ids = {it.id for it in self.account.delivered}
        for path, note in self.vault.notes.items():
            message_id = note.frontmatter.get("message_id")
            self.require(not message_id or message_id in ids, f"{path} says it left, and it did not")
        del left


def _read_mark(stored: Stored) -> str:
    return stored.header(MARK).strip()


def _read_content(stored: Stored) -> Content:
    message = parse(stored.raw)
    body = message.get_payload(decode=True)
    text = body.decode() if isinstance(body, bytes) else ""
    return Content(to=str(message["To"]), subject=str(message["Subject"]), body=text)


def run_histories(first: int, count: int) -> Counter[str]:
    """How often each thing happened; BrokenPromiseError names the seed."""
    delivery.PAUSE_SECONDS = 0.0
    shared = Path("/dev/shm")
    seen: Counter[str] = Counter()
    for seed in range(first, first + count):
        home = Path(tempfile.mkdtemp(dir=shared if shared.is_dir() else None, prefix="faultless-history-"))
        try:
            world = World(seed, home)
            anyio.run(world.live)
            seen += world.kinds
            seen["histories"] += 1
            seen["mails left"] += len(world.account.delivered)
        finally:
            shutil.rmtree(home)
    return seen
