"""Test reports as plain values. PYTEST_DONT_REWRITE"""

from __future__ import annotations

import os
from typing import Any

import pytest

TEXT_LIMIT = 4 * 1024 * 1024  # of one traceback; more is left out whole
CAPTURE_LIMIT = 16 * 1024  # of one captured stream; head and tail are kept


def describe_report(report: pytest.TestReport, root: str, show_capture: str) -> dict[str, Any]:
    fields = {"message": None, "text": None, "wasxfail": getattr(report, "wasxfail", None)}
    if hasattr(report, "context"):
        fields["subtest"] = name_subtest(report.context)
    if report.skipped:
        fields["message"] = explain_skip(report.longrepr)
    elif report.outcome != "passed":
        fields.update(describe_failure(report.longrepr, report.longreprtext, root))
        shown = [
            (name, text) for name, text in report.sections if show_capture == "all" or show_capture in name
        ]
        fields["sections"] = [[name, shorten(text)] for name, text in shown]
    return fields


def describe_failure(longrepr: Any, text: str, root: str) -> dict[str, Any]:
    if text.startswith(("def ", "async def ", "@")):
        text = "    " + text  # pytest strips the whole, and with it the first line's indentation
    crash = getattr(longrepr, "reprcrash", None)
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


def name_subtest(context: Any) -> str:
    parts = [] if context.msg is None else ["[{}]".format(context.msg)]
    if context.kwargs:
        parts.append("({})".format(", ".join("{}={}".format(*pair) for pair in context.kwargs.items())))
    return " ".join(parts) or "(<subtest>)"


def name_node(report: pytest.TestReport) -> str | None:
    node = vars(report).get("node")
    return None if node is None else getattr(getattr(node, "gateway", None), "id", None)


def bound(text: str) -> str:
    """Whole or not at all: half a traceback misleads."""
    return text if len(text) <= TEXT_LIMIT else "[left out: {:,} characters]".format(len(text))


def shorten(text: str) -> str:
    if len(text) <= CAPTURE_LIMIT:
        return text
    half = CAPTURE_LIMIT // 2
    marker = "\n[{:,} characters left out]\n".format(len(text) - 2 * half)
    return text[:half] + marker + text[-half:]


def relate(path: object, root: str) -> str:
    path = str(path)
    return path[len(root) + 1 :] if path.startswith(root + os.sep) else path
