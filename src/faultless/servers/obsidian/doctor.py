"""What `faultless doctor` says about serving a vault."""

from __future__ import annotations

import os
from pathlib import Path

from faultless.kit.command import Check
from faultless.servers.obsidian.watch import file_system_of, open_watcher


def diagnose(root: Path) -> list[Check]:
    """Whether the vault can be written and watched."""
    vault = Path(os.environ.get("VAULT_PATH") or root)
    writable = os.access(vault, os.W_OK)
    access = Check("vault", writable, str(vault), "give write access, or serve with --read-only")
    if not vault.is_dir():
        return [access]
    watcher = open_watcher(vault)
    told = f"{file_system_of(vault)}, {'watched' if watcher else 'swept at each call'}"
    if watcher is not None:
        watcher.close()
    return [access, Check("freshness", watcher is not None, told, "keep the vault on a local disk")]
