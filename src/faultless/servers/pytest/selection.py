"""Node ids and paths, proved to name something inside the project before pytest sees them."""

from __future__ import annotations

import difflib
import os
from typing import TYPE_CHECKING

from faultless.contract import Fault, clean
from faultless.kit.validation import bounded_echo, invalid_params

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from faultless.contract import Json
    from faultless.kit.root import Root

FILES_AT_MOST = 5000  # looked through for close matches
SKIPPED_FOLDERS = frozenset({".git", ".hg", ".tox", ".venv", "venv", "node_modules", "__pycache__"})


def resolve_node_ids(node_ids: Sequence[str], root: Root) -> list[str]:
    """The arguments for pytest; Fault(invalid_params) for the first that cannot be one."""
    return [_resolve(f"node_ids.{number}", node_id, root) for number, node_id in enumerate(node_ids)]


def resolve_path(path: str, root: Root) -> str:
    return _resolve("path", path, root)


def split_node_id(node_id: str) -> tuple[str, str]:
    """The path, and the rest with its colons. Brackets belong to parameters, which may hold anything."""
    before, bracket, parameters = node_id.partition("[")
    path, colons, names = before.partition("::")
    return (path, colons + names + bracket + parameters) if colons else (node_id, "")


def suggest(name: str, candidates: Iterable[str]) -> list[str]:
    return difflib.get_close_matches(name, list(candidates), n=3, cutoff=0.6)


def _resolve(field: str, text: str, root: Root) -> str:
    if text.startswith(("-", "@")):
        raise refuse(field, "is an option, not a test: it may not start with '-' or '@'", text)
    if "\0" in text:
        raise refuse(field, "holds a NUL", text)
    path, rest = split_node_id(text) if field != "path" else (text, "")
    if ".." in path.split("/"):
        raise refuse(field, "may not climb with '..'", text)
    try:
        found = root.resolve(path)
    except Fault as fault:
        raise refuse(field, fault.message, text, fault.hint) from None
    if not found.exists():
        near = suggest(path, list_files(root))
        hint = f"did you mean {' or '.join(near)}?" if near else "discover_tests lists what there is"
        raise refuse(field, f"no such file or folder: {clean(path, 200)}", text, hint)
    if not (found.is_file() or found.is_dir()):
        raise refuse(field, "is neither a file nor a folder", text)
    return path + rest


def list_files(root: Root) -> list[str]:
    """Python files under the root, for suggestions."""
    files: list[str] = []
    for folder, folders, names in os.walk(root.path):
        folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS]
        below = os.path.relpath(folder, root.path)
        files += [os.path.normpath(f"{below}/{name}") for name in names if name.endswith(".py")]
        if len(files) > FILES_AT_MOST:
            break
    return files


def refuse(field: str, detail: str, value: object, hint: str | None = None) -> Fault:
    violation: dict[str, Json] = {"field": field, "detail": detail, "received_value": bounded_echo(value)}
    return invalid_params([violation], hint=hint or "discover_tests lists what there is")
