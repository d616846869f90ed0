"""The smallest edits of YAML text that turn one set of fields into another."""

from __future__ import annotations

import difflib
import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from faultless.contract import Json
from faultless.servers.obsidian.emit import emit_field, emit_item, emit_value, scalar_text
from faultless.servers.obsidian.splice import Splice, same

_DASH = re.compile(r" *- +\Z")
_QUIET_LINE = re.compile(r"( *)(?:#.*)?\r?\n?\Z")


@dataclass(frozen=True, slots=True)
class Splicer:
    """Finds the edits for one YAML text; `newline` is what new lines end in."""

    text: str
    newline: str

    def fields(
        self, node: MappingNode, stop: int, old: dict[str, Json], new: dict[str, Json]
    ) -> Iterator[Splice]:
        """Edits for a block mapping that ends before `stop`."""
        if node.flow_style or not node.value:
            fields = "".join(emit_field(name, value, 0, self.newline) for name, value in new.items())
            yield Splice(0, stop, fields)
            return
        column: int = node.value[0][0].start_mark.column
        starts = [self._line_start(key.start_mark.index) for key, _ in node.value] + [stop]
        end = stop
        for (key, value), (start, following) in zip(node.value, itertools.pairwise(starts), strict=True):
            end = self._end_of_content(start, following, column)
            if key.value not in new:
                yield Splice(start, end, "")
            elif not same(old[key.value], new[key.value]):
                yield from self._value((key, value), end, old[key.value], new[key.value])
        added = [emit_field(name, new[name], column, self.newline) for name in new if name not in old]
        if added:
            place = stop if column == 0 else end
            yield Splice(place, place, self._gap(place) + "".join(added))

    def _value(self, field: tuple[Node, Node], end: int, old: Json, new: Json) -> Iterator[Splice]:
        key, value = field
        if isinstance(value, ScalarNode) and _is_one_line(value) and _is_short(new):
            yield Splice(value.start_mark.index, value.end_mark.index, scalar_text(new, quote=value.style))
            return
        if isinstance(value, SequenceNode) and isinstance(old, list) and isinstance(new, list) and new:
            splices = self._flow(value, old, new) if value.flow_style else self._items(value, end, old, new)
            if splices is not None:
                yield from splices
                return
        if isinstance(value, MappingNode) and isinstance(old, dict) and isinstance(new, dict) and new:  # noqa: SIM102 - what is wanted, then how it is written
            if not value.flow_style:
                yield from self.fields(value, end, old, new)
                return
        colon = self.text.index(":", key.end_mark.index) + 1
        tail = self.newline if self.text[:end].endswith("\n") else ""
        yield Splice(colon, end, emit_value(new, key.start_mark.column, self.newline) + tail)

    def _items(self, node: SequenceNode, end: int, old: list[Json], new: list[Json]) -> list[Splice] | None:
        """Edits item by item, or None where the list is written in a way that does not allow it."""
        starts = [self._line_start(item.start_mark.index) for item in node.value]
        marks = [item.start_mark.index for item in node.value]
        prefixes = [self.text[start:mark] for start, mark in zip(starts, marks, strict=True)]
        if not all(map(_DASH.match, prefixes)):
            return None
        column = prefixes[0].index("-")
        ends = [self._end_of_content(*bounds, column) for bounds in itertools.pairwise([*starts, end])]
        splices = []
        for change, i, j, k, m in _changes(old, new):
            if change == "equal":
                continue
            place = starts[i] if i < len(starts) else ends[-1]
            items = "".join(emit_item(value, column, self.newline) for value in new[k:m])
            splices.append(Splice(place, place, self._gap(place) + items if items else ""))
            splices += [Splice(starts[n], ends[n], "") for n in range(i, j)]
        return splices

    def _flow(self, node: SequenceNode, old: list[Json], new: list[Json]) -> list[Splice] | None:
        if not all(map(_is_short, new)) or not _is_one_line(node):
            return None
        words = [self.text[item.start_mark.index : item.end_mark.index] for item in node.value]
        parts: list[str] = []
        for change, i, j, k, m in _changes(old, new):
            kept = change == "equal"
            parts += words[i:j] if kept else [scalar_text(value, in_flow=True) for value in new[k:m]]
        return [Splice(node.start_mark.index, node.end_mark.index, "[" + ", ".join(parts) + "]")]

    def _gap(self, place: int) -> str:
        return self.newline if place and self.text[place - 1] != "\n" else ""

    def _line_start(self, index: int) -> int:
        return self.text.rfind("\n", 0, index) + 1

    def _end_of_content(self, start: int, stop: int, column: int) -> int:
        """Where a field's own lines end: blank lines and comments after it belong to what follows."""
        end = stop
        while end > start:
            line_start = self._line_start(end - 1)
            quiet = _QUIET_LINE.match(self.text, line_start, end)
            is_comment = quiet is not None and self.text[line_start:end].strip() != ""
            if line_start <= start or quiet is None or (is_comment and len(quiet[1]) > column):
                break
            end = line_start
        return end


def _changes(old: list[Json], new: list[Json]) -> list[tuple[str, int, int, int, int]]:
    one, other = ([json.dumps(item, sort_keys=True) for item in items] for items in (old, new))
    return list(difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes())


def _is_one_line(node: Node) -> bool:
    if isinstance(node, ScalarNode) and node.style in {"|", ">"}:
        return False
    apart = node.end_mark.index > node.start_mark.index  # an empty value has no place of its own
    return bool(apart and node.start_mark.line == node.end_mark.line and not node.anchor)


def _is_short(value: Json) -> bool:
    return not isinstance(value, list | dict) and not (isinstance(value, str) and "\n" in value)
