"""Moving a note with every link that leads to it, or from it, or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from faultless.contract import Fault, FaultKind, Json
from faultless.servers.obsidian.journal import Rename
from faultless.servers.obsidian.note import decode, version_of
from faultless.servers.obsidian.relink import CANVAS_SUFFIX, Move, links_in, relink
from faultless.servers.obsidian.resolve import Renamed
from faultless.servers.obsidian.shapes import Moved, MoveNote, Rewritten
from faultless.servers.obsidian.texts import fold_text
from faultless.servers.obsidian.vault import require_version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from faultless.servers.obsidian.index import Index
    from faultless.servers.obsidian.tree import Content
    from faultless.servers.obsidian.vault import Vault

MOST_NAMED = 20


def move_note(vault: Vault, asked: MoveNote) -> Moved:
    old = vault.locate_writable(asked.source)
    new = vault.locate_writable(asked.destination)
    with vault.store.writing():
        content = vault.store.read(old)
        require_version(old, content, asked.if_version)
        _require_free(vault, old, new)
        rewrites: dict[str, tuple[Content, bytes]] = {}
        counts: dict[str, int] = {}
        captured: list[str] = []
        if asked.update_links:
            with vault.index.fresh(text=True) as index:
                move = Move(old, new, index.catalog.lookup, Renamed(index.catalog.lookup, old, new))
                for path, seen, data, count in _rewrites(vault, index, move):
                    rewrites[path], counts[path] = (seen, data), count
                captured = _find_captured(vault, index, move)
        vault.store.move(Rename(old, new), content, rewrites)
        version = version_of(vault.store.read(new).data)
    vault.note_moved(old, new, version)
    rewritten = [
        Rewritten(path=new if path == old else path, links=count) for path, count in sorted(counts.items())
    ]
    return Moved(
        moved=True, source=old, destination=new, version=version, rewritten=rewritten, captured=captured
    )


def candidates(index: Index, path: str) -> list[str]:
    """Files that may link to the path: any link to it holds its name, plain or percent-encoded."""
    stem = path.rpartition("/")[2].rpartition(".")[0]
    spellings = {stem, stem.replace(" ", "%20"), quote(stem), quote(stem, safe=""), stem.replace("'", "''")}
    found: set[str] = set()
    for spelling in spellings:
        found |= index.texts.find(fold_text(spelling)).bodies
    canvases = {other for other in index.catalog.others if other.endswith(CANVAS_SUFFIX)}
    return sorted(found | canvases)


def text_of_file(vault: Vault, path: str) -> tuple[Content, str, str] | None:
    """The file's bytes, encoding and text; None where it went away meanwhile or cannot be read."""
    try:
        content = vault.store.read(path)
    except Fault:
        return None
    _, encoding, text = decode(content.data)
    return content, encoding, text


def _rewrites(vault: Vault, index: Index, move: Move) -> Iterator[tuple[str, Content, bytes, int]]:
    refused: list[str] = []
    for path in sorted({*candidates(index, move.old), move.old}):
        read = text_of_file(vault, path)
        if read is None:
            continue
        content, encoding, text = read
        changed, count = relink(path, text, move)
        if not count:
            continue
        if path != move.old and not vault.scope.can_write(path):
            refused.append(path)
            continue
        yield path, content, _encode(changed, encoding, content.data), count
    if refused:
        raise Fault(
            FaultKind.PERMISSION_DENIED,
            f"{len(refused)} notes that link to {move.old} may not be written; nothing was moved",
            hint="move with update_links false, or ask for write access to them",
            details={"paths": list[Json](refused[:MOST_NAMED])},
        )


def _encode(text: str, encoding: str, old: bytes) -> bytes:
    """Back to the bytes it came from; the mark is not part of the text."""
    if encoding.startswith("utf-16"):
        return old[:2] + text.encode(encoding)
    mark = old[:3] if old.startswith(b"\xef\xbb\xbf") and not text.startswith("\ufeff") else b""
    return mark + text.encode("utf-8", "surrogateescape")


def _find_captured(vault: Vault, index: Index, move: Move) -> list[str]:
    """Links that meant another note and by their name now mean this one: they are told, not touched."""
    found = []
    for path in candidates(index, move.new):
        read = text_of_file(vault, path)
        if read is None or path == move.old:
            continue
        for link in links_in(path, read[2]):
            before = move.before.resolve(link, path)
            if before not in {None, move.old} and move.after.resolve(link, path) == move.new:
                found.append(path)
                break
    return found[:MOST_NAMED]


def _require_free(vault: Vault, old: str, new: str) -> None:
    if vault.tree.status(new) is not None:
        raise Fault(
            FaultKind.CONFLICT,
            f"{new} exists already; nothing was moved",
            hint="choose another destination",
            details={"path": new},
        )
    vault.require_new_name(new, leaving=old)
