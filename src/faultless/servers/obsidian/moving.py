"""Moving a note with every link that leads to it, or from it, or not at all."""

from __future__ import annotations

import json
import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from faultless.servers.obsidian import faults
from faultless.servers.obsidian.links import Link, LinkStyle, Lookup, Renamed, links_in, yaml_end
from faultless.servers.obsidian.markdown import Splice, apply_splices
from faultless.servers.obsidian.note import Note, version_of
from faultless.servers.obsidian.outputs import Moved, Rewritten
from faultless.servers.obsidian.scope import NOTE_SUFFIX
from faultless.servers.obsidian.store import Rename
from faultless.servers.obsidian.vault import require_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from faultless.servers.obsidian.files import Content
    from faultless.servers.obsidian.index import Index
    from faultless.servers.obsidian.inputs import MoveNote
    from faultless.servers.obsidian.vault import Vault

_MOST_NAMED = 20
# Kept readable in a Markdown address; the rest of what breaks one is percent-encoded.
_ADDRESS_SAFE = "/!$&'*+,;=:@~-._"
_BREAKS_WIKI = re.compile(r"[\[\]|#^\n]")


@dataclass(frozen=True, slots=True)
class Move:
    """One note's old and new path, and the vault's names before and after."""

    old: str
    new: str
    before: Lookup
    after: Lookup

    def follow(self, path: str) -> str:
        return self.new if path == self.old else path

    def aim(self, link: Link, path: str) -> str | None:
        """What a link in the file must point to afterwards; None where it is broken or not concerned."""
        target = self.before.resolve(link, path)
        if target is None:
            return None
        if self.old in {target, path}:
            return self.follow(target)
        # It meant another note, and by its name alone would mean this one from now on.
        return target if self.after.resolve(link, path) == self.new else None


def move_note(vault: Vault, arguments: MoveNote) -> Moved:
    old = vault.locate_writable(arguments.source)
    new = vault.locate_writable(arguments.destination)
    with vault.store.writing():
        content = vault.store.read(old)
        require_version(old, content, arguments.if_version)
        if vault.tree.status(new) is not None:
            raise faults.taken(new)
        vault.require_new_name(new, leaving=old)
        rewrites: dict[str, tuple[Content, bytes]] = {}
        counts: dict[str, int] = {}
        captured: list[str] = []
        if arguments.update_links:
            with vault.index.fresh(text=True) as index:
                move = Move(old, new, index.catalog.lookup, Renamed(index.catalog.lookup, old, new))
                for path, seen, data, count in _rewrites(vault, index, move, captured):
                    rewrites[path], counts[path] = (seen, data), count
        vault.store.move(Rename(old, new), content, rewrites)
        version = version_of(vault.store.read(new).data)
    vault.note_moved(old, new, version)
    rewritten = [
        Rewritten(path=new if path == old else path, links=count) for path, count in sorted(counts.items())
    ]
    return Moved(
        moved=True,
        source=old,
        destination=new,
        version=version,
        rewritten=rewritten,
        captured=captured[:_MOST_NAMED],
    )


def _rewrites(
    vault: Vault, index: Index, move: Move, captured: list[str]
) -> Iterator[tuple[str, Content, bytes, int]]:
    """What changes in which file. Where it may not be changed: a link that follows forbids the move, one that
    the note's new name takes from another is told in `captured`.
    """
    refused: list[str] = []
    for path in sorted({*index.find_mentions(move.old), *index.find_mentions(move.new), move.old}):
        read = vault.read_text(path)
        if read is None:
            continue
        content, decoded = read
        changed, count = relink(path, decoded.text, move)
        if not count:
            continue
        if path != move.old and not vault.scope.can_write(path):
            follows = any(move.before.resolve(it, path) == move.old for it in links_in(path, decoded.text))
            (refused if follows else captured).append(path)
            continue
        yield path, content, decoded.encode(changed), count
    if refused:
        raise faults.links_refused(move.old, len(refused), refused[:_MOST_NAMED])


def relink(path: str, text: str, move: Move) -> tuple[str, int]:
    """The note's text after the move and how many links changed in it."""
    links = links_in(path, text)
    splices: list[Splice] = []
    for link in links:
        wanted = move.aim(link, path)
        if wanted is not None and not _still_points(link, path, wanted, move):
            written = _quoted_as_before(text, link, _rewrite(link, path, wanted, move))
            splices.append(Splice(link.start, link.end, written))
    changed = apply_splices(text, splices)
    if splices:
        _require_same_meaning(path, text, changed, move)
    return changed, len(splices)


def _still_points(link: Link, path: str, wanted: str, move: Move) -> bool:
    """A Markdown link that was right for every reader must stay so, not only for Obsidian."""
    source = move.follow(path)
    if link.style is LinkStyle.MARKDOWN and move.before.resolve_beside(link, path) is not None:
        return move.after.resolve_beside(link, source) == wanted
    return move.after.resolve(link, source) == wanted


def _rewrite(link: Link, path: str, wanted: str, move: Move) -> str:
    source = move.follow(path)
    encode = _encoder(link)
    for target in _spellings(link, path, wanted, move):
        if link.style in {LinkStyle.WIKI, LinkStyle.EMBED} and _BREAKS_WIKI.search(target):
            continue
        candidate = Link(link.style, target, link.part, target, 0, 0)
        if move.after.resolve(candidate, source) == wanted:
            return encode(target)
    raise faults.cannot_relink(path)


def _spellings(link: Link, path: str, wanted: str, move: Move) -> list[str]:
    """Ways to name the target, the author's own way first."""
    folder = posixpath.dirname(move.follow(path))
    relative = posixpath.relpath(wanted, folder or ".")
    if link.style is LinkStyle.CANVAS:
        return [wanted]
    if link.target.startswith(("./", "../")):
        plain = link.style is LinkStyle.MARKDOWN and not link.target.startswith("./")
        names = [relative if plain or relative.startswith("../") else f"./{relative}", wanted]
    elif link.target.startswith("/"):
        names = [f"/{wanted}"]
    elif link.style is LinkStyle.MARKDOWN:
        names = [relative, wanted]
        if move.before.resolve_beside(link, path) is None:
            names = [wanted, relative]
    else:
        names = [posixpath.basename(wanted), wanted] if "/" not in link.target else [wanted]
    had_suffix = link.target.lower().endswith(NOTE_SUFFIX)
    short = [name.removesuffix(NOTE_SUFFIX) for name in names]
    return names if had_suffix else [*short, *names]


def _encoder(link: Link) -> Callable[[str], str]:
    if link.style is LinkStyle.CANVAS:
        return lambda target: json.dumps(target, ensure_ascii=False)[1:-1]
    if link.style is not LinkStyle.MARKDOWN or link.angled:
        return str
    if link.written.isascii() and "%" in link.written:
        return lambda target: quote(target, safe=_ADDRESS_SAFE)
    return lambda target: "".join(
        letter if not letter.isascii() else quote(letter, safe=_ADDRESS_SAFE) for letter in target
    )


def _quoted_as_before(text: str, link: Link, written: str) -> str:
    """Inside a single-quoted YAML value an apostrophe is written twice."""
    if "'" not in written or link.start >= yaml_end(text):
        return written
    line = text[text.rfind("\n", 0, link.start) + 1 : link.start]
    return written.replace("'", "''") if line.count("'") % 2 else written


def _require_same_meaning(path: str, text: str, changed: str, move: Move) -> None:
    """The promise itself, checked on the text that will be written."""
    links, again = links_in(path, text), links_in(path, changed)
    if len(again) != len(links):
        raise faults.cannot_relink(path)
    for old, new in zip(links, again, strict=True):
        wanted = move.aim(old, path)
        if wanted is not None and move.after.resolve(new, move.follow(path)) != wanted:
            raise faults.cannot_relink(path)
    before, after = Note.of_text(text), Note.of_text(changed)
    if before.yaml != after.yaml and before.has_readable_fields and not after.has_readable_fields:
        raise faults.cannot_relink(path)
