"""Links in a note: `[[wiki]]`, `![[embed]]`, `[text](path.md)`, each with its span in the text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING
from urllib.parse import unquote

from faultless.servers.obsidian.outline import find_code

if TYPE_CHECKING:
    from collections.abc import Iterator

_WIKI = re.compile(r"(!?)\[\[([^\[\]\n|#^]*)([#^][^\[\]\n|]*)?(\\?\|(?:[^\n\[\]]|\[(?!\[)|\](?!\]))*)?\]\]")
_INLINE = re.compile(r"\](\()[ \t]*(?:<([^<>\n]*)>|([^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*))")
_DEFINITION = re.compile(r"^ {0,3}\[(?!\^)[^\]\n]+\]:()[ \t]*(?:<([^<>\n]*)>|(\S+))", re.MULTILINE)
_CANVAS = re.compile(r'"file"\s*:\s*"((?:[^"\\\n]|\\.)*)"')
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")


class LinkStyle(StrEnum):
    WIKI = "wikilink"
    EMBED = "embed"
    MARKDOWN = "markdown"
    CANVAS = "canvas"


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
