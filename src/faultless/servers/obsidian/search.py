"""Finding notes by text, pattern, tag, field and folder: best first, page by page, with a snippet of each."""

from __future__ import annotations

import base64
import bisect
import heapq
import json
import posixpath
import re
import time
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from faultless.contract import Fault, FaultKind, clean
from faultless.servers.obsidian import faults
from faultless.servers.obsidian.index import fold_text
from faultless.servers.obsidian.markdown import is_under
from faultless.servers.obsidian.note import read_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import regex

    from faultless.contract import Json
    from faultless.servers.obsidian.index import Index
    from faultless.servers.obsidian.inputs import SearchNotes

TITLE, HEADING, BODY = range(3)
PATTERN_DEADLINE_SECONDS = 5.0
_MOST_PATTERN_CHARACTERS = 1000
_SNIPPET_CHARACTERS = 200
_SNIPPET_LEAD = 60
_BLANK = re.compile(r"\s+")
_FILTER = re.compile(r"\s*([^:\s][^:]*?)\s*:(.*)\Z", re.DOTALL)


class Hit(NamedTuple):
    """Ordered as it is shown: title, heading, body; then the newest; then by path."""

    rank: int
    age: int
    path: str

    @classmethod
    def from_cursor(cls, cursor: str) -> Hit:
        try:
            rank, age, path = json.loads(read_cursor(cursor))
            return cls(int(rank), int(age), str(path))
        except (ValueError, TypeError) as error:
            raise faults.foreign_cursor() from error


@dataclass(frozen=True, slots=True)
class Page:
    hits: list[Hit]
    count: int
    next_cursor: str | None


def search(index: Index, arguments: SearchNotes) -> Page:
    """Inside `index.fresh(text=True)`."""
    if not (arguments.query or arguments.tag or arguments.frontmatter):
        raise Fault(
            FaultKind.INVALID_PARAMS,
            "nothing to search for: query is empty and there is no filter",
            hint="give query, tag or frontmatter; list_notes lists a folder",
            details={"field": "query"},
        )
    after = None if arguments.cursor is None else Hit.from_cursor(arguments.cursor)
    keep = _make_filter(index, arguments)
    groups = [(rank, keep(paths)) for rank, paths in enumerate(_matches(index, arguments))]
    return _page(index, groups, after, arguments.limit)


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
    more = write_cursor(json.dumps(shown[limit - 1])) if len(shown) > limit else None
    return Page(shown[:limit], count, more)


def _matches(index: Index, arguments: SearchNotes) -> list[Iterable[str]]:
    """Paths by rank, each once."""
    if arguments.query and arguments.regex:
        ranks = _match_pattern(index, arguments)
        return [[path for path, rank in ranks.items() if rank == wanted] for wanted in (TITLE, HEADING, BODY)]
    if not arguments.query:
        return [(), (), index.catalog.notes]
    hits = index.texts.find(fold_text(arguments.query))
    heads = hits.heads - hits.titles
    return [hits.titles, heads, hits.bodies - hits.titles - heads]


def _make_filter(index: Index, arguments: SearchNotes) -> Callable[[Iterable[str]], list[str]]:
    """What keeps the paths that tag, field and folder leave; a note is read only if its text names them."""
    notes = index.catalog.notes
    conditions: list[Callable[[str], bool]] = []
    if arguments.tag is not None:
        tag = arguments.tag
        tagged = index.texts.find(fold_text(tag.strip("#/ "))).bodies
        conditions += [
            tagged.__contains__,
            lambda path: any(is_under(it, tag) for it in index.facts(path).tags),
        ]
    if arguments.frontmatter is not None:
        wanted = parse_filter(arguments.frontmatter)
        named = index.texts.find(fold_text(wanted.field)).bodies
        conditions += [named.__contains__, lambda path: wanted.matches(index.facts(path).fields)]

    def keep(paths: Iterable[str]) -> list[str]:
        known = [path for path in _within(paths, arguments.path) if path in notes]
        return [path for path in known if all(meets(path) for meets in conditions)] if conditions else known

    return keep


def _compile_pattern(text: str) -> regex.Pattern[str]:
    import regex  # noqa: PLC0415 - slow to import, and few searches are patterns

    if len(text) > _MOST_PATTERN_CHARACTERS:
        raise Fault(
            FaultKind.TOO_LARGE,
            f"the pattern has over {_MOST_PATTERN_CHARACTERS} characters",
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


def _match_pattern(index: Index, arguments: SearchNotes) -> dict[str, int]:
    """One deadline for all notes: a pattern that explodes is stopped, not waited for."""
    pattern = _compile_pattern(arguments.query)
    deadline = time.monotonic() + PATTERN_DEADLINE_SECONDS
    ranks: dict[str, int] = {}
    try:
        for path, data in index.texts.bodies(_within(index.catalog.notes, arguments.path)):
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


def write_cursor(place: str) -> str:
    """Where a page ended, as an opaque word."""
    return base64.urlsafe_b64encode(place.encode()).decode()


def read_cursor(cursor: str) -> str:
    try:
        return base64.b64decode(cursor, altchars=b"-_", validate=True).decode()
    except ValueError as error:
        raise faults.foreign_cursor() from error


@dataclass(frozen=True, slots=True)
class _Filter:
    field: str
    value: Json

    def matches(self, fields: dict[str, Json]) -> bool:
        for name, found in fields.items():
            if name.casefold() == self.field.casefold():
                return self._is(found) or (isinstance(found, list) and any(map(self._is, found)))
        return False

    def _is(self, found: Json) -> bool:
        if isinstance(found, str) and isinstance(self.value, str):
            return found.casefold() == self.value.casefold()
        if isinstance(found, bool) or isinstance(self.value, bool):
            return found is self.value
        return not isinstance(found, str) and not isinstance(self.value, str) and found == self.value


def parse_filter(text: str) -> _Filter:
    """`status:draft`, `priority:2`, `done:true`, `due:2024-05-01`, `code:"2"`, `empty:null`."""
    match = _FILTER.match(text)
    value = match[2].strip() if match else ""
    if match is None or not value:
        raise faults.malformed_filter(text)
    try:
        found = read_fields(f"value: {value}\n").get("value")
    except Fault:
        found = value
    return _Filter(match[1], value if isinstance(found, dict | list) else found)


def find_hit(text: str, arguments: SearchNotes) -> int:
    """Where the query or its pattern stands in a note's text; -1 if nowhere, or if it takes too long."""
    if not arguments.regex:
        return _find_folded(text, arguments.query)
    try:
        match = _compile_pattern(arguments.query).search(text, timeout=1)
    except TimeoutError:
        return -1
    return match.start() if match else -1


def _find_folded(text: str, query: str) -> int:
    """Where the query stands in the text, case and composition ignored; -1 if nowhere."""
    place = text.lower().find(query.lower())
    if text.isascii() or (place >= 0 and len(text.lower()) == len(text)):
        return place
    wanted = unicodedata.normalize("NFC", query).casefold()
    folded = unicodedata.normalize("NFC", text).casefold()
    found = folded.find(wanted)
    if found < 0:
        return found
    # The place in the written text of a place in its folded form, by halving.
    return bisect.bisect_right(
        range(len(text)),
        found,
        key=lambda last: len(unicodedata.normalize("NFC", text[: last + 1]).casefold()),
    )


def cut_snippet(text: str, place: int) -> str:
    """At most 200 characters, blank space joined, dots where something was left out."""
    place = max(place, 0)
    start = max(0, place - _SNIPPET_LEAD)
    window = text[start : start + _SNIPPET_CHARACTERS * 2]
    words = _BLANK.sub(" ", clean(window, len(window) + 100)).strip()
    head = "…" if start > 0 and text[:start].strip() else ""
    room = _SNIPPET_CHARACTERS - len(head) - 1
    tail = "…" if len(words) > room or text[start + len(window) :].strip() else ""
    return head + words[:room].rstrip() + tail
