"""What the vault's server was started with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from faultless.kit.command import option


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    root: Path
    vault: Path | None = option(None, "The vault, if it is not --root.", metavar="DIR", variable="VAULT_PATH")
    read_only: bool = option(False, "Refuse every change.")
    allow_write: tuple[str, ...] = option(
        (), "Allow changes only in paths like this; repeatable.", metavar="GLOB"
    )
    deny: tuple[str, ...] = option((), "Neither show nor change such paths; repeatable.", metavar="GLOB")
    allow_approvals: bool = option(
        False, "Open Approved/, Done/ and Rejected/, which hold a person's approval; for the outbox only."
    )
    trash_megabytes: int = option(
        256, "How much replaced content .trash/faultless keeps.", metavar="N", at_least=16
    )
