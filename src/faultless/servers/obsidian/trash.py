"""Where replaced content goes: `.trash/faultless/`, one folder a moment, oldest out first."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from faultless.servers.obsidian import files

if TYPE_CHECKING:
    from faultless.servers.obsidian.files import Tree

TRASH = ".trash/faultless"
_RECOUNT_EVERY = 100


class Trash:
    """Bounded in bytes; what is thrown away lies under its own path, so a person can put it back."""

    def __init__(self, tree: Tree, most_bytes: int) -> None:
        self._tree = tree
        self._most_bytes = most_bytes
        self._bytes = 0
        self._until_recount = 0

    def require_room(self) -> None:
        """Fail before anything is replaced if the trash cannot be used."""
        with self._tree.folder(TRASH, create=True):
            pass

    def take(self, folder: int, name: str, path: str) -> None:
        """Move a file of an open folder here, under the path it had in the vault."""
        size = os.stat(name, dir_fd=folder, follow_symlinks=False).st_size
        with self._tree.folder(TRASH, create=True) as trash:
            moment = _fresh_folder(trash)
            with self._tree.parent(f"{TRASH}/{moment}/{path}", create=True) as (place, base):
                files.rename_new(name, base, old_folder=folder, new_folder=place)
            self._bytes += size
            self._until_recount -= 1
            if self._bytes > self._most_bytes or self._until_recount <= 0:
                self._prune(trash, keep=moment)

    def _prune(self, trash: int, keep: str) -> None:
        moments = sorted(name for name in os.listdir(trash) if name[0].isdigit())
        sizes = {name: _weigh(trash, name) for name in moments}
        total = sum(sizes.values())
        for name in moments:
            if total <= self._most_bytes or name == keep:
                break
            _remove(trash, name)
            total -= sizes[name]
        self._bytes = total
        self._until_recount = _RECOUNT_EVERY


def _fresh_folder(trash: int) -> str:
    while True:
        name = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=trash)
            return name


def _weigh(folder: int, name: str) -> int:
    total = 0
    for _, _, inner, here in os.fwalk(name, dir_fd=folder, follow_symlinks=False):
        total += sum(os.stat(file, dir_fd=here, follow_symlinks=False).st_size for file in inner)
    return total


def _remove(folder: int, name: str) -> None:
    for _, folders, plain, here in os.fwalk(name, dir_fd=folder, topdown=False, follow_symlinks=False):
        for file in plain:
            os.unlink(file, dir_fd=here)
        for inner in folders:
            status = os.stat(inner, dir_fd=here, follow_symlinks=False)
            remove = os.rmdir if stat.S_ISDIR(status.st_mode) else os.unlink
            remove(inner, dir_fd=here)
    os.rmdir(name, dir_fd=folder)
