"""Finding notes: text, pattern, tag, field, folder; best first, page by page."""

from __future__ import annotations

import base64
import heapq
import json
import posixpath
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import regex

from faultless.contract import Fault, FaultKind
from faultless.servers.obsidian.filters import parse_filter
from faultless.servers.obsidian.tags import is_under
from faultless.servers.obsidian.texts import fold_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from faultless.servers.obsidian.index import Index
    from faultless.servers.obsidian.shapes import SearchNotes

TITLE, HEADING, BODY = range(3)
PATTERN_DEADLINE_SECONDS = 10.0
MOST_PATTERN_CHARACTERS = 1000


@dataclass(frozen=True, slots=True, order=True)
class Hit:
    """Ordered as it is shown: title, heading, body; then the newest; then by path."""

    rank: int
    age: int
    path: str


@dataclass(frozen=True, slots=True)
class Page:
    hits: list[Hit]
    count: int
    next_cursor: str | None


def search(index: Index, asked: SearchNotes) -> Page:
    """Inside `index.fresh(text=True)`."""
    if not (asked.query or asked.tag or asked.frontmatter):
        raise Fault(
            FaultKind.INVALID_PARAMS,
            "nothing to search for: query is empty and there is no filter",
            hint="give query, tag or frontmatter; list_notes lists a folder",
            details={"field": "query"},
        )
    after = _read_cursor(asked.cursor)
    ranks = _matches(index, asked)
    paths = _within(ranks, asked.path)
    paths = _with_tag(index, paths, asked.tag)
    paths = _with_field(index, paths, asked.frontmatter)
    notes = index.catalog.notes
    hits = [Hit(ranks[path], -notes[path].modified_ns, path) for path in paths if path in notes]
    return _page(hits, after, asked.limit)


def _page(hits: list[Hit], after: Hit | None, limit: int) -> Page:
    rest = hits if after is None else [hit for hit in hits if hit > after]
    shown = heapq.nsmallest(limit, rest)
    more = len(rest) > len(shown)
    return Page(shown, len(hits), _write_cursor(shown[-1]) if more else None)


def _matches(index: Index, asked: SearchNotes) -> dict[str, int]:
    if asked.query and asked.regex:
        return _match_pattern(index, asked)
    if not asked.query:
        return dict.fromkeys(index.catalog.notes, BODY)
    hits = index.texts.find(fold_text(asked.query))
    ranks = dict.fromkeys(hits.bodies, BODY)
    ranks.update(dict.fromkeys(hits.heads, HEADING))
    ranks.update(dict.fromkeys(hits.titles, TITLE))
    return ranks


def compile_pattern(text: str) -> regex.Pattern[str]:
    if len(text) > MOST_PATTERN_CHARACTERS:
        raise Fault(
            FaultKind.TOO_LARGE,
            f"the pattern has over {MOST_PATTERN_CHARACTERS} characters",
            hint="search for a part of it",
        )
    try:
        return regex.compile(text, regex.IGNORECASE | regex.MULTILINE)
    except regex.error as error:
        raise Fault(
            FaultKind.INVALID_PARAMS,
            f"the pattern is not a regular expression: {error}",
            hint="escape special characters with a backslash, or set regex to false",
            details={"field": "query", "received_value": text},
        ) from error


def _match_pattern(index: Index, asked: SearchNotes) -> dict[str, int]:
    """One deadline for all notes: a pattern that explodes is stopped, not waited for."""
    pattern = compile_pattern(asked.query)
    deadline = time.monotonic() + PATTERN_DEADLINE_SECONDS
    ranks: dict[str, int] = {}
    try:
        for path, data in index.texts.bodies(_within(index.catalog.notes, asked.path)):
            left = max(deadline - time.monotonic(), 0.001)
            name = posixpath.basename(path).rpartition(".")[0]
            if pattern.search(name, timeout=left):
                ranks[path] = TITLE
                continue
            text = data.decode()
            found = pattern.search(text, timeout=left, concurrent=True)
            if found is not None:
                line = text[text.rfind("\n", 0, found.start()) + 1 : found.end()]
                ranks[path] = HEADING if line.lstrip(" ").startswith("#") else BODY
    except TimeoutError as error:
        raise Fault(
            FaultKind.TIMEOUT,
            f"the pattern took longer than {PATTERN_DEADLINE_SECONDS:.0f} seconds",
            hint="make it simpler (no nested repeats), or narrow it with path",
        ) from error
    return ranks


def _within(paths: Iterable[str], prefix: str) -> list[str]:
    prefix = prefix.removeprefix("./").lstrip("/")
    return [path for path in paths if path.startswith(prefix)] if prefix and prefix != "." else list(paths)


def _with_tag(index: Index, paths: list[str], tag: str | None) -> list[str]:
    if tag is None:
        return paths
    named = index.texts.find(fold_text(tag.strip("#/ "))).bodies
    likely = [path for path in paths if path in named]
    return [path for path in likely if any(is_under(found, tag) for found in index.facts(path).tags)]


def _with_field(index: Index, paths: list[str], text: str | None) -> list[str]:
    if text is None:
        return paths
    wanted = parse_filter(text)
    named = index.texts.find(fold_text(wanted.field)).bodies
    return [path for path in paths if path in named and wanted.matches(index.facts(path).fields)]


def _write_cursor(hit: Hit) -> str:
    return base64.urlsafe_b64encode(json.dumps([hit.rank, hit.age, hit.path]).encode()).decode()


def _read_cursor(cursor: str | None) -> Hit | None:
    if cursor is None:
        return None
    try:
        rank, age, path = json.loads(base64.urlsafe_b64decode(cursor.encode()))
        return Hit(int(rank), int(age), str(path))
    except (ValueError, TypeError) as error:
        raise Fault(
            FaultKind.INVALID_PARAMS,
            "the cursor is not one this tool gave out",
            hint="leave it out to start from the first page",
            details={"field": "cursor"},
        ) from error
