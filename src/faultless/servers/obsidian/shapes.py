"""What goes into each tool and what comes out."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue, StringConstraints

from faultless.kit.toolset import Answer, Arguments
from faultless.servers.obsidian.links import LinkStyle
from faultless.servers.obsidian.patch import Operation, TargetKind

MOST_LISTED = 500
SNIPPET_CHARACTERS = 200

NotePath = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Word = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Version = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Limit = Annotated[int, Field(ge=1, le=MOST_LISTED)]
# Strict models take enums as such only; the wire brings their names.
OperationName = Annotated[Operation, Field(strict=False)]
TargetName = Annotated[TargetKind, Field(strict=False)]


class HealthCheck(Arguments):
    pass


class Health(Answer):
    status: Literal["ok"]
    vault_path: str
    note_count: int
    indexed_count: int
    """Notes whose text is in memory by now; the first search reads them all."""
    freshness: Literal["watched", "swept"]
    """How edits by other programs are seen: events from the system, or a look at every file each call."""
    access: Literal["read_write", "read_only"]


class ReadNote(Arguments):
    path: NotePath
    """Relative to the vault, like `Projects/Plan.md`."""


class NoteAnswer(Answer):
    path: str
    frontmatter: dict[str, JsonValue]
    body: str
    version: str
    """Pass it as `if_version` to change exactly this state."""
    modified: str
    encoding: str


class WriteNote(Arguments):
    path: NotePath
    frontmatter: dict[str, JsonValue] = Field(default_factory=dict)
    body: str | None = None
    """Left out: the body stays as it is (empty for a new note)."""
    frontmatter_mode: Literal["merge", "replace"] = "merge"
    if_version: Version | None = None
    overwrite: bool = False
    """Write although this note was never shown in this session."""


class WrittenNote(NoteAnswer):
    created: bool


class PatchNote(Arguments):
    path: NotePath
    operation: OperationName
    target_type: TargetName
    target: str = ""
    """A heading (`Tasks`, or `Day::Tasks` where it stands twice), a block id, or a frontmatter key."""
    content: JsonValue
    """Text; for a frontmatter key any value."""
    subsections: bool = True
    """Whether a heading's section reaches over its subheadings."""
    create_missing: bool = False
    """Make the heading if the note has none."""
    if_version: Version | None = None


class Patched(Answer):
    path: str
    version: str
    changed: bool
    modified: str


class MoveNote(Arguments):
    source: NotePath
    destination: NotePath
    """Must not exist; folders are made."""
    update_links: bool = True
    if_version: Version | None = None


class Rewritten(Answer):
    path: str
    links: int


class Moved(Answer):
    moved: bool
    source: str
    destination: str
    version: str
    rewritten: list[Rewritten]
    """Notes whose links were changed to follow."""
    captured: list[str]
    """Notes with a link that used to point elsewhere and by its name now means the moved note."""


class ListNotes(Arguments):
    directory: str = ""
    filter: str | None = None
    """`field:value` on frontmatter; 2, true and dates are typed, "2" is text."""
    recursive: bool = False
    limit: Limit = 100
    cursor: str | None = None


class ListedNote(Answer):
    path: str
    snippet: str
    modified: str


class NoteList(Answer):
    notes: list[ListedNote]
    count: int
    """All that match, on this page or not."""
    folders: list[str]
    next_cursor: str | None


class SearchNotes(Arguments):
    query: Annotated[str, StringConstraints(strip_whitespace=True)] = ""
    """Text to find anywhere, case ignored; may be empty if a filter is given."""
    regex: bool = False
    tag: Word | None = None
    """Also finds its nested tags."""
    frontmatter: str | None = None
    """`field:value`"""
    path: str = ""
    """Only notes whose path starts so."""
    limit: Limit = 20
    cursor: str | None = None


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


class ListTags(Arguments):
    prefix: str = ""
    limit: Limit = 100


class TagCount(Answer):
    tag: str
    notes: int


class TagList(Answer):
    tags: list[TagCount]
    count: int


class GetLinks(Arguments):
    path: NotePath


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
