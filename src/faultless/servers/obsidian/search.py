"""Finding notes: text, pattern, tag, field, folder; best first, page by page."""

from __future__ import annotations

import base64
import heapq
import json
import posixpath
import time
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from faultless.contract import Fault, FaultKind
from faultless.servers.obsidian.filters import parse_filter
from faultless.servers.obsidian.tags import is_under
from faultless.servers.obsidian.texts import fold_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import regex

    from faultless.servers.obsidian.index import Index
    from faultless.servers.obsidian.shapes import SearchNotes

TITLE, HEADING, BODY = range(3)
PATTERN_DEADLINE_SECONDS = 5.0
MOST_PATTERN_CHARACTERS = 1000


class Hit(NamedTuple):
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
    keep = _filters(index, asked)
    groups = [(rank, keep(paths)) for rank, paths in enumerate(_matches(index, asked))]
    return _page(index, groups, after, asked.limit)


def _page(index: Index, groups: list[tuple[int, list[str]]], after: Hit | None, limit: int) -> Page:
    """Group by group, and no group is put in order that the page does not reach."""
    notes = index.catalog.notes
    shown: list[Hit] = []
    wanted = limit + 1
    for rank, paths in groups:
        if len(shown) == wanted or (after is not None and rank < after.rank):
            continue
        keys = [(-notes[path].modified_ns, path) for path in paths]
        if after is not None and rank == after.rank:
            keys = [key for key in keys if key > after[1:]]
        shown += [Hit(rank, *key) for key in heapq.nsmallest(wanted - len(shown), keys)]
    count = sum(len(paths) for _, paths in groups)
    return Page(shown[:limit], count, _write_cursor(shown[limit - 1]) if len(shown) > limit else None)


def _matches(index: Index, asked: SearchNotes) -> list[Iterable[str]]:
    """Paths by rank, each once."""
    if asked.query and asked.regex:
        ranks = _match_pattern(index, asked)
        return [[path for path, rank in ranks.items() if rank == wanted] for wanted in (TITLE, HEADING, BODY)]
    if not asked.query:
        return [(), (), index.catalog.notes]
    hits = index.texts.find(fold_text(asked.query))
    heads = hits.heads - hits.titles
    return [hits.titles, heads, hits.bodies - hits.titles - heads]


def _filters(index: Index, asked: SearchNotes) -> Callable[[Iterable[str]], list[str]]:
    notes = index.catalog.notes
    by_tag = _tag_filter(index, asked.tag)
    by_field = _field_filter(index, asked.frontmatter)

    def keep(paths: Iterable[str]) -> list[str]:
        known = [path for path in _within(paths, asked.path) if path in notes]
        return (
            [path for path in known if by_tag(path) and by_field(path)]
            if asked.tag or asked.frontmatter
            else known
        )

    return keep


def compile_pattern(text: str) -> regex.Pattern[str]:
    import regex  # noqa: PLC0415 - slow to import, and few searches are patterns

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
    prefix = unicodedata.normalize("NFC", prefix.removeprefix("./").lstrip("/"))
    if not prefix or prefix == ".":
        return list(paths)
    if prefix.isascii():
        return [path for path in paths if path.startswith(prefix)]
    return [path for path in paths if unicodedata.normalize("NFC", path).startswith(prefix)]


def _tag_filter(index: Index, tag: str | None) -> Callable[[str], bool]:
    if tag is None:
        return _anything
    named = index.texts.find(fold_text(tag.strip("#/ "))).bodies
    return lambda path: path in named and any(is_under(found, tag) for found in index.facts(path).tags)


def _field_filter(index: Index, text: str | None) -> Callable[[str], bool]:
    if text is None:
        return _anything
    wanted = parse_filter(text)
    named = index.texts.find(fold_text(wanted.field)).bodies
    return lambda path: path in named and wanted.matches(index.facts(path).fields)


def _anything(_: str) -> bool:
    return True


def _write_cursor(hit: Hit) -> str:
    return base64.urlsafe_b64encode(json.dumps([hit.rank, hit.age, hit.path]).encode()).decode()


def _read_cursor(cursor: str | None) -> Hit | None:
    if cursor is None:
        return None
    try:
        rank, age, path = json.loads(base64.b64decode(cursor, altchars=b"-_", validate=True))
        return Hit(int(rank), int(age), str(path))
    except (ValueError, TypeError) as error:
        raise Fault(
            FaultKind.INVALID_PARAMS,
            "the cursor is not one this tool gave out",
            hint="leave it out to start from the first page",
            details={"field": "cursor"},
        ) from error
