"""Answers for a person at a terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from faultless.servers.pytest.printed import leave_out_message

_STYLES = {"passed": "green", "failed": "bold red", "error": "bold red", "skipped": "yellow"}


def is_bad_news(tool: str, answer: dict[str, Any]) -> bool:
    if tool == "discover_tests":
        return bool(answer["collection_errors"])
    summary = answer["summary"]
    return bool(answer["exit_code"] != 0 or summary["failed"] or summary["errors"])


def render(tool: str, answer: dict[str, Any]) -> RenderableType:
    if tool == "discover_tests":
        return _render_discovery(answer)
    parts: list[RenderableType] = []
    for test in answer["tests"]:
        parts += _render_test(test)
    parts += _render_errors(answer["collection_errors"])
    parts.append(_render_summary(answer))
    if "hint" in answer:
        parts.append(Text(answer["hint"], style="italic"))
    return Group(*parts)


def _render_test(test: dict[str, Any]) -> list[RenderableType]:
    line = Text.assemble((f"{test['outcome']:>7} ", _STYLES[test["outcome"]]), test["node_id"])
    if test["traceback"] is not None:
        is_told = leave_out_message(test["traceback"], test["message"]) != test["traceback"]
        text = test["traceback"] if is_told else f"{test['message']}\n{test['traceback']}".rstrip("\n")
        shown: list[RenderableType] = [line, Padding(Text(text), (0, 0, 1, 8))]
    elif test["message"]:
        shown = [line.append(f" ({test['message']})", style="dim")]
    else:
        shown = [line]
    if "same_cause" in test:
        cause = test["same_cause"]
        names = ", ".join(cause["node_ids"])
        shown.append(Padding(Text(f"and {cause['count']} more for the same cause: {names}"), (0, 0, 1, 8)))
    return shown


def _render_summary(answer: dict[str, Any]) -> Text:
    summary = answer["summary"]
    told = [
        (f"{summary.get(field, 0)} {field.replace('_', ' ')}", _STYLES.get(field.removesuffix("s"), ""))
        for field in ("passed", "failed", "errors", "skipped", "not_run", "deselected")
        if summary.get(field) or field == "passed"
    ]
    line = Text(", ").join(Text(words, style=style) for words, style in told)
    return line.append(f" in {summary['duration']:.2f} s")


def _render_errors(errors: list[dict[str, Any]]) -> list[RenderableType]:
    shown: list[RenderableType] = []
    for error in errors:
        place = error["file"] if error["line"] is None else f"{error['file']}:{error['line']}"
        shown.append(Text.assemble(("broken ", _STYLES["error"]), f"{place}: {error['error_type']}"))
        shown.append(Padding(Text(error["traceback"] or error["message"]), (0, 0, 1, 8)))
    return shown


def _render_discovery(answer: dict[str, Any]) -> RenderableType:
    names = answer["node_ids"] or [test["node_id"] for test in answer["tests"]]
    lines: list[RenderableType] = [Text(name) for name in names]
    lines += _render_errors(answer["collection_errors"])
    more = f"; the next page starts at {answer['next_offset']}" if answer["next_offset"] is not None else ""
    return Group(*lines, Text(f"{answer['count']} tests{more}", style="bold"))
