"""Answers for a person at a terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.syntax import Syntax
from rich.text import Text

_BAD_NEWS = {"counterexample", "found", "different"}
_OPEN = {"timeout", "partial"}


def is_bad_news(_tool: str, answer: dict[str, Any]) -> bool:
    return answer.get("status") in _BAD_NEWS


def render(tool: str, answer: dict[str, Any]) -> RenderableType | None:
    if "message" not in answer:
        return None
    status = answer["status"]
    colour = "red" if is_bad_news(tool, answer) else ("yellow" if status in _OPEN else "green")
    text = Text.assemble((f"{status}  ", f"bold {colour}"), answer["message"])
    shown = [*answer.get("counterexamples", []), *answer.get("triggering_inputs", [])]
    shown += [answer["distinguishing_input"]] if answer.get("distinguishing_input") else []
    return Group(text, *(Syntax(item["reproduction"], "python") for item in shown))
