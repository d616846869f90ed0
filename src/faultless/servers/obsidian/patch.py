"""Edits under a heading, a block id or a frontmatter key; everything else keeps its bytes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind, Json
from faultless.contract.text import find_near
from faultless.servers.obsidian.inputs import Operation, PatchNote, TargetKind
from faultless.servers.obsidian.markdown import (
    Heading,
    Splice,
    apply_splices,
    find_blocks,
    find_code,
    find_headings,
)

if TYPE_CHECKING:
    from faultless.servers.obsidian.note import Note

_TRAIL_MARK = "::"
_MOST_CANDIDATES = 20
_NEW_HEADING_LEVEL = 2
_LOWEST_LEVEL = 6


def apply_patch(note: Note, patch: PatchNote) -> Note:
    if patch.operation is Operation.REMOVE:
        if patch.target_type is not TargetKind.FRONTMATTER:
            raise Fault(
                FaultKind.INVALID_PARAMS,
                "remove takes a frontmatter key away and nothing else",
                hint="use replace with an empty content",
            )
        return note.without_field(patch.target)
    if patch.target_type is TargetKind.FRONTMATTER:
        return note.with_fields({patch.target: _new_value(note, patch)}, keep_others=True)
    if not isinstance(patch.content, str):
        raise Fault(
            FaultKind.INVALID_PARAMS,
            "content must be text unless the target is a frontmatter key",
            hint="send the content as a string",
        )
    splice = _PLACES[patch.target_type](note, patch, note.in_style(patch.content))
    return replace(note, body=apply_splices(note.body, [splice])).fenced()


def _new_value(note: Note, patch: PatchNote) -> Json:
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


def _in_note(note: Note, patch: PatchNote, content: str) -> Splice:
    end = len(note.body)
    if patch.operation is Operation.REPLACE:
        return Splice(0, end, content)
    if patch.operation in {Operation.PREPEND, Operation.INSERT_BEFORE}:
        return Splice(0, 0, _closed(note, content) if note.body else content)
    return Splice(end, end, _gap(note, end) + _closed(note, content))


def _in_section(note: Note, patch: PatchNote, content: str) -> Splice:
    heading = _choose_heading(note, patch.target)
    if heading is None and patch.create_missing:
        return _make_section(note, patch.target, content)
    if heading is None:
        raise _missing_heading(note, patch.target)
    stop = heading.end if patch.subsections else heading.own_end
    if patch.operation is Operation.INSERT_BEFORE:
        start = end = heading.start
    elif patch.operation is Operation.INSERT_AFTER:
        start = end = stop
    elif patch.operation is Operation.PREPEND:
        start = end = heading.content
    else:
        start, end = _bound_text(note.body, heading.content, stop)
        start = end if patch.operation is Operation.APPEND else start
    return Splice(start, end, _gap(note, start) + _closed(note, content))


def _in_block(note: Note, patch: PatchNote, content: str) -> Splice:
    blocks = find_blocks(note.body, find_code(note.body))
    found = [block for block in blocks if block.name == patch.target.lstrip("^")]
    if not found:
        raise _missing("block id", patch.target, [block.name for block in blocks])
    if len(found) > 1:
        raise _ambiguous("block id", patch.target, [block.name for block in found])
    block, newline, inner = found[0], note.newline or "\n", content.rstrip("\r\n")
    if patch.operation is Operation.REPLACE:
        return Splice(block.start, block.text_end, inner)
    if patch.operation is Operation.APPEND:
        return Splice(block.text_end, block.text_end, newline + inner)
    if patch.operation is Operation.PREPEND:
        return Splice(block.start, block.start, inner + newline)
    if patch.operation is Operation.INSERT_BEFORE:
        return Splice(block.line_start, block.line_start, _closed(note, content))
    return Splice(block.end, block.end, _gap(note, block.end) + _closed(note, content))


_PLACES = {TargetKind.NOTE: _in_note, TargetKind.HEADING: _in_section, TargetKind.BLOCK: _in_block}


def _choose_heading(note: Note, target: str) -> Heading | None:
    """The one heading of that name or trail; None where there is none."""
    headings = find_headings(note.body, find_code(note.body))
    wanted = target.lstrip("#").strip()
    trail = tuple(part.strip() for part in wanted.split(_TRAIL_MARK))
    folded = tuple(part.casefold() for part in trail)
    found = [one for one in headings if one.title == wanted or one.trail[-len(trail) :] == trail] or [
        one for one in headings if tuple(name.casefold() for name in one.trail[-len(trail) :]) == folded
    ]
    whole = [one for one in found if one.trail == trail]
    if len(found) > 1 and len(whole) != 1:
        raise _ambiguous("heading", target, [_TRAIL_MARK.join(one.trail) for one in found])
    return next(iter(whole or found), None)


def _make_section(note: Note, target: str, content: str) -> Splice:
    """A missing heading is made at the end of its parent, or of the note."""
    newline = note.newline or "\n"
    *parents, title = target.lstrip("#").strip().split(_TRAIL_MARK)
    level, stop = _NEW_HEADING_LEVEL, len(note.body)
    if parents:
        above = _TRAIL_MARK.join(parents)
        parent = _choose_heading(note, above)
        if parent is None:
            raise _missing_heading(note, above)
        level, stop = min(parent.level + 1, _LOWEST_LEVEL), parent.end
    heading = f"{'#' * level} {title.strip()}{newline}{newline}"
    blank = newline if note.body[:stop].strip() and not note.body[:stop].endswith(newline * 2) else ""
    tail = newline if stop < len(note.body) else ""
    return Splice(stop, stop, _gap(note, stop) + blank + heading + _closed(note, content) + tail)


def _gap(note: Note, place: int) -> str:
    """A newline where the text before the place has none."""
    return (note.newline or "\n") if place and note.body[place - 1] != "\n" else ""


def _closed(note: Note, content: str) -> str:
    return content if content.endswith("\n") or not content else content + (note.newline or "\n")


def _bound_text(body: str, start: int, stop: int) -> tuple[int, int]:
    """From the first line with text to after the last: blank lines around it stay where they are."""
    text = body[start:stop]
    lead = len(text) - len(text.lstrip())
    kept = len(text.rstrip())
    if not kept:
        return start, start
    line_end = text.find("\n", kept)
    return start + text.rfind("\n", 0, lead) + 1, stop if line_end < 0 else start + line_end + 1


def _missing_heading(note: Note, target: str) -> Fault:
    headings = find_headings(note.body, find_code(note.body))
    return _missing("heading", target, [_TRAIL_MARK.join(one.trail) for one in headings])


def _missing(what: str, target: str, names: list[str]) -> Fault:
    close = find_near(target, names, cutoff=0.4)
    candidates = close + [name for name in names if name not in close]
    return Fault(
        FaultKind.NOT_FOUND,
        f"the note has no {what} {target!r}",
        hint=f"did you mean {close[0]!r}?" if close else "read the note to see what it has",
        details={"candidates": list[Json](candidates[:_MOST_CANDIDATES])},
    )


def _ambiguous(what: str, target: str, candidates: list[str]) -> Fault:
    return Fault(
        FaultKind.INVALID_PARAMS,
        f"the {what} {target!r} stands {len(candidates)} times in the note",
        hint=f"name its parents too, like Parent{_TRAIL_MARK}Child, or rename one of them",
        details={"candidates": list[Json](candidates[:_MOST_CANDIDATES])},
    )
