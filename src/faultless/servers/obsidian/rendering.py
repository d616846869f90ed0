"""Answers for a person at a terminal."""

from __future__ import annotations

from typing import Any

from rich.console import RenderableType
from rich.markdown import Markdown
from rich.table import Table


def is_bad_news(tool: str, answer: dict[str, Any]) -> bool:
    """Broken links are; a search without hits is not."""
    return tool == "get_links" and bool(answer["broken"])


def render(tool: str, answer: dict[str, Any]) -> RenderableType | None:
    if tool == "read_note":
        return Markdown(answer["body"])
    if tool not in {"search_notes", "list_notes"}:
        return None
    table = Table("note", "snippet", title=f"{answer['count']} notes", title_justify="left")
    for note in answer["notes"]:
        table.add_row(note["path"], note["snippet"])
    return table
