"""An outbox between a fake Gmail and a vault on disk, with both servers in this process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import anyio
import pytest

from faultless.approval import Approval, ApprovalStore, locate_account
from faultless.cli.outbox_session import DirectVault
from faultless.client import Client
from faultless.kit.server import Boundary
from faultless.outbox import (
    ApprovalDesk,
    Entry,
    Machine,
    Mailer,
    Outbox,
    OutboxJournal,
    Pass,
    State,
    Vault,
    list_entries,
)
from faultless.servers.gmail import delivery
from faultless.servers.gmail.access import Access
from faultless.servers.gmail.rest import Rest
from faultless.servers.gmail.settings import Settings as GmailSettings
from faultless.servers.gmail.toolset import offer as offer_mail
from faultless.servers.obsidian.settings import Settings as VaultSettings
from faultless.servers.obsidian.toolset import offer as offer_notes
from faultless.servers.obsidian.vault import Vault as Notes
from tests.servers.gmail.conftest import write_login
from tests.servers.gmail.fake import FakeGmail
from tests.servers.gmail.fake.account import Stored

T = TypeVar("T")
NOTE = """\
---
to: Ann <ann@example.com>
subject: {subject}
status: pending_approval
---
CANARY-body of {subject}
"""


@dataclass
class Rig:
    """Everything an outbox needs; `gone` names servers that cannot be started."""

    home: Path
    gmail: FakeGmail
    approve_by_move: bool = False
    gone: set[str] = field(default_factory=set)
    options: dict[str, Any] = field(default_factory=dict)
    account: str = ""
    while_reading: Callable[[], object] = lambda: None
    """What happens between the mail being shown and the person's answer."""

    def __post_init__(self) -> None:
        self.folder = self.home / "vault"
        for name in ("Drafts", "Approved", "Done", "Rejected"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        state = locate_account(self.home / "state", self.account)
        self.approvals = ApprovalStore(state)
        self.journal = OutboxJournal(state / "outbox" / "journal.jsonl")
        self.machine = Machine.of(self.home / "state" / "outbox")
        self.warnings: list[str] = []
        write_login(self.home, self.gmail)

    def draft(self, subject: str, folder: str = "Drafts", text: str = NOTE) -> Path:
        path = self.folder / folder / f"{subject}.md"
        path.write_text(text.format(subject=subject))
        return path

    def run(self) -> Pass:
        return self.run_passes([(0, lambda: None)])[0]

    def run_passes(self, steps: list[tuple[float, Callable[[], object]]], quiet: float = 0) -> list[Pass]:
        """One outbox, a pass for each step: first so many seconds go by, then something happens."""
        now = 0.0

        async def work(vault: Vault, mailer: Mailer) -> list[Pass]:
            nonlocal now
            outbox = Outbox(
                vault,
                mailer,
                self.approvals,
                self.journal,
                self.machine,
                self.approve_by_move,
                quiet_seconds=quiet,
                clock=lambda: now,
                account=self.account,
            )
            passes = []
            for seconds, happen in steps:
                now += seconds
                happen()
                passes.append(await outbox.run_once())
            return passes

        return self._converse(work)

    def on_another_machine(self) -> Rig:
        """The same vault and account, and a state folder of its own."""
        other = replace(self, home=self.home / "other")
        other.folder = self.folder
        return other

    def approve(self, name: str) -> Approval:
        async def work(vault: Vault, mailer: Mailer) -> Approval:
            desk = self._make_desk(vault, mailer)
            note, content = await desk.open(name)
            self.warnings = await desk.examine(note, content)
            self.while_reading()
            return await desk.approve(note, content, "a person")

        return self._converse(work)

    def reject(self, name: str, reason: str) -> Entry:
        async def work(vault: Vault, mailer: Mailer) -> Entry:
            desk = self._make_desk(vault, mailer)
            note, _content = await desk.open(name)
            self.while_reading()
            return await desk.reject(note, reason)

        return self._converse(work)

    def resolve_unknown(self, name: str, *, left: bool) -> Entry:
        async def work(vault: Vault, mailer: Mailer) -> Entry:
            return await self._make_desk(vault, mailer).resolve_unknown(name, left=left)

        return self._converse(work)

    def _make_desk(self, vault: Vault, mailer: Mailer) -> ApprovalDesk:
        return ApprovalDesk(vault, mailer, self.approvals, self.journal, self.machine, self.account)

    def states(self) -> dict[str, str]:
        async def work(vault: Vault, _: Mailer) -> list[tuple[str, Entry]]:
            return await list_entries(vault, self.journal, self.account)

        return {path or entry.note: entry.state.value for path, entry in self._converse(work)}

    def delivered(self, subject: str) -> list[Stored]:
        return [it for it in self.gmail.account.delivered if it.header("Subject") == subject]

    def files(self) -> set[str]:
        notes = (path.relative_to(self.folder).as_posix() for path in self.folder.glob("*/*.md"))
        return {path for path in notes if path != "Approved/Outbox machine.md"}

    def _converse(self, work: Callable[[Vault, Mailer], Awaitable[T]]) -> T:
        async def run() -> T:
            settings = GmailSettings(
                root=self.home,
                token=self.home / "token.json",
                state=self.home / "state",
                account=self.account,
                api_url=self.gmail.url,
                timeout_seconds=3.0,
                attach_from=self.folder,
                **self.options,
            )
            rest = Rest(Access(settings.token_path), settings.api_url)
            notes = Notes(VaultSettings(root=self.folder, allow_approvals=True))
            servers = {"gmail": offer_mail(rest, settings), "obsidian": offer_notes(notes)}
            async with AsyncExitStack() as stack:
                stack.callback(notes.close)
                stack.push_async_callback(rest.aclose)
                clients = {
                    name: await stack.enter_async_context(
                        Client([f"no-such-{name}"] if name in self.gone else Boundary(toolset).server)
                    )
                    for name, toolset in servers.items()
                }
                vault = Vault(clients["obsidian"], DirectVault(self.folder), self.folder)
                return await work(vault, Mailer(clients["gmail"]))

        return anyio.run(run)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fake's Sent folder does not lag."""
    monkeypatch.setattr(delivery, "PAUSE_SECONDS", 0.01)


@pytest.fixture
def gmail() -> Iterator[FakeGmail]:
    with FakeGmail() as fake:
        yield fake
    assert fake.violations == []
    assert fake.plan.left() == {}


@pytest.fixture
def rig(tmp_path: Path, gmail: FakeGmail) -> Rig:
    return Rig(tmp_path, gmail)


def state_of(done: Pass) -> list[State]:
    return [entry.state for entry in done.changed]
