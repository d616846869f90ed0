"""A folder of tools: which files count, whether any changed, and what all of them define."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any

from faultless.servers.toolbox import declared, mcbox
from faultless.servers.toolbox.definition import BrokenDefinitionError, Definition, Loaded
from faultless.servers.toolbox.header import has_header, load_script, tool_name
from faultless.servers.toolbox.python_file import load_python

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

_FIXED = frozenset({declared.FILE_NAME, *mcbox.FILE_NAMES})
_EXECUTABLE = stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH
Signature = dict[str, tuple[int, int, int]]


class Folder:
    def __init__(self, path: Path) -> None:
        self.path = path

    def sign(self) -> Signature:
        """Differs when a file that can define a tool was added, removed, edited or made executable.

        Schemas in files of their own count as well; what tools write beside themselves does not.
        """
        return {
            entry.name: (found.st_mtime_ns, found.st_ctime_ns, found.st_size)
            for entry, found in self._files()
            if _counts(entry.name, found.st_mode)
        }

    async def load(self, describe: Callable[[Path], Awaitable[dict[str, Any]]]) -> Loaded:
        loaded = Loaded()
        names = {entry.name: found.st_mode for entry, found in self._files()}
        for name in sorted(names.keys() - _FIXED):
            loaded.add(await self._load_file(name, names[name], describe))
        if declared.FILE_NAME in names:
            loaded.add(declared.load_declared(self.path / declared.FILE_NAME))
        if mcbox.TOOLS in names:
            loaded.add(mcbox.load_mcbox(self.path))
        return loaded

    def identify(self) -> mcbox.Identity:
        return mcbox.load_identity(self.path)

    async def _load_file(
        self, name: str, mode: int, describe: Callable[[Path], Awaitable[dict[str, Any]]]
    ) -> Loaded:
        loaded = Loaded()
        path = self.path / name
        try:
            if has_header(path):
                loaded.definitions.append(_load_executable(path, mode))
            elif name.endswith(".py"):
                return await load_python(path, describe)
        except BrokenDefinitionError as broken:
            loaded.skip(name, broken)
        except OSError as problem:
            loaded.skip(name, BrokenDefinitionError(f"cannot be read: {problem.strerror}"))
        return loaded

    def _files(self) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
        """Regular files, links to such included; names that start with . or _ are nobody's tools."""
        try:
            entries = list(os.scandir(self.path))
        except OSError:
            return
        for entry in entries:
            if entry.name[0] in "._":
                continue
            try:
                found = entry.stat()
            except OSError:
                continue
            if stat.S_ISREG(found.st_mode):
                yield entry, found


def _load_executable(path: Path, mode: int) -> Definition:
    if not mode & _EXECUTABLE:
        raise BrokenDefinitionError(f"it is not executable: chmod +x {path.name}", name=tool_name(path))
    return load_script(path)


def _counts(name: str, mode: int) -> bool:
    return bool(mode & _EXECUTABLE) or name.endswith((".py", ".schema.json")) or name in _FIXED
