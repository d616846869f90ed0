"""What a move is about to do, on disk before it is done, so that a kill cannot leave half of it."""

from __future__ import annotations

import json
import os
import secrets
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from faultless.kit import log
from faultless.servers.obsidian.trash import FOLDER
from faultless.servers.obsidian.tree import read_at

if TYPE_CHECKING:
    from faultless.servers.obsidian.tree import Tree

NAME = "journal.json"
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Rename:
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Rewrite:
    """`temp` lies beside `path` and holds version `new` before the swap, version `old` after it."""

    path: str
    temp: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Transaction:
    rename: Rename
    rewrites: tuple[Rewrite, ...]
    version_moved: str
    """What the moved note holds when it arrives."""


class Journal:
    """At most one transaction, in the trash folder; to be used under the vault's lock."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def exists(self) -> bool:
        return self._tree.status(f"{FOLDER}/{NAME}") is not None

    def begin(self, transaction: Transaction) -> None:
        """From here on the move will be completed, by us or by whoever comes next."""
        self._write(transaction, forward=True)

    def turn_back(self, transaction: Transaction) -> None:
        """From here on it will be undone."""
        self._write(transaction, forward=False)

    def end(self) -> None:
        with self._tree.folder(FOLDER) as folder:
            with suppress(FileNotFoundError):
                os.unlink(NAME, dir_fd=folder)
            os.fsync(folder)

    def load(self) -> tuple[Transaction, bool] | None:
        try:
            with self._tree.folder(FOLDER) as folder:
                found = json.loads(read_at(folder, NAME, f"{FOLDER}/{NAME}").data)
        except FileNotFoundError:
            return None
        except ValueError:  # not ours: we only ever put a whole one in place
            log.error("the move journal cannot be read and is left alone")
            return None
        rewrites = tuple(Rewrite(**rewrite) for rewrite in found["rewrites"])
        transaction = Transaction(Rename(**found["rename"]), rewrites, found["version_moved"])
        return transaction, found["forward"]

    def _write(self, transaction: Transaction, *, forward: bool) -> None:
        data = json.dumps({**asdict(transaction), "forward": forward}).encode()
        temp = f"{NAME}.{secrets.token_hex(8)}"
        with self._tree.folder(FOLDER, create=True) as folder:
            descriptor = os.open(temp, _NEW_FILE, 0o600, dir_fd=folder)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(descriptor)
            os.rename(temp, NAME, src_dir_fd=folder, dst_dir_fd=folder)
            os.fsync(folder)
