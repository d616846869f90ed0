"""Pytest's command line: options for the tools' parameters, and node ids proved to lie in the project."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from faultless.contract import Fault, clean
from faultless.contract.text import find_near
from faultless.servers.pytest.faults import ask_whether, refuse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from faultless.kit.root import Root
    from faultless.servers.pytest.inputs import DiscoverTests, ExecuteTests

_FILES_AT_MOST = 5000  # looked through for close matches
_SKIPPED_FOLDERS = frozenset({".git", ".hg", ".tox", ".venv", "venv", "node_modules", "__pycache__"})


def write_run(arguments: ExecuteTests, root: Root) -> list[str]:
    """Fault(invalid_params) for the first node id that cannot be one."""
    options = [
        *_write_expressions(arguments.markers, arguments.keywords),
        f"--color={'yes' if arguments.color else 'no'}",
    ]
    if arguments.verbosity:
        options.append(f"--verbosity={arguments.verbosity}")
    if arguments.failfast:
        options.append("--exitfirst")
    if arguments.maxfail is not None:
        options.append(f"--maxfail={arguments.maxfail}")
    if arguments.show_capture is not None or arguments.verbosity < 0:
        options.append(f"--show-capture={'all' if arguments.show_capture else 'no'}")
    if arguments.last_failed:
        options += ["--last-failed", "--last-failed-no-failures=none"]
    for number, node_id in enumerate(arguments.node_ids or []):
        options.append(_resolve(f"node_ids.{number}", node_id, split_node_id(node_id)[0], root))
    return options


def write_discovery(arguments: DiscoverTests, root: Root) -> list[str]:
    options = [
        "--collect-only",
        "--quiet",
        "--color=no",
        "--maxfail=0",
        *_write_expressions(arguments.markers, arguments.keywords),
    ]
    if arguments.pattern is not None:
        options += ["-o", f"python_files={shlex.quote(arguments.pattern)}"]
    if arguments.path is not None:
        options.append(_resolve("path", arguments.path, arguments.path, root))
    return options


def write_lookup(node_ids: Iterable[str]) -> list[str]:
    """Lists the tests of the files that these name."""
    files = sorted({split_node_id(node_id)[0] for node_id in node_ids if "::" in node_id})
    return ["--collect-only", "--quiet", "--color=no", *files]


def _write_expressions(markers: str | None, keywords: str | None) -> list[str]:
    """Attached to their option, so that an expression that starts with a dash is not taken for one."""
    return [
        f"{option}{expression}"
        for option, expression in (("-m", markers), ("-k", keywords))
        if expression is not None
    ]


def split_node_id(node_id: str) -> tuple[str, str]:
    """The path, and the rest with its colons. Brackets belong to parameters, which may hold anything."""
    before, bracket, parameters = node_id.partition("[")
    path, colons, names = before.partition("::")
    return (path, colons + names + bracket + parameters) if colons else (node_id, "")


def suggest(name: str, candidates: Iterable[str]) -> list[str]:
    """Those that differ by a slip; where there are none, those that look alike."""
    known = list(candidates)
    return find_near(name, known, cutoff=0.9) or find_near(name, known, cutoff=0.6)


def _resolve(field: str, text: str, path: str, root: Root) -> str:
    """The text itself, if the path in it names a file or folder of the project."""
    if text.startswith(("-", "@")):
        raise refuse(field, "is an option, not a test: it may not start with '-' or '@'", text)
    if "\0" in text:
        raise refuse(field, "holds a NUL", text)
    if ".." in path.split("/"):
        raise refuse(field, "may not climb with '..'", text)
    try:
        found = root.resolve(path)
    except Fault as fault:
        raise refuse(field, fault.message, text, fault.hint) from None
    if not found.exists():
        hint = ask_whether(suggest(path, _list_python_files(root)))
        raise refuse(field, f"no such file or folder: {clean(path, 200)}", text, hint)
    if not (found.is_file() or found.is_dir()):
        raise refuse(field, "is neither a file nor a folder", text)
    return text


def _list_python_files(root: Root) -> list[str]:
    files: list[str] = []
    for folder, folders, names in os.walk(root.path):
        folders[:] = [name for name in folders if name not in _SKIPPED_FOLDERS]
        below = os.path.relpath(folder, root.path)
        files += [os.path.normpath(f"{below}/{name}") for name in names if name.endswith(".py")]
        if len(files) > _FILES_AT_MOST:
            break
    return files
