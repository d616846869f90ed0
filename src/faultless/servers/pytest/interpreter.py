"""Which Python runs the project's tests and why that one, with which variables, and whether it can.

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

from faultless import process
from faultless.contract import Fault, FaultKind, clean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from faultless.contract import Json

_OLDEST_PYTHON, _OLDEST_PYTEST = (3, 8), 7
_FOLDER_NAMES = (".venv", "venv")
_REPOSITORY_MARKS = (".git", ".hg", ".jj")
_FOREIGN_VARIABLES = frozenset(
    {
        "PYTEST_CURRENT_TEST",
        "PYTEST_VERSION",
        "PYTEST_XDIST_TESTRUNUID",
        "PYTEST_XDIST_WORKER",
        "PYTEST_XDIST_WORKER_COUNT",
        "PYTHONHOME",
        "VIRTUAL_ENV",
        "VIRTUAL_ENV_PROMPT",
        "__PYVENV_LAUNCHER__",
    }
)
"""Traces of a pytest that started this server, and of this server's own interpreter."""
_PROBE_SECONDS = 30.0
_PROBE = """
import json, sys
found = {"python": list(sys.version_info[:3]), "pytest": None, "error": None}
try:
    import pytest
    found["pytest"] = pytest.__version__
except BaseException as error:
    found["error"] = type(error).__name__ + ": " + str(error)
print(json.dumps(found))
"""


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


@dataclass(frozen=True, slots=True)
class Problem:
    """Why an interpreter cannot run pytest for us."""

    text: str
    fix: str


def _refuse_broken(environment: Path) -> None:
    """An environment that was meant and cannot be used is not passed over in silence."""
    is_one = environment.is_symlink() or (environment / "pyvenv.cfg").is_file()
    if is_one and not (environment / "bin" / "python").exists():
        raise Fault(
            FaultKind.UNAVAILABLE,
            f"{environment} has no bin/python, or one that leads nowhere",
            hint=f"recreate it (python -m venv --clear {environment}), or use --python PATH",
        )


def find_interpreter(root: Path, chosen: Path | None, surroundings: Surroundings) -> Interpreter:
    """Fault(unavailable) if there is none."""
    if chosen is not None:
        return Interpreter(chosen, "--python")
    for folder in _list_project_folders(root):
        for name in _FOLDER_NAMES:
            python = folder / name / "bin" / "python"
            _refuse_broken(folder / name)
            if (folder / name / "pyvenv.cfg").is_file() or python.is_file():
                return Interpreter(python, f"{name} {'in the root' if folder == root else f'in {folder}'}")
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        prefix = surroundings.variables.get(variable)
        if prefix and not _is_only_ours(Path(prefix), root, surroundings):
            return Interpreter(Path(prefix) / "bin" / "python", variable)
    entries = surroundings.variables.get("PATH", os.defpath).split(os.pathsep)
    usable = [
        entry for entry in entries if entry and not _is_only_ours(Path(entry).parent, root, surroundings)
    ]
    for name in ("python", "python3"):
        found = shutil.which(name, path=os.pathsep.join(usable))
        if found:
            return Interpreter(Path(found), "python on PATH")
    raise Fault(
        FaultKind.UNAVAILABLE,
        "no Python interpreter found for this project",
        hint="start the server with --python PATH, or create .venv in the project's folder",
    )


def _list_project_folders(root: Path) -> list[Path]:
    """The root and its parents up to the repository's top; the root alone outside a repository."""
    above = [root, *root.parents]
    for number, folder in enumerate(above):
        if any((folder / mark).exists() for mark in _REPOSITORY_MARKS):
            return above[: number + 1]
    return [root]


def _is_only_ours(prefix: Path, root: Path, surroundings: Surroundings) -> bool:
    """Whether this server lives there, and the project is not installed there from its own folder."""
    own = surroundings.own_environment
    if own is None or prefix.resolve() != own.resolve():
        return False
    for record in own.glob("lib/python*/site-packages/*.dist-info/direct_url.json"):
        try:
            address = urlsplit(str(json.loads(record.read_text("utf-8")).get("url")))
        except (OSError, ValueError):
            continue
        source = Path(unquote(address.path))
        if address.scheme == "file" and (root.is_relative_to(source) or source.is_relative_to(root)):
            return False
    return True


def make_variables(interpreter: Interpreter, surroundings: Surroundings) -> dict[str, str]:
    """As a shell would have them with the interpreter's environment activated."""
    variables = {
        name: value for name, value in surroundings.variables.items() if name not in _FOREIGN_VARIABLES
    }
    entries = surroundings.variables.get("PATH", os.defpath).split(os.pathsep)
    if surroundings.own_environment is not None:
        entries = [entry for entry in entries if Path(entry) != surroundings.own_environment / "bin"]
    environment = interpreter.environment
    if environment is not None:
        variables["VIRTUAL_ENV"] = str(environment)
        entries = [str(interpreter.path.parent), *entries]
    variables["PATH"] = os.pathsep.join(entries)
    return variables


async def find_problem(interpreter: Interpreter, root: Path, variables: Mapping[str, str]) -> Problem | None:
    """Asked only when a run got nowhere, and by the doctor: it takes as long as importing pytest."""
    spec = process.Spec(
        command=[str(interpreter.path), "-c", _PROBE],
        cwd=root,
        env=variables,
        deadline_seconds=_PROBE_SECONDS,
    )
    try:
        finished = await process.run(spec)
        found = json.loads(finished.stdout.text.strip().splitlines()[-1])
    except (Fault, ValueError, IndexError) as error:
        said = error.message if isinstance(error, Fault) else "it does not run Python code"
        return Problem(said, "recreate the environment, or start the server with --python PATH")
    if tuple(found["python"]) < _OLDEST_PYTHON:
        return Problem(f"it is Python {'.'.join(map(str, found['python']))}", "use Python 3.8 or later")
    if found["pytest"] is None:
        return Problem(
            f"pytest cannot be imported there ({clean(found['error'], 300)})",
            f"{interpreter.path} -m pip install pytest",
        )
    if int(found["pytest"].split(".")[0]) < _OLDEST_PYTEST:
        return Problem(
            f"it has pytest {found['pytest']}, and {_OLDEST_PYTEST} or later is needed",
            f"{interpreter.path} -m pip install --upgrade pytest",
        )
    return None
