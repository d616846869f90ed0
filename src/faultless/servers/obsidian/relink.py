"""Rewriting the links of one note so that a move changes nothing about what they point to."""

from __future__ import annotations

import json
import posixpath
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import quote

from faultless.contract import Fault, FaultKind
from faultless.servers.obsidian import frontmatter
from faultless.servers.obsidian.links import Link, LinkStyle, find_canvas_links, find_links
from faultless.servers.obsidian.note import Note
from faultless.servers.obsidian.resolve import NOTE_SUFFIX, Lookup
from faultless.servers.obsidian.splice import Splice, apply_splices

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CANVAS_SUFFIX = ".canvas"
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


def links_in(path: str, text: str) -> list[Link]:
    """The links of a note or canvas, as the reader of its YAML would see them."""
    if path.endswith(CANVAS_SUFFIX):
        return find_canvas_links(text)
    links = find_links(text)
    if not text.startswith("---") or not any("''" in link.target for link in links):
        return links
    end = _yaml_end(text)
    return [
        replace(link, target=link.target.replace("''", "'")) if link.start < end else link for link in links
    ]


def relink(path: str, text: str, move: Move) -> tuple[str, int]:
    """The note's text after the move and how many links changed in it."""
    links = links_in(path, text)
    splices = list(_splices(path, text, links, move))
    changed = apply_splices(text, splices)
    if splices:
        _require_same_targets(path, changed, links, move)
        _require_same_frontmatter(path, text, changed)
    return changed, len(splices)


def _splices(path: str, text: str, links: list[Link], move: Move) -> Iterator[Splice]:
    for link in links:
        target = move.before.resolve(link, path)
        if target is None or move.old not in {target, path}:
            continue
        wanted = move.follow(target)
        if not _still_points(link, path, wanted, move):
            written = _rewrite(link, path, wanted, move)
            yield Splice(link.start, link.end, _quoted_as_before(text, link, written))


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
    raise _cannot(path)


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
    if "'" not in written or link.start >= _yaml_end(text):
        return written
    line = text[text.rfind("\n", 0, link.start) + 1 : link.start]
    return written.replace("'", "''") if line.count("'") % 2 else written


def _yaml_end(text: str) -> int:
    note = Note.parse(text.encode("utf-8", "surrogateescape"))
    return len(note.opening + note.yaml)


def _require_same_targets(path: str, changed: str, links: list[Link], move: Move) -> None:
    """The promise itself, checked on the text that will be written."""
    source = move.follow(path)
    again = links_in(path, changed)
    if len(again) != len(links):
        raise _cannot(path)
    for old, new in zip(links, again, strict=True):
        target = move.before.resolve(old, path)
        if target is None or move.old not in {target, path}:
            continue
        if move.after.resolve(new, source) != move.follow(target):
            raise _cannot(path)


def _require_same_frontmatter(path: str, old: str, new: str) -> None:
    one, other = (Note.parse(text.encode("utf-8", "surrogateescape")).yaml for text in (old, new))
    if one != other and frontmatter.is_readable(one) and not frontmatter.is_readable(other):
        raise _cannot(path)


def _cannot(path: str) -> Fault:
    return Fault(
        FaultKind.UNSUPPORTED,
        f"a link in {path} cannot be written so that it points to the new place; nothing was moved",
        hint="choose a name without # ^ [ ] | or move with update_links false",
    )
