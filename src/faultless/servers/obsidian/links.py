"""Links in a note, `[[wiki]]`, `![[embed]]`, `[text](path.md)`: where each stands and what it points to."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING
from urllib.parse import unquote

from faultless.servers.obsidian.markdown import find_code
from faultless.servers.obsidian.note import Note
from faultless.servers.obsidian.scope import NOTE_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CANVAS_SUFFIX = ".canvas"
BASE_SUFFIX = ".base"
_WIKI = re.compile(r"(!?)\[\[([^\[\]\n|#^]*)([#^][^\[\]\n|]*)?(\\?\|(?:[^\n\[\]]|\[(?!\[)|\](?!\]))*)?\]\]")
_INLINE = re.compile(r"\](\()[ \t]*(?:<([^<>\n]*)>|([^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*))")
_DEFINITION = re.compile(r"^ {0,3}\[(?!\^)[^\]\n]+\]:()[ \t]*(?:<([^<>\n]*)>|(\S+))", re.MULTILINE)
_CANVAS = re.compile(r'"file"\s*:\s*"((?:[^"\\\n]|\\.)*)"')
# In a base: link("Note"), file.hasLink('Note'), the quotes written as the YAML around them needs.
_BASE = re.compile(r"\b(?:link|hasLink)\(\s*(\\?\"|''?)((?!\[\[)[^\"'\\\n]+)\1")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")


class LinkStyle(StrEnum):
    WIKI = "wikilink"
    EMBED = "embed"
    MARKDOWN = "markdown"
    CANVAS = "canvas"
    BASE = "base"


@dataclass(frozen=True, slots=True)
class Link:
    """`start` and `end` bound the target's text; `target` is that text decoded, without its `#part`."""

    style: LinkStyle
    target: str
    part: str
    written: str
    start: int
    end: int
    angled: bool = False


def links_in(path: str, text: str) -> list[Link]:
    """The links of a note or canvas, as the reader of its YAML would see them."""
    if path.endswith(CANVAS_SUFFIX):
        return find_canvas_links(text)
    if path.endswith(BASE_SUFFIX):
        return find_base_links(text)
    links = find_links(text)
    if not text.startswith("---") or not any("''" in link.target for link in links):
        return links
    end = yaml_end(text)
    return [
        replace(link, target=link.target.replace("''", "'")) if link.start < end else link for link in links
    ]


def yaml_end(text: str) -> int:
    """Where the frontmatter of a note's text ends."""
    note = Note.of_text(text)
    return len(note.opening + note.yaml)


def find_links(text: str) -> list[Link]:
    """Every link to something in the vault, in order; none from code or comments, no web address."""
    if "[[" not in text and "](" not in text and "]:" not in text:
        return []
    code = find_code(text)
    links = [link for link in [*_wikilinks(text), *_markdown(text)] if not code.holds(link.start)]
    links.sort(key=lambda link: link.start)
    return links


def find_canvas_links(text: str) -> list[Link]:
    """A canvas names files by their whole path in the vault; its cards hold wikilinks."""
    found = list(_wikilinks(text))
    for match in _CANVAS.finditer(text):
        written = match[1]
        target = written.replace("\\/", "/").replace('\\"', '"').replace("\\\\", "\\")
        found.append(Link(LinkStyle.CANVAS, target, "", written, *match.span(1)))
    return sorted(found, key=lambda link: link.start)


def find_base_links(text: str) -> list[Link]:
    """A base names notes in the calls of its formulas and filters, and in wikilinks."""
    calls = (
        Link(LinkStyle.BASE, match[2].strip(), "", match[2], *match.span(2)) for match in _BASE.finditer(text)
    )
    found = [*_wikilinks(text), *(link for link in calls if not _SCHEME.match(link.target))]
    return sorted(found, key=lambda link: link.start)


def _wikilinks(text: str) -> Iterator[Link]:
    for match in _WIKI.finditer(text):
        if match.start() > 0 and text[match.start() - 1] == "\\":
            continue
        style = LinkStyle.EMBED if match[1] else LinkStyle.WIKI
        # In a table the bar is escaped, and the backslash is no part of the name.
        written = match[2] if match[4] is None else match[2].removesuffix("\\")
        if written.strip() or match[3]:
            start = match.start(2)
            yield Link(style, written.strip(), match[3] or "", written, start, start + len(written))


def _markdown(text: str) -> Iterator[Link]:
    for match in [*_INLINE.finditer(text), *_DEFINITION.finditer(text)]:
        angled = match[2] is not None
        whole = match[2] if angled else match[3]
        if not whole or whole.startswith("#") or _SCHEME.match(whole):
            continue
        written, mark, part = whole.partition("#")
        start = match.start(2 if angled else 3)
        end = start + len(written)
        yield Link(LinkStyle.MARKDOWN, unquote(written), mark + part, written, start, end, angled)


def _fold(text: str) -> str:
    """Names that Obsidian, or a file system that ignores case, takes for the same."""
    return unicodedata.normalize("NFC", text).casefold()


class Lookup:
    """Every file of the vault by its folded name."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._by_name: dict[str, set[str]] = {}
        for path in paths:
            self.add(path)

    def add(self, path: str) -> None:
        self._by_name.setdefault(_fold(posixpath.basename(path)), set()).add(path)

    def remove(self, path: str) -> None:
        name = _fold(posixpath.basename(path))
        paths = self._by_name.get(name, set())
        paths.discard(path)
        if not paths:
            self._by_name.pop(name, None)

    def resolve(self, link: Link, source: str) -> str | None:
        """The path the link points to from `source`, as Obsidian decides, or None for a broken one."""
        target = link.target
        if link.style is LinkStyle.CANVAS:
            return target if target in self.with_name(_fold(posixpath.basename(target))) else None
        if not target:
            return source
        is_relative = target.startswith(("./", "../"))
        if is_relative or link.style is LinkStyle.MARKDOWN:
            beside = self.resolve_beside(link, source)
            if is_relative or beside is not None:
                return beside
        if target.startswith("/"):
            return self._exact(target.lstrip("/"))
        return self._exact(target) or self._nearest(target, source)

    def resolve_beside(self, link: Link, source: str) -> str | None:
        """What the link means to a plain Markdown reader: a path from the note's own folder."""
        return self._exact(posixpath.normpath(posixpath.join(posixpath.dirname(source), link.target)))

    def _nearest(self, target: str, source: str) -> str | None:
        """The name anywhere in the vault: below the note's own folder first, then the shortest path."""
        endings = ("/" + _fold(target), "/" + _fold(target) + NOTE_SUFFIX)
        candidates = [path for path in self._candidates(target) if _fold("/" + path).endswith(endings)]
        here = _fold(posixpath.dirname(source))
        near = f"{here}/" if here else ""
        return min(
            candidates,
            key=lambda path: (not _fold(path).startswith(near), len(path), path),
            default=None,
        )

    def _exact(self, target: str) -> str | None:
        wanted = {_fold(target), _fold(target) + NOTE_SUFFIX}
        found = [path for path in self._candidates(target) if _fold(path) in wanted]
        return min(found, key=lambda path: (path != target, _fold(path) != _fold(target), path), default=None)

    def _candidates(self, target: str) -> set[str]:
        name = _fold(posixpath.basename(target))
        return self.with_name(name) | self.with_name(name + NOTE_SUFFIX)

    def with_name(self, name: str) -> set[str]:
        """Paths by folded name; not to be changed in place."""
        return self._by_name.get(name, _NONE)


_NONE: set[str] = set()


class Renamed(Lookup):
    """The same vault with one file under another path; nothing is copied."""

    def __init__(self, before: Lookup, old: str, new: str) -> None:
        super().__init__(())
        self._before = before
        self._old = old
        self._new = new
        self._new_name = _fold(posixpath.basename(new))

    def with_name(self, name: str) -> set[str]:
        found = self._before.with_name(name) - {self._old}
        return found | {self._new} if name == self._new_name else found
