"""Which machine works for a vault that several share: the one that a note in Approved/ names."""

from __future__ import annotations

import secrets
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind
from faultless.durable import explained, write_atomically
from faultless.outbox.servers import APPROVED

if TYPE_CHECKING:
    from pathlib import Path

    from faultless.outbox.servers import Vault

_STEM = "Outbox machine"
_PATH = f"{APPROVED}/{_STEM}.md"
_TEXT = """\
A note moved into this folder is approved by that. It is sent by {host}, and by no other machine.
To let another one do it, stop the outbox there, delete this note, and wait until every machine has seen that.
"""


def is_machine_note(path: str) -> bool:
    """It and whatever copies a sync made of it."""
    return path.startswith(f"{APPROVED}/{_STEM}")


@dataclass(frozen=True, slots=True)
class Machine:
    """This machine, known by a token in its state folder."""

    token: str

    @classmethod
    def of(cls, state: Path) -> Machine:
        path = state / "machine"
        with explained("this machine's name"):
            if not path.exists():
                state.mkdir(parents=True, exist_ok=True, mode=0o700)
                write_atomically(path, secrets.token_hex(8))
            return cls(path.read_text(encoding="utf-8").strip())

    async def require_turn(self, vault: Vault) -> bool:
        """Whether the vault names this machine; a conflict if it names another, or more than one."""
        notes = [path for path in await vault.list(APPROVED) if is_machine_note(path)]
        for path in notes:
            fields = (await vault.read(path)).frontmatter
            if path != _PATH or fields.get("outbox_machine") != self.token:
                raise Fault(
                    FaultKind.CONFLICT,
                    f"this vault's mail is sent by {fields.get('outbox_host') or 'another machine'};"
                    f" nothing is approved or sent from here",
                    hint=f"work there; or stop the outbox there and delete {path}",
                )
        return bool(notes)

    async def take_turn(self, vault: Vault) -> None:
        host = socket.gethostname()
        fields = {"outbox_machine": self.token, "outbox_host": host}
        await vault.create(_PATH, fields, _TEXT.format(host=host))
