"""The state of a project's files: what may have changed since a run began, as far as that can be seen."""

from __future__ import annotations

import os
import stat
import time
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_ENTRIES_AT_MOST = 20_000
_BYTECODE = "__pycache__"
_ONLY_NAMES = frozenset({".git", ".hg", ".jj", ".mypy_cache", ".ruff_cache", ".tox", "node_modules"})
"""Large, or rewritten by tools that leave the names alone: a run may ask which files are there, and in the
folders right below; what it opens or lists is seen anyway."""
_CONFIGURATION = (
    "pytest.toml",
    ".pytest.toml",
    "pytest.ini",
    ".pytest.ini",
    "pyproject.toml",
    "tox.ini",
    "setup.cfg",
    "setup.py",
    "conftest.py",
)
"""What pytest looks for in the folders above."""

_Stamp = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Snapshot:
    stamps: Mapping[str, _Stamp]
    today: tuple[int, ...]

    def list_changes(self, other: Snapshot) -> list[str]:
        """Paths that are not in both as they are here."""
        if self.today != other.today:
            return ["the date"]
        if self.stamps == other.stamps:
            return []
        paths = self.stamps.keys() | other.stamps.keys()
        return sorted(path for path in paths if self.stamps.get(path) != other.stamps.get(path))

    def has_source(self, path: str) -> bool:
        found = self.stamps.get(path)
        return path.endswith(".py") and found is not None and stat.S_ISREG(found[0])


def take_snapshot(root: Path, variables: Mapping[str, str]) -> Snapshot | None:
    """None for a project that has too many files to look at before every run."""
    stamps: dict[str, _Stamp] = {}
    for path, stamp in chain(_walk(str(root)), _look_around(root, variables)):
        stamps[path] = stamp
        if len(stamps) > _ENTRIES_AT_MOST:
            return None
    return Snapshot(stamps, time.localtime()[:3])


def _walk(folder: str) -> Iterator[tuple[str, _Stamp]]:
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        try:
            entries = list(os.scandir(here))
        except OSError:
            continue
        if here != folder and any(entry.name == "pyvenv.cfg" for entry in entries):
            continue  # what is installed is looked at by itself
        for entry in entries:
            try:
                status = entry.stat()
                is_folder = entry.is_dir(follow_symlinks=False)
            except OSError:  # gone meanwhile, or a link to nowhere
                yield entry.path, ()
                continue
            if not is_folder:
                yield entry.path, _make_stamp(status)
            elif entry.name in _ONLY_NAMES:
                yield from _walk_names(entry.path)
            elif entry.name != _BYTECODE:
                yield entry.path, (status.st_mode, status.st_ino)
                waiting.append(entry.path)


def _walk_names(folder: str, *, deeper: bool = True) -> Iterator[tuple[str, _Stamp]]:
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    yield folder, (hash(frozenset(entry.name for entry in entries)),)
    for entry in entries if deeper else ():
        if entry.is_dir(follow_symlinks=False):
            yield from _walk_names(entry.path, deeper=False)


def _look_around(root: Path, variables: Mapping[str, str]) -> Iterator[tuple[str, _Stamp]]:
    for parent in root.parents:
        for name in _CONFIGURATION:
            path = f"{parent}/{name}"
            try:
                yield path, _make_stamp(os.stat(path))  # noqa: PTH116 - before every run
            except OSError:
                continue
    for folder in variables.get("PATH", "").split(os.pathsep):
        yield from _walk_names(folder, deeper=False)  # a run may ask which programs there are
    home = variables.get("HOME")
    settings = variables.get("XDG_CONFIG_HOME") or (home and f"{home}/.config")
    for place in filter(None, (home, settings)):
        try:
            names = sorted(os.listdir(place))  # noqa: PTH208 - as above
        except OSError:
            continue
        yield place, (hash(tuple(names)),)
        yield from _list_settings(place, names) if place == settings else ()


def _list_settings(place: str, names: list[str]) -> Iterator[tuple[str, _Stamp]]:
    """Programs ask whether they are configured without opening anything: a new file shows in its folder."""
    for name in names:
        path = f"{place}/{name}"
        try:
            yield path, _make_stamp(os.stat(path))  # noqa: PTH116 - before every run
        except OSError:
            continue


def _make_stamp(status: os.stat_result) -> _Stamp:
    return status.st_mode, status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
