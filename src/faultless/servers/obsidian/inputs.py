"""What each tool may be asked."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, JsonValue, StringConstraints

from faultless.kit.toolset import Arguments

MOST_LISTED = 500

Stripped = Annotated[str, StringConstraints(strip_whitespace=True)]
NonEmpty = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Limit = Annotated[int, Field(ge=1, le=MOST_LISTED)]


class Operation(StrEnum):
    APPEND = "append"
    PREPEND = "prepend"
    REPLACE = "replace"
    INSERT_BEFORE = "insert_before"
    INSERT_AFTER = "insert_after"
    REMOVE = "remove"


class TargetKind(StrEnum):
    NOTE = "note"
    HEADING = "heading"
    BLOCK = "block"
    FRONTMATTER = "frontmatter"


class HealthCheck(Arguments):
    pass


class ReadNote(Arguments):
    path: NonEmpty
    """Relative to the vault, like `Projects/Plan.md`."""


class WriteNote(Arguments):
    path: NonEmpty
    frontmatter: dict[str, JsonValue] = Field(default_factory=dict)
    body: str | None = None
    """Left out: the body stays as it is (empty for a new note)."""
    frontmatter_mode: Literal["merge", "replace"] = "merge"
    if_version: NonEmpty | None = None
    overwrite: bool = False
    """Write although this note was never shown in this session."""


class PatchNote(Arguments):
    path: NonEmpty
    # Strict models take enums as such only; the wire brings their names.
    operation: Annotated[Operation, Field(strict=False)]
    target_type: Annotated[TargetKind, Field(strict=False)]
    target: Stripped = ""
    """A heading (`Tasks`, or `Day::Tasks` where it stands twice), a block id, or a frontmatter key."""
    content: JsonValue = None
    """Text; for a frontmatter key any value, and none to remove it."""
    subsections: bool = True
    """Whether a heading's section reaches over its subheadings."""
    create_missing: bool = False
    """Make the heading if the note has none."""
    if_version: NonEmpty | None = None


class MoveNote(Arguments):
    source: NonEmpty
    destination: NonEmpty
    """Must not exist; folders are made."""
    update_links: bool = True
    if_version: NonEmpty | None = None


class ListNotes(Arguments):
    directory: str = ""
    filter: str | None = None
    """`field:value` on frontmatter; 2, true and dates are typed, "2" is text."""
    recursive: bool = False
    limit: Limit = 100
    cursor: str | None = None


class SearchNotes(Arguments):
    query: Stripped = ""
    """Text to find anywhere, case ignored; may be empty if a filter is given."""
    regex: bool = False
    tag: NonEmpty | None = None
    """Also finds its nested tags."""
    frontmatter: str | None = None
    """`field:value`"""
    path: str = ""
    """Only notes whose path starts so."""
    limit: Limit = 20
    cursor: str | None = None


class ListTags(Arguments):
    prefix: str = ""
    limit: Limit = 100


class GetLinks(Arguments):
    path: NonEmpty
