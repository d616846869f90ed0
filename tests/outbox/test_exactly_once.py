"""The ledger: many mails, faults at random, servers and outboxes killed; nothing leaves twice, nothing is lost."""

from __future__ import annotations

import os
import random
import shlex
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import psutil
import pytest

from faultless.outbox import Entry, Note, OutboxJournal, State, locate_state, read_letter
from tests.outbox.conftest import NOTE, Rig
from tests.servers.gmail.conftest import gmail_command
from tests.servers.gmail.fake import Trouble
from tests.servers.gmail.fake.trouble import refuse

DEADLINE_SECONDS = 600
TROUBLES = [
    Trouble("drop_before"),
    Trouble("drop_after"),
    Trouble("drop_after"),
    Trouble("truncate"),
    Trouble("garbage"),
    Trouble("silent"),
    Trouble("nameless"),
    Trouble("foreign"),
    refuse(500),
    refuse(503),
    refuse(401, "authError"),
    refuse(429, "rateLimitExceeded", Retry_After="0"),
    refuse(403, "userRateLimitExceeded"),
]


class Chaos:
    """Decides for every request whether it meets trouble, and now and then kills somebody."""

    def __init__(self, seed: int, *, trouble: float, calls_between_kills: int, victims: list[str]) -> None:
        self._random = random.Random(seed)
        self._trouble = trouble
        self._between = calls_between_kills
        self._victims = victims
        self._lock = threading.Lock()
        self._until_kill = calls_between_kills
        self.outbox: int | None = None
        self.killed: Counter[str] = Counter()

    def decide(self, method: str) -> Trouble | None:
        with self._lock:
            self._until_kill -= 1
            if self._until_kill <= 0 and self._victims and self.outbox is not None:
                self._until_kill = self._random.randint(1, 2 * self._between)
                self._kill(self._victims.pop())
            is_met = method.startswith("drafts.") and self._random.random() < self._trouble
            return self._random.choice(TROUBLES) if is_met else None

    def _kill(self, who: str) -> None:
        try:
            outbox = psutil.Process(self.outbox)
            victims = (
                [outbox]
                if who == "outbox"
                else [
                    it for it in outbox.children(recursive=True) if "serve_gmail.py" in " ".join(it.cmdline())
                ]
            )
            for victim in victims:
                os.kill(victim.pid, signal.SIGKILL)
                self.killed[who] += 1
        except (psutil.NoSuchProcess, ProcessLookupError):
            pass


def fill(rig: Rig, count: int) -> OutboxJournal:
    """Approved notes, as `approve` leaves them."""
    journal = OutboxJournal(locate_state(rig.home / "state", rig.folder) / "journal.jsonl")
    for number in range(count):
        name = f"mail {number}"
        path = rig.draft(name, "Approved")
        note = Note(
            f"Approved/{path.name}",
            {"to": "Ann <ann@example.com>", "subject": name},
            f"CANARY-body of {name}",
            "",
        )
        approval = rig.approvals.record(read_letter(note, rig.folder), approved_by="a person")
        journal.add(Entry(path.name, State.APPROVED, approval.id))
    return journal


def run_outbox(rig: Rig, chaos: Chaos | None, *words: str) -> int:
    gmail = shlex.join(gmail_command(rig.home, rig.gmail, "--timeout=2"))
    places = ["--vault", str(rig.folder), "--state", str(rig.home / "state"), "--gmail-command", gmail]
    command = [sys.executable, "-m", "faultless", "outbox", "run", "--once", *places, *words]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as outbox:
        if chaos is not None:
            chaos.outbox = outbox.pid
        try:
            return outbox.wait(DEADLINE_SECONDS)
        finally:
            if chaos is not None:
                chaos.outbox = None
            outbox.kill()


def check_ledger(rig: Rig, journal: OutboxJournal, count: int) -> Counter[str]:
    """Every mail: sent once, or still there with a state a person can act on."""
    left = Counter(it.header("Subject") for it in rig.gmail.account.delivered)
    assert max(left.values(), default=0) <= 1
    entries = journal.load()
    for number in range(count):
        name = f"mail {number}"
        entry = entries[f"{name}.md"]
        in_done = (rig.folder / "Done" / f"{name}.md").exists()
        in_approved = (rig.folder / "Approved" / f"{name}.md").exists()
        assert in_done != in_approved
        if in_done:
            assert left[name] == 1
        if entry.state in {State.APPROVED, State.FAILED, State.DRAFTED}:
            assert left[name] == 0
    return Counter(entry.state.value for entry in entries.values())


def keep_ledger(rig: Rig, count: int, chaos: Chaos, most_passes: int, *words: str) -> None:
    journal = fill(rig, count)
    rig.gmail.plan.decide = chaos.decide
    for number in range(most_passes + 3):
        if number == most_passes:
            rig.gmail.plan.decide = lambda _: None
        status = run_outbox(rig, chaos if number < most_passes else None, *words)
        check_ledger(rig, journal, count)
        if status == 0:
            break
    assert check_ledger(rig, journal, count) == {"sent": count}
    assert {path.parent.name for path in rig.folder.glob("*/*.md")} == {"Done"}


def test_a_handful_of_mails_leaves_once_each_through_kills(rig: Rig) -> None:
    """Without the vault's server, which takes its time to start; its code does the same work."""
    chaos = Chaos(7, trouble=0, calls_between_kills=3, victims=["outbox", "gmail"])
    keep_ledger(rig, 5, chaos, 2, "--obsidian-command", "no-such-vault-server")
    assert chaos.killed == {"gmail": 1, "outbox": 1}


def test_a_handful_of_mails_leaves_once_each_where_every_third_request_fails(rig: Rig) -> None:
    """In this process, where no start takes its time."""
    rig.journal = fill(rig, 5)
    rig.gmail.plan.decide = Chaos(3, trouble=0.3, calls_between_kills=1, victims=[]).decide
    for _ in range(6):
        rig.run()
        check_ledger(rig, rig.journal, 5)
    rig.gmail.plan.decide = lambda _: None
    rig.run()
    assert check_ledger(rig, rig.journal, 5) == {"sent": 5}


@pytest.mark.heavy
def test_thirty_mails_leave_once_each_where_every_second_request_fails(rig: Rig) -> None:
    chaos = Chaos(11, trouble=0.5, calls_between_kills=25, victims=["outbox", "gmail"])
    keep_ledger(rig, 30, chaos, most_passes=10)


@pytest.mark.heavy
def test_five_hundred_mails_leave_once_each_through_faults_and_kills(rig: Rig) -> None:
    chaos = Chaos(2026, trouble=0.15, calls_between_kills=60, victims=["outbox", "gmail"] * 10)
    keep_ledger(rig, 500, chaos, most_passes=60)
    assert min(chaos.killed["outbox"], chaos.killed["gmail"]) >= 5


def test_the_ledger_sees_a_planted_second_delivery(rig: Rig) -> None:
    journal = fill(rig, 1)
    sent = rig.gmail.account.receive(b"Subject: mail 0\r\n\r\nx", "SENT")
    rig.gmail.account.delivered += [sent, sent]
    with pytest.raises(AssertionError):
        check_ledger(rig, journal, 1)


def test_the_ledger_sees_a_planted_loss(rig: Rig) -> None:
    journal = fill(rig, 1)
    (rig.folder / "Approved" / "mail 0.md").rename(rig.folder / "Done" / "mail 0.md")
    with pytest.raises(AssertionError):
        check_ledger(rig, journal, 1)


class Meddler:
    """People and syncs at work on a vault and an account, from one seed."""

    def __init__(self, rig: Rig, seed: int) -> None:
        self._rig = rig
        self._random = random.Random(seed)
        self._approved = rig.folder / "Approved"
        self._count = 0

    def meddle(self) -> None:
        notes = sorted(it for it in self._approved.glob("*.md") if not it.name.startswith("Outbox machine"))
        if notes:
            note = self._random.choice(notes)
            self._random.choice([self._copy, self._rename, self._come_back, self._edit_draft])(note)

    def _copy(self, note: Path) -> None:
        self._count += 1
        (self._approved / f"{note.stem} (conflict {self._count}).md").write_bytes(note.read_bytes())

    def _rename(self, note: Path) -> None:
        self._count += 1
        note.rename(self._approved / f"renamed {self._count}.md")

    def _come_back(self, _: Path) -> None:
        """What went back or was filed lies in Approved/ again, with nothing in it that says so."""
        done = sorted(
            [*(self._rig.folder / "Drafts").glob("*.md"), *(self._rig.folder / "Done").glob("*.md")]
        )
        if done:
            self._count += 1
            subject = next(line for line in done[0].read_text().splitlines() if line.startswith("subject: "))
            again = NOTE.format(subject=subject.removeprefix("subject: "))
            (self._approved / f"again {self._count}.md").write_text(again)

    def _edit_draft(self, _: Path) -> None:
        drafts = sorted(self._rig.gmail.account.drafts)
        if drafts:
            draft = self._random.choice(drafts)
            stored = self._rig.gmail.account.messages[self._rig.gmail.account.drafts[draft]]
            if b"ann@example.com" in stored.raw:
                self._rig.gmail.account.edit_draft(draft, b"ann@example.com", b"eve@example.com")


def keep_meddled_ledger(rig: Rig, seed: int, mails: int, passes: int) -> None:
    """By move, where each content may leave once only, and to Ann alone."""
    rig.approve_by_move = True
    names = [f"mail {number}" for number in range(mails)]
    for name in names:
        rig.draft(name, "Approved")
    meddler = Meddler(rig, seed)
    rig.gmail.plan.decide = Chaos(seed, trouble=0.3, calls_between_kills=1, victims=[]).decide
    other = rig.on_another_machine()
    for number in range(passes):
        meddler.meddle()
        if number % 3 == 2:
            assert other.run().problems
        rig.run()
        left = Counter(it.header("Subject") for it in rig.gmail.account.delivered)
        assert max(left.values(), default=0) <= 1, f"doubled with seed {seed}"
        assert {it.header("To") for it in rig.gmail.account.delivered} <= {"Ann <ann@example.com>"}
    rig.gmail.plan.decide = lambda _: None
    rig.run()
    texts = [path.read_text() for path in rig.folder.glob("*/*.md")]
    left = Counter(it.header("Subject") for it in rig.gmail.account.delivered)
    for name in names:
        assert left[name] == 1 or any(f"subject: {name}\n" in text for text in texts), (
            f"lost with seed {seed}"
        )


@pytest.mark.parametrize("seed", [1])
def test_copies_renames_edits_and_a_second_machine_double_and_lose_nothing(rig: Rig, seed: int) -> None:
    keep_meddled_ledger(rig, seed, mails=3, passes=5)


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(20))
def test_many_histories_of_meddling_double_and_lose_nothing(rig: Rig, seed: int) -> None:
    keep_meddled_ledger(rig, seed, mails=6, passes=15)
