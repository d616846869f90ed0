"""What is installed for an interpreter, as far as it decides what a process of it would load."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

Stamp = tuple[str, int, int]


def fingerprint(interpreter: Path) -> tuple[Stamp, ...]:
    """The interpreter, its site-packages folders and their .pth files. Installing anything changes it."""
    folders = site_folders(interpreter)
    links = [path for folder in folders for path in sorted(folder.glob("*.pth"))]
    return tuple(_stamp(path) for path in (interpreter, *folders, *links))


@lru_cache(maxsize=64)
def site_folders(interpreter: Path) -> tuple[Path, ...]:
    """Found by their place, so that nothing has to be run."""
    home = interpreter.parent.parent
    base = interpreter.resolve().parent.parent
    found = [
        folder
        for prefix in dict.fromkeys((home, base))
        for library in ("lib", "lib64")
        for pattern in ("python3*/site-packages", "python3/dist-packages", "python3*/dist-packages")
        for folder in sorted((prefix / library).glob(pattern))
    ]
    return tuple(dict.fromkeys(folder.resolve() for folder in found))


def _stamp(path: Path) -> Stamp:
    try:
        status = os.stat(path)  # noqa: PTH116 - before every run
    except OSError:
        return str(path), 0, 0
    return str(path), status.st_mtime_ns, status.st_size
