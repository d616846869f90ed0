"""The two servers an outbox talks to, and the vault's own code for when its server is gone."""

from __future__ import annotations

import shlex
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio

from faultless.approval import ApprovalStore, default_state_folder, locate_account
from faultless.cli.lookup import load
from faultless.cli.options import server_command
from faultless.client import Client
from faultless.outbox import (
    ApprovalDesk,
    Machine,
    Mailer,
    Outbox,
    OutboxJournal,
    Vault,
    exclude_others,
    list_entries,
    locate_state,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from faultless.kit.toolset import Toolset
    from faultless.outbox import Entry


@dataclass
class Session:
    folder: Path
    vault: Vault
    mailer: Mailer
    approvals: ApprovalStore
    journal: OutboxJournal
    machine: Machine
    account: str

    def make_outbox(
        self, *, approve_by_move: bool, quiet_seconds: float, on_change: Callable[[Entry], None]
    ) -> Outbox:
        return Outbox(
            self.vault,
            self.mailer,
            self.approvals,
            self.journal,
            self.machine,
            approve_by_move,
            quiet_seconds,
            on_change,
            account=self.account,
        )

    def make_desk(self) -> ApprovalDesk:
        return ApprovalDesk(self.vault, self.mailer, self.approvals, self.journal, self.machine, self.account)

    def exclude_others(self) -> AbstractContextManager[None]:
        return exclude_others(self.folder, self.account)

    async def list_entries(self) -> list[tuple[str, Entry]]:
        return await list_entries(self.vault, self.journal, self.account)


class DirectVault:
    """The vault server's own tools, run here: the same guard, no second implementation."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._toolset: Toolset | None = None

    async def __call__(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        from faultless.kit.toolset import Call  # noqa: PLC0415 - only when the server is gone

        if self._toolset is None:
            kind = load("obsidian")
            assert kind.settings is not None  # noqa: S101 - each of our servers has them
            self._toolset = kind.build_toolset(kind.settings(root=self._folder, allow_approvals=True))
        output = await self._toolset.tools[tool].run(arguments, Call())
        return dict(output.payload or {})


def converse(
    work: Callable[[Session], Awaitable[int]],
    *,
    vault: Path,
    state: Path | None,
    account: str,
    gmail_command: str | None,
    obsidian_command: str | None,
) -> int:
    folder, top = vault.resolve(), (state or default_state_folder()).absolute()
    state_folder = locate_account(top, account)
    place = locate_state(state_folder, folder)
    places = ["--state", str(top), "--attach-from", str(folder)]
    gmail = _split(gmail_command) or server_command(
        "gmail", [*places, "--account", account] if account else places
    )
    obsidian = _split(obsidian_command) or server_command(
        "obsidian", ["--vault", str(folder), "--allow-approvals"]
    )

    async def run() -> int:
        async with AsyncExitStack() as stack:
            calls = place / "calls"
            notes = await stack.enter_async_context(Client(obsidian, journal=calls))
            mail = await stack.enter_async_context(Client(gmail, journal=calls))
            session = Session(
                folder,
                Vault(notes, DirectVault(folder), folder),
                Mailer(mail),
                ApprovalStore(state_folder),
                OutboxJournal(place / "journal.jsonl"),
                Machine.of(locate_state(top, folder)),  # one for all its accounts
                account,
            )
            return await work(session)

    return anyio.run(run)


def _split(words: str | None) -> list[str]:
    return shlex.split(words) if words else []
