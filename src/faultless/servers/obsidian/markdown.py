"""Where a note's headings, blocks, code and tags lie in its text, and small edits of that text."""

from __future__ import annotations

import bisect
import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from faultless.contract import Json

_LINE = re.compile(r"[^\n]*(?:\n|\Z)")
_FENCE = re.compile(r"[ \t>]*(?:[-*+][ \t]+|\d+[.)][ \t]+)?(`{3,}|~{3,})(.*)")
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*\r?\Z")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*\r?\Z")
# What may stand above a line of dashes without being a heading: lists, quotes, tables, rules, code.
_NO_PARAGRAPH = re.compile(r"\s*\Z| {4}|\t| {0,3}(?:[#>|*+-]|\d+[.)]|`{3}|~{3}|%%|\$\$|<)")
_TICKS_OR_GAP = re.compile(r"`+|\n[ \t]*\r?(?=\n)")
_HIDING = {"%%": "%%", "<!--": "-->", "$$": "$$"}
_HIDING_START = re.compile(r"%%|<!--|\$\$")
_BLOCK_ID = re.compile(r"(?:(?<=\s)|^)\^([A-Za-z0-9-]+)[ \t]*\r?\Z")
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d+[.)])[ \t]")
_TAG = re.compile(r"(?<!\S)#([\w/\-\U0001F000-\U0001FAFF]+)")
_TAG_GAP = re.compile(r"[\s,]+")


@dataclass(frozen=True, slots=True)
class Splice:
    start: int
    end: int
    text: str


def apply_splices(text: str, splices: Iterable[Splice]) -> str:
    """Of two at one place the insertion comes before the removal, and the first given first."""
    parts: list[str] = []
    place = 0
    for splice in sorted(splices, key=lambda one: (one.start, one.end)):
        parts += [text[place : splice.start], splice.text]
        place = max(place, splice.end)
    return "".join([*parts, text[place:]])


@dataclass(frozen=True, slots=True)
class Heading:
    """`start` is its line, `content` what follows it, `end` the next heading of its level or above."""

    level: int
    title: str
    start: int
    content: int
    end: int
    own_end: int
    trail: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """A block's text, from after its bullet to before its `^id`; `end` is after the line with the id."""

    name: str
    line_start: int
    start: int
    text_end: int
    end: int


@dataclass(frozen=True, slots=True)
class Spans:
    """Stretches of text in which Markdown means nothing, by their start; each end is the furthest so far."""

    starts: tuple[int, ...]
    ends: tuple[int, ...]

    @classmethod
    def of(cls, bounds: list[tuple[int, int]]) -> Spans:
        ends = itertools.accumulate((end for _, end in bounds), max)
        return cls(tuple(start for start, _ in bounds), tuple(ends))

    def holds(self, place: int) -> bool:
        found = bisect.bisect_right(self.starts, place) - 1
        return found >= 0 and place < self.ends[found]


def find_code(text: str) -> Spans:
    """Fenced code, code in a line, comments and formulas."""
    spans = list(_fences(text))
    if "`" in text:
        spans = sorted([*spans, *_ticked(text, Spans.of(spans))])
    if _HIDING_START.search(text):
        spans = sorted([*spans, *_hidden(text, Spans.of(spans))])
    return Spans.of(spans)


def find_headings(text: str, code: Spans) -> list[Heading]:
    found = list(_heading_lines(text, code))
    ends = [len(text)] * len(found)
    trails: list[tuple[str, ...]] = []
    still_open: list[int] = []
    for number, (level, title, start, _) in enumerate(found):
        while still_open and found[still_open[-1]][0] >= level:
            ends[still_open.pop()] = start
        parents = trails[still_open[-1]] if still_open else ()
        trails.append((*parents, title))
        still_open.append(number)
    own_ends = [*(start for _, _, start, _ in found[1:]), len(text)]
    return [
        Heading(level, title, start, content, end, own_end, trail)
        for (level, title, start, content), end, own_end, trail in zip(
            found, ends, own_ends, trails, strict=False
        )
    ]


def find_blocks(text: str, code: Spans) -> list[Block]:
    """Every `^id`: at the end of a paragraph or list item, or alone on the line after one."""
    if "^" not in text:
        return []
    lines = list(_lines(text))
    blocks = []
    for number, (start, line) in enumerate(lines):
        found = _BLOCK_ID.search(line.removesuffix("\n"))
        if found is None or code.holds(start + found.start()):
            continue
        alone = not line[: found.start()].strip()
        last = number - 1 if alone else number
        while alone and last > 0 and not lines[last][1].strip():
            last -= 1
        if last < 0:
            continue
        line_start, first = lines[_block_start(lines, last)]
        bullet = _LIST_ITEM.match(first)
        text_start = line_start + (bullet.end() if bullet else 0)
        kept = lines[last][1] if alone else line[: found.start()]
        text_end = max(lines[last][0] + len(kept.rstrip()), text_start)
        blocks.append(Block(found[1], line_start, text_start, text_end, start + len(line)))
    return blocks


def _block_start(lines: list[tuple[int, str]], last: int) -> int:
    first = last
    while first > 0 and not _LIST_ITEM.match(lines[first][1]):
        above = lines[first - 1][1].removesuffix("\n")
        if not above.strip() or _ATX.match(above) or _BLOCK_ID.search(above):
            break
        first -= 1
    return first


def _heading_lines(text: str, code: Spans) -> Iterator[tuple[int, str, int, int]]:
    above_start, above = 0, ""
    for start, line in _lines(text):
        bare = line.removesuffix("\n")
        if code.holds(start):
            above = ""
            continue
        if atx := _ATX.match(bare):
            yield len(atx[1]), (atx[2] or "").strip(), start, start + len(line)
            above = ""
            continue
        under = _SETEXT.match(bare)
        if under and above and not _NO_PARAGRAPH.match(above):
            yield (1 if under[1][0] == "=" else 2), above.strip(), above_start, start + len(line)
            above = ""
            continue
        above_start, above = start, line


def _fences(text: str) -> Iterator[tuple[int, int]]:
    if "```" not in text and "~~~" not in text:
        return
    opened: tuple[int, str] | None = None
    for start, line in _lines(text):
        fence = _FENCE.match(line)
        if fence is None:
            continue
        mark, rest = fence[1], fence[2].strip()
        if opened is None:
            if not (mark[0] == "`" and "`" in rest):
                opened = start, mark
        elif mark[0] == opened[1][0] and len(mark) >= len(opened[1]) and not rest:
            yield opened[0], start + len(line)
            opened = None
    if opened is not None:
        yield opened[0], len(text) + 1


def _ticked(text: str, taken: Spans) -> Iterator[tuple[int, int]]:
    """Code in a line: a run of ticks up to the next run as long, within one paragraph."""
    waiting: dict[int, int] = {}
    skip_to = 0
    runs: list[tuple[int, int]] = []
    for match in [*_TICKS_OR_GAP.finditer(text), None]:
        if match is not None and match[0][0] == "`":
            is_escaped = match.start() > 0 and text[match.start() - 1] == "\\"
            if not is_escaped and not taken.holds(match.start()):
                runs.append(match.span())
            continue
        waiting = {}
        for number in range(len(runs) - 1, -1, -1):  # the nearest later run of each length
            start, end = runs[number]
            runs[number] = start, waiting.get(end - start, -1)
            waiting[end - start] = end
        for start, end in runs:
            if end > 0 and start >= skip_to:
                skip_to = end
                yield start, end
        runs = []


def _hidden(text: str, taken: Spans) -> Iterator[tuple[int, int]]:
    """Comments and formulas, which may span paragraphs."""
    place = 0
    while found := _HIDING_START.search(text, place):
        place = found.end()
        if taken.holds(found.start()):
            continue
        close = _HIDING[found[0]]
        end = text.find(close, place)
        if end >= 0:
            place = end + len(close)
            yield found.start(), place
        elif all(text.find(other, place) < 0 for other in _HIDING.values()):
            return  # nothing closes any more: do not look again for each


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for line in _LINE.finditer(text):
        if line[0]:
            yield line.start(), line[0]


def find_tags(fields: dict[str, Json], body: str) -> tuple[str, ...]:
    """Each once, as written first; a tag of digits alone is a number."""
    found: dict[str, str] = {}
    written = list(_TAG.finditer(body)) if "#" in body else []
    code = find_code(body) if written else Spans((), ())
    inline = [match[1] for match in written if not code.holds(match.start())]
    for tag in [*_listed(fields.get("tags")), *_listed(fields.get("tag")), *inline]:
        clean = tag.strip("#/ ")
        if clean and not clean.isdigit():
            found.setdefault(clean.casefold(), clean)
    return tuple(found.values())


def is_under(tag: str, wanted: str) -> bool:
    """A tag counts as its parents too: #a/b is under a."""
    tag, wanted = tag.casefold(), wanted.strip("#/ ").casefold()
    return tag == wanted or tag.startswith(f"{wanted}/")


def _listed(value: Json) -> list[str]:
    if isinstance(value, str):
        return _TAG_GAP.split(value)
    if isinstance(value, list):
        return [str(item) for item in value if isinstance(item, str | int)]
    return []
