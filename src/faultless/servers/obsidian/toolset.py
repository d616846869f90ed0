"""The nine tools of the vault."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

from faultless.contract import Dialect
from faultless.kit.toolset import Toolset
from faultless.servers.obsidian import browsing, moving
from faultless.servers.obsidian.inputs import (
    GetLinks,
    HealthCheck,
    ListNotes,
    ListTags,
    MoveNote,
    PatchNote,
    ReadNote,
    SearchNotes,
    WriteNote,
)
from faultless.servers.obsidian.outputs import (
    Health,
    Links,
    Moved,
    NoteAnswer,
    NoteList,
    Patched,
    SearchResult,
    TagList,
    WrittenNote,
)
from faultless.servers.obsidian.vault import Vault

if TYPE_CHECKING:
    from faultless.servers.obsidian.settings import Settings

INSTRUCTIONS = """\
Notes of an Obsidian vault, as Markdown files. Paths are relative to the vault and end in .md. Nothing is
deleted; what a write replaces goes to .trash/faultless. To change part of a note use patch_note; to rename
one use move_note, which keeps links whole. A conflict means somebody changed the note: read it again.\
"""


def build_toolset(settings: Settings) -> Toolset:
    return offer(Vault(settings))


def offer(vault: Vault) -> Toolset:
    """The tools of a vault that somebody else opened and will close."""
    toolset = Toolset("faultless-obsidian", version("faultless"), Dialect.ERROR_KEY, INSTRUCTIONS)

    @toolset.tool(read_only=True, idempotent=True, destructive=False, open_world=False)
    def health_check(arguments: HealthCheck) -> Health:  # noqa: ARG001 - it has none, and every tool takes them
        """Say whether the vault can be reached, and how many notes it holds."""
        return vault.check_health()

    @toolset.tool(read_only=True, idempotent=True, destructive=False, open_world=False)
    def read_note(arguments: ReadNote) -> NoteAnswer:
        """Read one note: its frontmatter, its body, and its version.

        Pass the version as if_version to a later write so that nobody's edit in between is lost.
        """
        return vault.read(arguments)

    @toolset.tool(read_only=True, idempotent=True, destructive=False, open_world=False)
    def get_links(arguments: GetLinks) -> Links:
        """List the links of a note: where it leads (outgoing), what leads to it (back), what is broken."""
        return browsing.get_links(vault, arguments)

    @toolset.tool(read_only=True, idempotent=True, destructive=False, open_world=False)
    def list_notes(arguments: ListNotes) -> NoteList:
        """List the notes of a folder, and its folders; optionally of all folders below it.

        filter is `field:value` on the frontmatter, for example status:draft or priority:2.
        """
        return browsing.list_notes(vault, arguments)

    @toolset.tool(read_only=True, idempotent=True, destructive=False, open_world=False)
    def search_notes(arguments: SearchNotes) -> SearchResult:
        """Find notes that contain a text anywhere, case ignored; also by pattern, tag, field or folder.

        Hits in titles come first, then in headings, then in the body; the newest first among them.
        """
        return browsing.search_notes(vault, arguments)

    @toolset.tool(read_only=True, idempotent=True, destructive=False, open_world=False)
    def list_tags(arguments: ListTags) -> TagList:
        """List the tags in use with the number of notes that carry each, the commonest first."""
        return browsing.list_tags(vault, arguments)

    @toolset.tool(read_only=False, idempotent=True, destructive=True, open_world=False)
    def write_note(arguments: WriteNote) -> WrittenNote:
        """Create a note, or set fields and the body of one that was read before.

        Frontmatter is merged into what is there unless frontmatter_mode is replace; a body left out stays.
        """
        return vault.write(arguments)

    @toolset.tool(read_only=False, idempotent=False, destructive=True, open_world=False)
    def patch_note(arguments: PatchNote) -> Patched:
        """Change one place of a note and leave the rest as it is, byte for byte.

        target_type says what target names: a heading, a block id, a frontmatter key, or the whole note.
        """
        return vault.patch(arguments)

    @toolset.tool(read_only=False, idempotent=False, destructive=False, open_world=False)
    def move_note(arguments: MoveNote) -> Moved:
        """Move or rename a note; every link to it, and its own relative links, are rewritten to follow.

        The destination must not exist. It happens entirely or not at all.
        """
        return moving.move_note(vault, arguments)

    return toolset
