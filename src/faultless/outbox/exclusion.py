"""One outbox a vault."""

from __future__ import annotations

import hashlib
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind
from faultless.durable import lock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


LOCK_NAME = ".outbox.lock"


@contextmanager
def exclude_others(vault: Path) -> Iterator[None]:
    """A lock in the vault itself, so that outboxes with different state folders exclude each other too."""
    with lock(vault / LOCK_NAME, wait=False) as held:
        if not held:
            raise Fault(
                FaultKind.CONFLICT,
                "another outbox works on this vault",
                hint="end it first, or leave it to its work",
            )
        yield


def locate_state(state_folder: Path, vault: Path) -> Path:
    """The vault's own folder in the state folder, which must not lie where the vault's server can write."""
    inside = state_folder.resolve().is_relative_to(vault.resolve())
    if inside:
        raise Fault(
            FaultKind.PERMISSION_DENIED,
            "the state folder lies inside the vault, where approvals could be written by its server",
            hint="name another with --state",
        )
    key = hashlib.sha256(os.fsencode(vault.resolve())).hexdigest()[:16]
    return state_folder / "outbox" / key
