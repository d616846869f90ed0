"""Edits under a heading, a block id or a frontmatter key; everything else keeps its bytes."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind, Json
from faultless.servers.obsidian.outline import Block, Heading, find_blocks, find_code, find_headings

if TYPE_CHECKING:
    from faultless.servers.obsidian.note import Note

TRAIL_MARK = "::"
MOST_CANDIDATES = 20
NEW_HEADING_LEVEL = 2
LOWEST_LEVEL = 6


class Operation(StrEnum):
    APPEND = "append"
    PREPEND = "prepend"
    REPLACE = "replace"
    INSERT_BEFORE = "insert_before"
    INSERT_AFTER = "insert_after"


class TargetKind(StrEnum):
    NOTE = "note"
    HEADING = "heading"
    BLOCK = "block"
    FRONTMATTER = "frontmatter"


@dataclass(frozen=True, slots=True)
class Patch:
    operation: Operation
    kind: TargetKind
    target: str
    content: Json
    subsections: bool = True
    create_missing: bool = False


def apply_patch(note: Note, patch: Patch) -> Note:
    if patch.kind is TargetKind.FRONTMATTER:
        return note.with_fields({patch.target: _new_value(note, patch)}, keep_others=True)
    if not isinstance(patch.content, str):
        raise Fault(
            FaultKind.INVALID_PARAMS,
            "content must be text unless the target is a frontmatter key",
            hint="send the content as a string",
        )
    content = note.in_style(patch.content)
    start, end, text = _PLACES[patch.kind](note, patch, content)
    return replace(note, body=note.body[:start] + text + note.body[end:]).fenced()


def _in_note(note: Note, patch: Patch, content: str) -> tuple[int, int, str]:
    if patch.operation is Operation.REPLACE:
        return 0, len(note.body), content
    if patch.operation in {Operation.PREPEND, Operation.INSERT_BEFORE}:
        return 0, 0, _closed(note, content) if note.body else content
    end = len(note.body)
    return end, end, _gap(note, end) + _closed(note, content)


def _in_section(note: Note, patch: Patch, content: str) -> tuple[int, int, str]:
    heading = _choose_heading(note, patch)
    if heading is None:
        return _new_section(note, patch, content)
    body = note.body
    stop = heading.end if patch.subsections else heading.own_end
    if patch.operation is Operation.INSERT_BEFORE:
        return heading.start, heading.start, _closed(note, content)
    if patch.operation is Operation.INSERT_AFTER:
        return stop, stop, _gap(note, stop) + _closed(note, content)
    if patch.operation is Operation.PREPEND:
        return heading.content, heading.content, _gap(note, heading.content) + _closed(note, content)
    last = _content_end(body, heading.content, stop)
    if patch.operation is Operation.APPEND:
        return last, last, _gap(note, last) + _closed(note, content)
    first = _content_start(body, heading.content, last)
    return first, last, _gap(note, first) + _closed(note, content)


def _in_block(note: Note, patch: Patch, content: str) -> tuple[int, int, str]:
    block = _choose_block(note, patch)
    newline = note.newline or "\n"
    inner = content.rstrip("\r\n")
    if patch.operation is Operation.REPLACE:
        return block.start, block.text_end, inner
    if patch.operation is Operation.APPEND:
        return block.text_end, block.text_end, newline + inner
    if patch.operation is Operation.PREPEND:
        return block.start, block.start, inner + newline
    if patch.operation is Operation.INSERT_BEFORE:
        return block.line_start, block.line_start, _closed(note, content)
    return block.end, block.end, _gap(note, block.end) + _closed(note, content)


_PLACES = {TargetKind.NOTE: _in_note, TargetKind.HEADING: _in_section, TargetKind.BLOCK: _in_block}


def _new_value(note: Note, patch: Patch) -> Json:
    """A list grows by an item or by a list's items; a text grows by text; replace sets."""
    old = note.fields.get(patch.target)
    new = patch.content
    if patch.operation is Operation.REPLACE:
        return new
    if patch.operation not in {Operation.APPEND, Operation.PREPEND}:
        raise Fault(
            FaultKind.INVALID_PARAMS,
            f"{patch.operation} has no meaning for a frontmatter key",
            hint="use append, prepend or replace",
        )
    first = patch.operation is Operation.PREPEND
    if isinstance(old, list) or old is None:
        more = new if isinstance(new, list) else [new]
        return [*more, *(old or [])] if first else [*(old or []), *more]
    if isinstance(old, str) and isinstance(new, str):
        return new + old if first else old + new
    raise Fault(
        FaultKind.INVALID_PARAMS,
        f"the key {patch.target!r} holds neither a list nor text, so nothing can be added to it",
        hint="use replace",
    )


def _choose_heading(note: Note, patch: Patch) -> Heading | None:
    headings = find_headings(note.body, find_code(note.body))
    wanted = patch.target.lstrip("#").strip()
    trail = tuple(part.strip() for part in wanted.split(TRAIL_MARK))
    exact = [one for one in headings if one.title == wanted or _ends_with(one.trail, trail)]
    folded = tuple(part.casefold() for part in trail)
    loose = [one for one in headings if _ends_with(tuple(name.casefold() for name in one.trail), folded)]
    found = exact or loose
    names = [TRAIL_MARK.join(one.trail) for one in headings]
    if len(found) == 1:
        return found[0]
    whole = [one for one in found if one.trail == trail]
    if len(whole) == 1:
        return whole[0]
    if found:
        raise _ambiguous("heading", patch.target, [TRAIL_MARK.join(one.trail) for one in found])
    if patch.create_missing:
        return None
    raise _missing("heading", patch.target, names)


def _choose_block(note: Note, patch: Patch) -> Block:
    blocks = find_blocks(note.body, find_code(note.body))
    wanted = patch.target.lstrip("^")
    found = [block for block in blocks if block.name == wanted]
    if len(found) > 1:
        raise _ambiguous("block id", patch.target, [block.name for block in found])
    if not found:
        raise _missing("block id", patch.target, [block.name for block in blocks])
    return found[0]


def _new_section(note: Note, patch: Patch, content: str) -> tuple[int, int, str]:
    """A missing heading is made at the end of its parent, or of the note."""
    newline = note.newline or "\n"
    *parents, title = patch.target.lstrip("#").strip().split(TRAIL_MARK)
    level, stop = NEW_HEADING_LEVEL, len(note.body)
    if parents:
        parent = _choose_heading(note, replace(patch, target=TRAIL_MARK.join(parents), create_missing=False))
        if parent is not None:
            level, stop = min(parent.level + 1, LOWEST_LEVEL), parent.end
    heading = f"{'#' * level} {title.strip()}{newline}{newline}"
    blank = newline if note.body[:stop].strip() and not note.body[:stop].endswith(newline * 2) else ""
    tail = newline if stop < len(note.body) else ""
    return stop, stop, _gap(note, stop) + blank + heading + _closed(note, content) + tail


def _ends_with(trail: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    return trail[-len(wanted) :] == wanted


def _gap(note: Note, place: int) -> str:
    """A newline where the text before the place has none."""
    return (note.newline or "\n") if place and note.body[place - 1] != "\n" else ""


def _closed(note: Note, content: str) -> str:
    return content if content.endswith("\n") or not content else content + (note.newline or "\n")


def _content_end(body: str, start: int, stop: int) -> int:
    """After the last line with text: blank lines before the next heading stay where they are."""
    text = body[start:stop].rstrip()
    if not text:
        return start
    end = body.find("\n", start + len(text), stop)
    return stop if end < 0 else end + 1


def _content_start(body: str, start: int, stop: int) -> int:
    text = body[start:stop]
    lead = len(text) - len(text.lstrip())
    return start + text.rfind("\n", 0, lead) + 1


def _ambiguous(what: str, target: str, candidates: list[str]) -> Fault:
    return Fault(
        FaultKind.INVALID_PARAMS,
        f"the {what} {target!r} stands {len(candidates)} times in the note",
        hint=f"name its parents too, like Parent{TRAIL_MARK}Child, or rename one of them",
        details={"candidates": list[Json](candidates[:MOST_CANDIDATES])},
    )


def _missing(what: str, target: str, names: list[str]) -> Fault:
    close = difflib.get_close_matches(target, names, n=3, cutoff=0.4)
    return Fault(
        FaultKind.NOT_FOUND,
        f"the note has no {what} {target!r}",
        hint=f"did you mean {close[0]!r}?" if close else "read the note to see what it has",
        details={
            "candidates": list[Json](
                (close + [name for name in names if name not in close])[:MOST_CANDIDATES]
            )
        },
    )
