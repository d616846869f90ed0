"""Lists, search results, tags and links as answers."""

from __future__ import annotations

import posixpath
from collections import Counter
from typing import TYPE_CHECKING, Literal

from faultless.contract import Fault, FaultKind
from faultless.contract.text import find_near
from faultless.servers.obsidian import scope
from faultless.servers.obsidian.links import links_in
from faultless.servers.obsidian.markdown import is_under
from faultless.servers.obsidian.note import Note, decode
from faultless.servers.obsidian.outputs import (
    BackLink,
    BrokenLink,
    FoundNote,
    Links,
    ListedNote,
    NoteList,
    OutgoingLink,
    SearchResult,
    TagCount,
    TagList,
)
from faultless.servers.obsidian.search import (
    TITLE,
    Hit,
    cut_snippet,
    find_hit,
    parse_filter,
    read_cursor,
    search,
    write_cursor,
)
from faultless.servers.obsidian.vault import Vault, moment

if TYPE_CHECKING:
    from faultless.servers.obsidian.index import Index
    from faultless.servers.obsidian.inputs import GetLinks, ListNotes, ListTags, SearchNotes
    from faultless.servers.obsidian.links import Link

_MATCHED: tuple[Literal["title", "heading", "body"], ...] = ("title", "heading", "body")
_MOST_COMPARED = 5000


def list_notes(vault: Vault, arguments: ListNotes) -> NoteList:
    folder = vault.locate_folder(arguments.directory)
    wanted = parse_filter(arguments.filter) if arguments.filter is not None else None
    after = read_cursor(arguments.cursor) if arguments.cursor else ""
    vault.finish_recovery()
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
        paths = below if arguments.recursive else [path for path in below if "/" not in path[len(prefix) :]]
        if wanted is not None:
            paths = [path for path in paths if wanted.matches(index.facts(path).fields)]
        rest = [path for path in paths if path > after] if after else paths
        shown = rest[: arguments.limit]
        dates = {path: index.catalog.notes[path].modified_ns for path in shown}
    notes = [_describe_listed(vault, path, dates[path]) for path in shown]
    more = write_cursor(shown[-1]) if len(rest) > len(shown) else None
    return NoteList(notes=notes, count=len(paths), folders=folders, next_cursor=more)


def _describe_listed(vault: Vault, path: str, modified_ns: int) -> ListedNote:
    snippet, unreadable = "", None
    try:
        snippet = _cut_opening(decode(vault.store.read(path).data).readable_text)
    except Fault as fault:
        unreadable = fault.message
    return ListedNote(path=path, snippet=snippet, modified=moment(modified_ns), unreadable=unreadable)


def search_notes(vault: Vault, arguments: SearchNotes) -> SearchResult:
    if arguments.path:
        scope.locate(vault.root, arguments.path)
    vault.finish_recovery()
    with vault.index.fresh(text=True) as index:
        page = search(index, arguments)
    return SearchResult(
        notes=[_describe_hit(vault, hit, arguments) for hit in page.hits],
        count=page.count,
        next_cursor=page.next_cursor,
    )


def list_tags(vault: Vault, arguments: ListTags) -> TagList:
    vault.finish_recovery()
    counts: Counter[str] = Counter()
    names: dict[str, str] = {}
    with vault.index.fresh(text=True) as index:
        for path in index.catalog.notes:
            for tag in index.facts(path).tags:
                if not arguments.prefix or is_under(tag, arguments.prefix):
                    counts[tag.casefold()] += 1
                    names.setdefault(tag.casefold(), tag)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    tags = [TagCount(tag=names[name], notes=count) for name, count in ordered[: arguments.limit]]
    return TagList(tags=tags, count=len(ordered))


def get_links(vault: Vault, arguments: GetLinks) -> Links:
    path = vault.locate_note(arguments.path)
    vault.finish_recovery()
    text = Note.parse(vault.store.read(path).data).text
    answer = Links(path=path, outgoing=[], back=[], broken=[])
    with vault.index.fresh(text=True) as index:
        for link in links_in(path, text):
            target = index.catalog.lookup.resolve(link, path)
            line = _line_of(text, link.start)
            written = link.target + link.part
            if target is None:
                candidate = _suggest(index, link)
                answer.broken.append(BrokenLink(link=written, line=line, candidate=candidate))
            else:
                answer.outgoing.append(OutgoingLink(path=target, link=written, style=link.style, line=line))
        answer.back.extend(_find_back(vault, index, path))
    return answer


def _find_back(vault: Vault, index: Index, path: str) -> list[BackLink]:
    found: list[BackLink] = []
    for source in index.find_mentions(path):
        read = vault.read_text(source) if source != path else None
        if read is None:
            continue
        text = read[1].text
        found += [
            BackLink(path=source, link=link.target + link.part, line=_line_of(text, link.start))
            for link in links_in(source, text)
            if index.catalog.lookup.resolve(link, source) == path
        ]
    return found


def _describe_hit(vault: Vault, hit: Hit, arguments: SearchNotes) -> FoundNote:
    """From the file as it is now: the text in memory is folded."""
    text = _read(vault, hit.path)
    place = -1 if hit.rank == TITLE or not arguments.query else find_hit(text, arguments)
    return FoundNote(
        path=hit.path,
        snippet=cut_snippet(text, place) if place >= 0 else _cut_opening(text),
        matched=_MATCHED[hit.rank],
        line=_line_of(text, place),
        modified=moment(-hit.age),
    )


def _read(vault: Vault, path: str) -> str:
    read = vault.read_text(path)
    return read[1].readable_text if read else ""


def _cut_opening(text: str) -> str:
    """The first words of the body."""
    return cut_snippet(Note.of_text(text).body.lstrip(), 0)


def _suggest(index: Index, link: Link) -> str | None:
    wanted = posixpath.basename(link.target).casefold()
    for path in index.texts.find(wanted.encode()).bodies if wanted else ():
        aliases = index.facts(path).fields.get("aliases")
        names = aliases if isinstance(aliases, list) else [aliases]
        if wanted in {name.casefold() for name in names if isinstance(name, str)}:
            return path
    by_name = {posixpath.basename(path).rpartition(".")[0].casefold(): path for path in index.catalog.notes}
    close = find_near(wanted, by_name, most=1, cutoff=0.75) if len(by_name) < _MOST_COMPARED else []
    return by_name[close[0]] if close else None


def _line_of(text: str, place: int) -> int:
    return text.count("\n", 0, max(place, 0)) + 1
