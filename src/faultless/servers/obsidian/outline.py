"""Where a note's headings, blocks and code lie; offsets into its body."""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    """Stretches of text in which Markdown means nothing."""

    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def holds(self, place: int) -> bool:
        found = bisect.bisect_right(self.starts, place) - 1
        return found >= 0 and place < self.ends[found]


def find_code(text: str) -> Spans:
    """Fenced code, code in a line, comments and formulas."""
    spans = list(_fences(text))
    if "`" in text:
        spans = sorted([*spans, *_ticked(text, _as_spans(spans))])
    if _HIDING_START.search(text):
        spans = sorted([*spans, *_hidden(text, _as_spans(spans))])
    return _as_spans(spans)


def find_headings(text: str, code: Spans) -> list[Heading]:
    found = list(_heading_lines(text, code))
    headings = []
    trail: list[tuple[int, str]] = []
    ends = _section_ends([level for level, *_ in found], [start for _, _, start, _ in found], len(text))
    for number, (level, title, start, content) in enumerate(found):
        own_end = found[number + 1][2] if number + 1 < len(found) else len(text)
        trail = [step for step in trail if step[0] < level] + [(level, title)]
        path = tuple(name for _, name in trail)
        headings.append(Heading(level, title, start, content, ends[number], own_end, path))
    return headings


def _section_ends(levels: list[int], starts: list[int], stop: int) -> list[int]:
    ends = [stop] * len(levels)
    still_open: list[int] = []
    for number, level in enumerate(levels):
        while still_open and levels[still_open[-1]] >= level:
            ends[still_open.pop()] = starts[number]
        still_open.append(number)
    return ends


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
            if not taken.holds(match.start()) and not _is_escaped(text, match.start()):
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


def _is_escaped(text: str, place: int) -> bool:
    return place > 0 and text[place - 1] == "\\"


def _as_spans(spans: list[tuple[int, int]]) -> Spans:
    return Spans(tuple(start for start, _ in spans), tuple(_running_ends(spans)))


def _running_ends(spans: list[tuple[int, int]]) -> Iterator[int]:
    reach = 0
    for _, end in spans:
        reach = max(reach, end)
        yield reach


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for line in _LINE.finditer(text):
        if line[0]:
            yield line.start(), line[0]
