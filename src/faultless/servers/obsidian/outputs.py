"""What each tool answers."""

from __future__ import annotations

from typing import Literal

from pydantic import JsonValue

from faultless.kit.toolset import Answer
from faultless.servers.obsidian.links import LinkStyle


class Health(Answer):
    status: Literal["ok"]
    vault_path: str
    note_count: int
    indexed_count: int
    """Notes whose text is in memory by now; the first search reads them all."""
    freshness: Literal["watched", "swept"]
    """How edits by other programs are seen: events from the system, or a look at every file each call."""
    access: Literal["read_write", "read_only"]


class NoteAnswer(Answer):
    path: str
    frontmatter: dict[str, JsonValue]
    template: str | None
    """The frontmatter as written, where `{{date}}` or the like keeps it from being YAML."""
    body: str
    version: str
    """Pass it as `if_version` to change exactly this state."""
    modified: str
    encoding: str


class WrittenNote(NoteAnswer):
    created: bool


class Patched(Answer):
    path: str
    version: str
    changed: bool
    modified: str


class Rewritten(Answer):
    path: str
    links: int


class Moved(Answer):
    moved: bool
    source: str
    destination: str
    version: str
    rewritten: list[Rewritten]
    """Notes whose links were changed to follow, or to keep meaning another note of the same name."""
    captured: list[str]
    """Notes this server may not change, where a link to another note by its name now means this one."""


class ListedNote(Answer):
    path: str
    snippet: str
    modified: str
    unreadable: str | None
    """Why there is no snippet, where the note is there and cannot be read."""


class NoteList(Answer):
    notes: list[ListedNote]
    count: int
    """All that match, on this page or not."""
    folders: list[str]
    next_cursor: str | None


class FoundNote(Answer):
    path: str
    snippet: str
    matched: Literal["title", "heading", "body"]
    line: int
    """Of the hit, counted from 1 at the top of the file; 1 for a hit in the title."""
    modified: str


class SearchResult(Answer):
    notes: list[FoundNote]
    count: int
    next_cursor: str | None


class TagCount(Answer):
    tag: str
    notes: int


class TagList(Answer):
    tags: list[TagCount]
    count: int


class OutgoingLink(Answer):
    path: str
    link: str
    style: LinkStyle
    line: int


class BackLink(Answer):
    path: str
    link: str
    line: int


class BrokenLink(Answer):
    link: str
    line: int
    candidate: str | None
    """A note with such an alias or a similar name."""


class Links(Answer):
    path: str
    outgoing: list[OutgoingLink]
    back: list[BackLink]
    broken: list[BrokenLink]
