"""Answers for a person at a terminal: mails as mails, lists as tables."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text


def is_bad_news(tool: str, answer: dict[str, Any]) -> bool:  # noqa: ARG001 - the template's signature
    """No answer of a mailbox is."""
    return False


def render(tool: str, answer: dict[str, Any]) -> RenderableType | None:
    if tool == "list_emails":
        return _render_list(answer["emails"], ("id", "date", "sender", "subject"), answer["next_page_token"])
    if tool == "list_drafts":
        return _render_list(answer["drafts"], ("draft_id", "to", "subject"), answer["next_page_token"])
    if tool == "get_email":
        return _render_email(answer)
    if tool == "get_thread":
        shown = [part for email in answer["messages"] for part in (_render_email(email), Rule())]
        older = [Text(f"{answer['left_out']} older messages are left out", "italic")]
        return Group(*(older if answer["left_out"] else []), *shown[:-1])
    return None


def _render_list(rows: list[dict[str, Any]], columns: tuple[str, ...], more: str | None) -> RenderableType:
    if not rows:
        return Text("none", "dim")
    table = Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(row[column] or "") for column in columns))
    if more is None:
        return table
    return Group(table, Text(f"there are more: page_token={more}", "italic"))


def _render_email(email: dict[str, Any]) -> RenderableType:
    headers = {
        "From": email["sender"],
        "To": email["to"],
        "Cc": email["cc"],
        "Date": email["date"],
        "Subject": email["subject"],
        "Labels": ", ".join(email["labels"]),
    }
    attached = [
        f"part {part['part_id']}: {part['name']} ({part['mime_type']}, {part['size_bytes']} bytes)"
        for part in email["attachments"]
    ]
    return Group(
        *(Text.assemble((f"{name}: ", "cyan"), text) for name, text in headers.items() if text),
        Text(f"\n{email['body']}\n"),
        *(Text.assemble(("attached, ", "cyan"), line) for line in attached),
    )
