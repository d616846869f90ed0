"""Which Python runs the project's tests, and why that one.

1. --python
2. .venv or venv in the root, or in a parent up to the repository's top
3. VIRTUAL_ENV, then CONDA_PREFIX
4. python on PATH

A virtual environment that only holds this server is never the answer of 3 and 4: a tool runner puts its own
first.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from faultless.contract import Fault, FaultKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from faultless.contract import Json

FOLDER_NAMES = (".venv", "venv")
REPOSITORY_MARKS = (".git", ".hg", ".jj")
HOW_TO_CHOOSE = "start the server with --python PATH, or create .venv in the project's folder"


@dataclass(frozen=True, slots=True)
class Interpreter:
    path: Path
    reason: str

    def describe(self) -> dict[str, Json]:
        return {"path": str(self.path), "reason": self.reason}

    @property
    def environment(self) -> Path | None:
        """The virtual environment it belongs to."""
        folder = self.path.parent.parent
        return folder if (folder / "pyvenv.cfg").is_file() else None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the search looks at besides the project: given, so that tests can give another."""

    variables: Mapping[str, str]
    own_environment: Path | None  # the virtual environment this server is installed in

    @classmethod
    def of_this_process(cls) -> Surroundings:
        is_virtual = sys.prefix != sys.base_prefix
        return cls(os.environ, Path(sys.prefix) if is_virtual else None)


def find_interpreter(root: Path, chosen: Path | None, surroundings: Surroundings) -> Interpreter:
    if chosen is not None:
        return Interpreter(chosen, "--python")
    found = next(_search(root, surroundings), None)
    if found is None:
        raise Fault(
            FaultKind.UNAVAILABLE,
            "Failed to spawn pytest subprocess: no Python interpreter found for this project",
            hint=HOW_TO_CHOOSE,
        )
    return found


def _search(root: Path, surroundings: Surroundings) -> Iterator[Interpreter]:
    for folder in list_project_folders(root):
        for name in FOLDER_NAMES:
            if (folder / name / "pyvenv.cfg").is_file() or find_python_in(folder / name).is_file():
                where = "in the root" if folder == root else f"in {folder}"
                yield Interpreter(find_python_in(folder / name), f"{name} {where}")
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        prefix = surroundings.variables.get(variable)
        if prefix and not _is_only_ours(Path(prefix), root, surroundings):
            yield Interpreter(find_python_in(Path(prefix)), variable)
    on_path = _find_on_path(root, surroundings)
    if on_path is not None:
        yield Interpreter(on_path, "python on PATH")


def list_project_folders(root: Path) -> list[Path]:
    """The root and its parents up to the repository's top; the root alone outside a repository."""
    above = [root, *root.parents]
    for number, folder in enumerate(above):
        if any((folder / mark).exists() for mark in REPOSITORY_MARKS):
            return above[: number + 1]
    return [root]


def find_python_in(prefix: Path) -> Path:
    return prefix / "bin" / "python"


def _find_on_path(root: Path, surroundings: Surroundings) -> Path | None:
    entries = surroundings.variables.get("PATH", os.defpath).split(os.pathsep)
    usable = [
        entry for entry in entries if entry and not _is_only_ours(Path(entry).parent, root, surroundings)
    ]
    for name in ("python", "python3"):
        found = shutil.which(name, path=os.pathsep.join(usable))
        if found:
            return Path(found)
    return None


def _is_only_ours(prefix: Path, root: Path, surroundings: Surroundings) -> bool:
    own = surroundings.own_environment
    return own is not None and prefix.resolve() == own.resolve() and not _holds_project(own, root)


def _holds_project(environment: Path, root: Path) -> bool:
    """Whether the project is installed there from its own folder."""
    for record in environment.glob("lib/python*/site-packages/*.dist-info/direct_url.json"):
        try:
            address = urlsplit(str(json.loads(record.read_text("utf-8")).get("url")))
        except (OSError, ValueError):
            continue
        source = Path(unquote(address.path))
        if address.scheme == "file" and (root.is_relative_to(source) or source.is_relative_to(root)):
            return True
    return False
