"""Answers for a person at a terminal: those of other people's tools are shown as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import RenderableType


def is_bad_news(_tool: str, _answer: dict[str, Any]) -> bool:
    """A tool says that something is wrong by failing, and then there is no answer."""
    return False


def render(_tool: str, _answer: dict[str, Any]) -> RenderableType | None:
    return None
