"""Collected tests and broken files as plain values. PYTEST_DONT_REWRITE"""

from __future__ import annotations

import ast
import os
import traceback
from typing import Any, Callable

import pytest

from .reports import relate


def describe_error(exception: BaseException, path: str, root: str) -> dict[str, Any]:
    """A collection error by the exception itself, its traceback starting at the user's file."""
    name = type(exception).__name__
    if name in ("CollectError", "Failed") and exception.__cause__ is not None:
        exception = exception.__cause__
        name = type(exception).__name__
    text = str(exception).replace(root + os.sep, "")
    if name in ("CollectError", "Failed", "UsageError"):
        return {
            "file": relate(path, root),
            "error_type": "CollectionError",
            "message": text,
            "line": None,
            "traceback": text,
        }
    return {
        "file": relate(path, root),
        "error_type": name,
        "message": text or name,
        "line": find_line(exception, path),
        "traceback": format_from_user(exception, path).replace(root + os.sep, ""),
    }


def find_line(exception: BaseException, path: str) -> int | None:
    if isinstance(exception, SyntaxError) and exception.filename == path:
        return exception.lineno
    lines = [
        line for frame, line in traceback.walk_tb(exception.__traceback__) if frame.f_code.co_filename == path
    ]
    return lines[-1] if lines else None


def format_from_user(exception: BaseException, path: str) -> str:
    """As Python prints it, without the frames of the import system and of pytest above the user's file."""
    formatted = traceback.TracebackException.from_exception(exception)
    step: traceback.TracebackException | None = formatted
    while step is not None:
        names = [frame.filename for frame in step.stack]
        first = names.index(path) if path in names else len(names)
        step.stack[:] = [
            frame for frame in step.stack[first:] if not frame.filename.startswith("<frozen importlib")
        ]
        step = step.__cause__ or step.__context__
    return "".join(line for line in formatted.format() if line).strip("\n")


def guess_error(text: str, name: str) -> dict[str, Any]:
    """A collection error of an xdist worker arrives as text only."""
    marked = [line[1:].strip() for line in text.splitlines() if line.startswith("E ")] or [text.strip()]
    kind, colon, message = marked[-1].partition(": ")
    if not colon or not kind.replace(".", "").isidentifier():
        kind, message = "CollectionError", marked[-1]
    return {
        "file": name.partition("::")[0],
        "error_type": kind.rpartition(".")[-1],
        "message": message,
        "line": None,
        "traceback": text,
    }


class DefinitionLines:
    """The line of `def`, where pytest gives that of the first decorator."""

    def __init__(self) -> None:
        self._files: dict[str, dict[int, int]] = {}

    def find(self, path: str, line: int) -> int:
        if path not in self._files:
            self._files[path] = self._read(path)
        return self._files[path].get(line, line)

    def _read(self, path: str) -> dict[int, int]:
        try:
            with open(path, "rb") as file:
                tree = ast.parse(file.read())
        except (OSError, SyntaxError, ValueError, RecursionError):
            return {}
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        decorated = [node for node in ast.walk(tree) if isinstance(node, kinds) and node.decorator_list]
        return {min(mark.lineno for mark in node.decorator_list): node.lineno for node in decorated}


def describe_items(items: list[pytest.Item], rename: Callable[[str], str], root: str) -> list[dict[str, Any]]:
    lines = DefinitionLines()
    return [describe_item(item, rename, root, lines) for item in items]


def describe_item(
    item: pytest.Item, rename: Callable[[str], str], root: str, lines: DefinitionLines
) -> dict[str, Any]:
    classes = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
    path, line = item.reportinfo()[:2]
    marks = dict.fromkeys(mark.name for mark in item.iter_markers() if mark.name != "parametrize")
    return {
        "node_id": rename(item.nodeid),
        "class": ".".join(classes) or None,
        "function": getattr(item, "originalname", None) or item.name,
        "file": relate(path, root),
        "line": None if line is None else lines.find(str(path), line + 1),
        "markers": list(marks),
    }


def keep_last_failed(session: pytest.Session) -> None:
    """Only what failed last; pytest itself runs the whole selection when none of that is in it."""
    plugin = session.config.pluginmanager.get_plugin("lfplugin")
    known = {str(nodeid) for nodeid in getattr(plugin, "lastfailed", ())}
    dropped = [item for item in session.items if str(item.nodeid) not in known]
    if dropped:
        session.items[:] = [item for item in session.items if str(item.nodeid) in known]
        session.config.hook.pytest_deselected(items=dropped)
