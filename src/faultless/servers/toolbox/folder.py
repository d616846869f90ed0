"""A folder of tools: where it is, which files count, whether any changed, and what all of them define."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from faultless.contract import Fault, FaultKind
from faultless.kit import log
from faultless.servers.toolbox import declared, mcbox
from faultless.servers.toolbox.definition import BrokenDefinitionError, Loaded, Skipped
from faultless.servers.toolbox.header import find_mistake, has_header, load_script, tool_name
from faultless.servers.toolbox.python_file import load_python

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping

_FIXED = frozenset({declared.FILE_NAME, *mcbox.FILE_NAMES})
_EXECUTABLE = stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH
Signature = dict[str, tuple[int, int, int]]


def find_folder(root: Path, named: str | None, environment: Mapping[str, str]) -> Path:
    """The folder that was named, else mcbox's by its variable, else `tools` in the root, else mcbox's own.

    A folder that nobody named may come later: the server starts without tools and finds them then.
    """
    chosen = named or environment.get("MCBOX_CONFIG_HOME")
    if chosen:
        path = root / chosen
        if not path.is_dir():
            raise Fault(
                FaultKind.NOT_FOUND,
                f"there is no folder {chosen}",
                hint="create it, or name another: serve toolbox DIR",
            )
        return Path(os.path.realpath(path))
    config = environment.get("XDG_CONFIG_HOME") or str(Path(environment.get("HOME", "/"), ".config"))
    for path in (root / "tools", Path(config, "mcbox")):
        if path.is_dir():
            return Path(os.path.realpath(path))
    log.warn("there is no folder of tools yet; `faultless toolbox new hello` starts one", folder="tools")
    return root / "tools"


def _sign(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size


class Folder:
    def __init__(self, path: Path, files: mcbox.Files) -> None:
        self.path = path
        self.files = files

    def sign(self, imported: Iterable[str]) -> Signature:
        """Differs when a file that can define a tool was added, removed, edited or made executable.

        Schemas in files of their own count as well, and what Python files imported; what tools write beside
        themselves does not.
        """
        signature = {
            entry.path: _sign(found)
            for entry, found in self._files()
            if found.st_mode & _EXECUTABLE
            or entry.name.endswith((".py", ".schema.json"))
            or entry.name in _FIXED
        }
        for path in (*map(str, (self.files.server, self.files.tools, self.files.functions)), *imported):
            with suppress(OSError):
                signature.setdefault(path, _sign(os.stat(path)))  # noqa: PTH116 - a string among strings
        return signature

    async def load(self, describe: Callable[[Path], Awaitable[dict[str, Any]]]) -> Loaded:
        loaded = Loaded()
        names = {entry.name: found.st_mode for entry, found in self._files()}
        for name in self._dangling():
            loaded.skip(name, BrokenDefinitionError("it is a link to nowhere", name=tool_name(Path(name))))
        for name in sorted(names.keys() - _FIXED):
            loaded.add(await self._load_file(name, names[name], describe))
        if declared.FILE_NAME in names:
            loaded.add(declared.load_declared(self.path / declared.FILE_NAME))
        if self.files != mcbox.locate(self.path, {}) or not names.keys().isdisjoint(mcbox.DEFINING):
            loaded.add(mcbox.load_mcbox(self.files))
        return loaded

    async def _load_file(
        self, name: str, mode: int, describe: Callable[[Path], Awaitable[dict[str, Any]]]
    ) -> Loaded:
        loaded = Loaded()
        path = self.path / name
        try:
            if has_header(path) and not mode & _EXECUTABLE:
                reason = f"it is not executable: chmod +x {name}"
                loaded.skip(name, BrokenDefinitionError(reason, name=tool_name(path)))
            elif has_header(path) and (mistake := find_mistake(path)):
                loaded.skip(name, BrokenDefinitionError(mistake, name=tool_name(path)))
            elif has_header(path):
                loaded.definitions.append(load_script(path))
            elif name.endswith(".py"):
                loaded = await load_python(path, describe)
            if mode & _EXECUTABLE and not loaded.definitions and not loaded.skipped:
                reason = "it can be executed but is no tool: say so in a comment, `# @tool What it does`"
                loaded.remarks.append(Skipped(tool_name(path), name, reason))
        except BrokenDefinitionError as broken:
            loaded.skip(name, broken)
        except OSError as problem:
            loaded.skip(name, BrokenDefinitionError(f"cannot be read: {problem.strerror}"))
        return loaded

    def _dangling(self) -> list[str]:
        with suppress(OSError), os.scandir(self.path) as entries:
            return sorted(
                it.name
                for it in entries
                if it.name[0] not in "._" and it.is_symlink() and not Path(it.path).exists()
            )
        return []

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
