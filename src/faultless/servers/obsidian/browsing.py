"""Lists, search results, tags and links as answers."""

from __future__ import annotations

import base64
import difflib
import posixpath
from collections import Counter
from typing import TYPE_CHECKING, Literal

from faultless.contract import Fault, FaultKind
from faultless.servers.obsidian import scope
from faultless.servers.obsidian.filters import parse_filter
from faultless.servers.obsidian.moving import candidates, text_of_file
from faultless.servers.obsidian.note import Note
from faultless.servers.obsidian.relink import links_in
from faultless.servers.obsidian.search import TITLE, Hit, compile_pattern, search
from faultless.servers.obsidian.shapes import (
    BackLink,
    BrokenLink,
    FoundNote,
    GetLinks,
    Links,
    ListedNote,
    ListNotes,
    ListTags,
    NoteList,
    OutgoingLink,
    SearchNotes,
    SearchResult,
    TagCount,
    TagList,
)
from faultless.servers.obsidian.snippet import cut, find_folded
from faultless.servers.obsidian.tags import is_under
from faultless.servers.obsidian.vault import Vault, moment

if TYPE_CHECKING:
    from faultless.servers.obsidian.index import Index
    from faultless.servers.obsidian.links import Link

MATCHED: tuple[Literal["title", "heading", "body"], ...] = ("title", "heading", "body")
MOST_COMPARED = 5000


def list_notes(vault: Vault, asked: ListNotes) -> NoteList:
    folder = _locate_folder(vault, asked.directory)
    wanted = parse_filter(asked.filter) if asked.filter is not None else None
    after = _read_place(asked.cursor)
    vault.settle()
    prefix = f"{folder}/" if folder else ""
    with vault.index.fresh() as index:
        below = sorted(path for path in index.catalog.notes if path.startswith(prefix))
        if not below and folder and not index.catalog.has_folder(folder):
            raise Fault(
                FaultKind.NOT_FOUND,
                f"there is no folder {folder}",
                hint="list_notes without a directory shows the top",
            )
        folders = index.catalog.folders_in(folder)
        paths = below if asked.recursive else [path for path in below if "/" not in path[len(prefix) :]]
        if wanted is not None:
            paths = [path for path in paths if wanted.matches(index.facts(path).fields)]
        rest = [path for path in paths if path > after] if after else paths
        shown = rest[: asked.limit]
        dates = {path: index.catalog.notes[path].modified_ns for path in shown}
    notes = [
        ListedNote(path=path, snippet=_opening(vault, path), modified=moment(dates[path])) for path in shown
    ]
    more = len(rest) > len(shown)
    return NoteList(
        notes=notes,
        count=len(paths),
        folders=folders,
        next_cursor=_write_place(shown[-1]) if more else None,
    )


def search_notes(vault: Vault, asked: SearchNotes) -> SearchResult:
    if asked.path:
        scope.locate(vault.root, asked.path)
    vault.settle()
    with vault.index.fresh(text=True) as index:
        page = search(index, asked)
    return SearchResult(
        notes=[_found(vault, hit, asked) for hit in page.hits], count=page.count, next_cursor=page.next_cursor
    )


def list_tags(vault: Vault, asked: ListTags) -> TagList:
    vault.settle()
    counts: Counter[str] = Counter()
    names: dict[str, str] = {}
    with vault.index.fresh(text=True) as index:
        for path in index.catalog.notes:
            for tag in index.facts(path).tags:
                if not asked.prefix or is_under(tag, asked.prefix):
                    counts[tag.casefold()] += 1
                    names.setdefault(tag.casefold(), tag)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    tags = [TagCount(tag=names[name], notes=count) for name, count in ordered[: asked.limit]]
    return TagList(tags=tags, count=len(ordered))


def get_links(vault: Vault, asked: GetLinks) -> Links:
    path = vault.locate_note(asked.path)
    vault.settle()
    text = Note.parse(vault.store.read(path).data).text
    answer = Links(path=path, outgoing=[], back=[], broken=[])
    with vault.index.fresh(text=True) as index:
        for link in links_in(path, text):
            target = index.catalog.lookup.resolve(link, path)
            line = _line_of(text, link.start)
            if target is None:
                candidate = _suggest(index, link)
                answer.broken.append(BrokenLink(link=_written(link), line=line, candidate=candidate))
            else:
                answer.outgoing.append(
                    OutgoingLink(path=target, link=_written(link), style=link.style, line=line)
                )
        answer.back.extend(_find_back(vault, index, path))
    return answer


def _find_back(vault: Vault, index: Index, path: str) -> list[BackLink]:
    found: list[BackLink] = []
    for source in candidates(index, path):
        read = text_of_file(vault, source) if source != path else None
        if read is None:
            continue
        text = read[2]
        found += [
            BackLink(path=source, link=_written(link), line=_line_of(text, link.start))
            for link in links_in(source, text)
            if index.catalog.lookup.resolve(link, source) == path
        ]
    return found


def _found(vault: Vault, hit: Hit, asked: SearchNotes) -> FoundNote:
    read = text_of_file(vault, hit.path)
    text = read[2].encode("utf-8", "surrogateescape").decode("utf-8", "replace") if read else ""
    place = -1 if hit.rank == TITLE or not asked.query else _place(text, asked)
    return FoundNote(
        path=hit.path,
        snippet=cut(text, place) if place >= 0 else _opening(vault, hit.path),
        matched=MATCHED[hit.rank],
        line=_line_of(text, place) if place >= 0 else 1,
        modified=moment(-hit.age),
    )


def _place(text: str, asked: SearchNotes) -> int:
    if not asked.regex:
        return find_folded(text, asked.query)
    try:
        match = compile_pattern(asked.query).search(text, timeout=1)
    except TimeoutError:
        return -1
    return match.start() if match else -1


def _opening(vault: Vault, path: str) -> str:
    """The first words of the body."""
    try:
        return cut(Note.parse(vault.store.read(path).data).readable_body.lstrip(), 0)
    except Fault:
        return ""


def _suggest(index: Index, link: Link) -> str | None:
    wanted = posixpath.basename(link.target).casefold()
    for path in index.texts.find(wanted.encode()).bodies if wanted else ():
        aliases = index.facts(path).fields.get("aliases")
        names = aliases if isinstance(aliases, list) else [aliases]
        if wanted in {name.casefold() for name in names if isinstance(name, str)}:
            return path
    by_name = {posixpath.basename(path).rpartition(".")[0].casefold(): path for path in index.catalog.notes}
    close = (
        difflib.get_close_matches(wanted, by_name, n=1, cutoff=0.75) if len(by_name) < MOST_COMPARED else []
    )
    return by_name[close[0]] if close else None


def _locate_folder(vault: Vault, given: str) -> str:
    """Strings are stripped; the top is empty, `.` or `/`."""
    given = given.strip().rstrip("/")
    vault.tree.require_present()
    if given in {"", "."}:
        return ""
    path = vault.locate(given)
    if path == ".":
        return ""
    vault.scope.require_visible(path)
    return path


def _written(link: Link) -> str:
    return link.target + link.part


def _line_of(text: str, place: int) -> int:
    return text.count("\n", 0, max(place, 0)) + 1


def _write_place(path: str) -> str:
    return base64.urlsafe_b64encode(path.encode()).decode()


def _read_place(cursor: str | None) -> str:
    try:
        return base64.b64decode(cursor, altchars=b"-_", validate=True).decode() if cursor else ""
    except ValueError as error:
        raise Fault(
            FaultKind.INVALID_PARAMS,
            "the cursor is not one this tool gave out",
            hint="leave it out to start from the first page",
            details={"field": "cursor"},
        ) from error
