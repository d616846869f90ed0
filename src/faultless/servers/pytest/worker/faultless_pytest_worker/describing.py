"""Test reports, collected tests and broken files as plain values. PYTEST_DONT_REWRITE"""

from __future__ import annotations

import ast
import os
import re
import traceback
from typing import Any, Callable

import pytest

_TEXT_LIMIT = 4 * 1024 * 1024  # of one traceback; more is left out whole
_EXPLAINED = ("ImportPathMismatchError", "Skipped")  # where pytest's own words say what to do
_CAPTURE_LIMIT = 16 * 1024  # of one captured stream; head and tail are kept


def describe_report(report: pytest.TestReport, root: str, show_capture: str) -> dict[str, Any]:
    fields = {"message": None, "text": None, "wasxfail": getattr(report, "wasxfail", None)}
    if hasattr(report, "context"):  # a subtest
        message, values = report.context.msg, report.context.kwargs
        parts = [] if message is None else ["[{}]".format(message)]
        if values:
            parts.append("({})".format(", ".join("{}={}".format(*pair) for pair in values.items())))
        fields["subtest"] = " ".join(parts) or "(<subtest>)"
    if report.skipped:
        fields["message"] = explain_skip(report.longrepr)
    elif report.outcome != "passed":
        fields.update(_describe_failure(report.longrepr, report.longreprtext, root))
        shown = [
            (name, text) for name, text in report.sections if show_capture == "all" or show_capture in name
        ]
        fields["sections"] = [[name, _shorten(text)] for name, text in shown]
    return fields


def _describe_failure(longrepr: Any, text: str, root: str) -> dict[str, Any]:
    if text.startswith(("def ", "async def ", "@")):
        text = "    " + text  # pytest strips the whole, and with it the first line's indentation
    crash = getattr(longrepr, "reprcrash", None)
    if crash is None:  # pytest's own words, about a doctest or a fixture
        text = re.sub("(?m)^(file )?" + re.escape(root + os.sep), r"\1", text)
    message = text if crash is None else crash.message
    if message.startswith("assert ") or message == "assert":
        message = "AssertionError: " + message
    located = [
        (entry.reprfileloc.path, entry.reprfileloc.lineno)
        for entry in getattr(getattr(longrepr, "reprtraceback", None), "reprentries", ())
        if getattr(entry, "reprfileloc", None)
    ]
    if not located and crash is not None:
        located = [(crash.path, crash.lineno)]
    located = [(relate(path, root), line) for path, line in located]
    own = [place for place in located if not os.path.isabs(place[0]) and "site-packages" not in place[0]]
    chosen = own or located
    return {"message": bound(message), "text": bound(text), "frame": chosen[-1] if chosen else None}


def explain_skip(longrepr: Any) -> str:
    reason = longrepr[2] if isinstance(longrepr, tuple) else str(longrepr)
    prefix = "Skipped: "
    return reason[len(prefix) :] if reason.startswith(prefix) else reason


def name_node(report: pytest.TestReport) -> str | None:
    node = vars(report).get("node")
    return None if node is None else getattr(getattr(node, "gateway", None), "id", None)


def bound(text: str) -> str:
    """Whole or not at all: half a traceback misleads."""
    return text if len(text) <= _TEXT_LIMIT else "[left out: {:,} characters]".format(len(text))


def _shorten(text: str) -> str:
    if len(text) <= _CAPTURE_LIMIT:
        return text
    half = _CAPTURE_LIMIT // 2
    marker = "\n[{:,} characters left out]\n".format(len(text) - 2 * half)
    return text[:half] + marker + text[-half:]


def relate(path: object, root: str) -> str:
    path = str(path)
    return path[len(root) + 1 :] if path.startswith(root + os.sep) else path


def describe_error(exception: BaseException, path: str, root: str) -> dict[str, Any]:
    """A collection error by the exception itself, its traceback starting at the user's file."""
    name = type(exception).__name__
    cause = exception.__cause__
    is_explained = type(cause).__name__ in _EXPLAINED
    if name in ("CollectError", "Failed") and cause is not None and not is_explained:
        exception = cause
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
        "line": _find_line(exception, path),
        "traceback": _format_from_user(exception, path).replace(root + os.sep, ""),
    }


def _find_line(exception: BaseException, path: str) -> int | None:
    if isinstance(exception, SyntaxError) and exception.filename == path:
        return exception.lineno
    lines = [
        line for frame, line in traceback.walk_tb(exception.__traceback__) if frame.f_code.co_filename == path
    ]
    return lines[-1] if lines else None


def _format_from_user(exception: BaseException, path: str) -> str:
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


class _DefinitionLines:
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
    lines = _DefinitionLines()
    described = []
    for item in items:
        classes = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
        path, line = item.reportinfo()[:2]
        marks = dict.fromkeys(mark.name for mark in item.iter_markers() if mark.name != "parametrize")
        described.append(
            {
                "node_id": rename(item.nodeid),
                "class": ".".join(classes) or None,
                "function": getattr(item, "originalname", None) or item.name,
                "file": relate(path, root),
                "line": None if line is None else lines.find(str(path), line + 1),
                "markers": list(marks),
            }
        )
    return described
