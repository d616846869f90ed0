"""YAML as text with places: read into JSON, written from JSON, and edited by the smallest splices.

ruamel.yaml tells where each node lies in the text; nothing is ever dumped back through it. It is slow to
import, so only `note` imports this module, when a note's fields are needed exactly.
"""

from __future__ import annotations

import difflib
import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from faultless.contract import Fault, FaultKind, Json
from faultless.contract.text import find_near
from faultless.servers.obsidian import faults
from faultless.servers.obsidian.markdown import Splice, apply_splices
from faultless.servers.obsidian.templates import Template, has_placeholders

_MOST_NODES = 20_000
_MOST_CHARACTERS = 1 << 20
_TYPE_TAG = "tag:yaml.org,2002:"
_STEP = 2
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?\Z", re.ASCII)
# Words first, so that no number, no date and no indicator is ever left bare by accident.
_PLAIN = re.compile(r"[^\W\d_](?:[\w ./()&+@%,;!?'\"*=~$-]|:(?=[^\s\W]|//))*\Z")
# Older YAML readers take these for booleans or null.
_TAKEN = {"true", "false", "null", "yes", "no", "on", "off", "y", "n", "none"}
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_BLOCK_LINE = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]*\Z")
_DASH = re.compile(r" *- +\Z")
_QUIET_LINE = re.compile(r"( *)(?:#.*)?\r?\n?\Z")


def read_fields(text: str, *, first_line: int = 1) -> dict[str, Json]:
    """The fields as JSON; dates are their text, what JSON lacks (.inf, binary) is its text too."""
    try:
        return _read_plain(text, first_line)
    except Fault as corrupt:
        if not has_placeholders(text):
            raise
        template = Template(text)
        try:
            return template.unmask_fields(_read_plain(template.masked, first_line))
        except Fault:
            raise corrupt from None


def is_template(text: str) -> bool:
    """Whether only its placeholders keep it from being YAML."""
    try:
        _read_plain(text, 1)
    except Fault:
        return has_placeholders(text)
    return False


def _read_plain(text: str, first_line: int) -> dict[str, Json]:
    root = _compose(text, first_line=first_line)
    return {} if root is None else _Reader(first_line).mapping(root)


def edit_fields(text: str, wanted: Mapping[str, Json], *, keep_others: bool, newline: str = "\n") -> str:
    """Set the wanted fields. What comes out is read back: it holds exactly the fields asked for."""
    if keep_others and is_template(text):
        template = Template(text)
        return template.unmask(_edit(template.masked, template.mask_fields(wanted), newline=newline))
    return _edit(text, wanted, keep_others=keep_others, newline=newline)


def remove_field(text: str, name: str, *, newline: str = "\n") -> str:
    """Without this one; every other byte stays."""
    fields = read_fields(text)
    if name not in fields:
        near = find_near(name, fields, cutoff=0.4)
        raise Fault(
            FaultKind.NOT_FOUND,
            f"the note has no frontmatter key {name!r}",
            hint=f"did you mean {near[0]!r}?" if near else "read the note to see what it has",
            details={"candidates": list[Json](near)},
        )
    if not is_template(text):
        return _edit(text, {}, removed=name, newline=newline)
    template = Template(text)
    return template.unmask(_edit(template.masked, {}, removed=template.mask(name), newline=newline))


def _edit(
    text: str,
    wanted: Mapping[str, Json],
    *,
    keep_others: bool = True,
    removed: str | None = None,
    newline: str,
) -> str:
    old = read_fields(text) if keep_others else _read_or_none(text)
    if old is None:
        return _emit_all(wanted, newline)
    target = {**old, **wanted} if keep_others else dict(wanted)
    target = {name: value for name, value in target.items() if name != removed}
    if is_same_value(old, target):
        return text
    root = _compose(text)
    if root is None:  # nothing or comments alone, which stay on top
        changed = text + _emit_all(target, newline)
    else:
        changed = apply_splices(text, _Splicer(text, newline).fields(root, len(text), old, target))
    after = _read_or_none(changed)
    if after is not None and is_same_value(after, target):
        return changed
    if keep_others:
        raise Fault(
            FaultKind.UNSUPPORTED,
            "the frontmatter uses YAML that cannot be edited in place (anchors, flow or complex keys)",
            hint="write it with frontmatter_mode 'replace', or simplify it by hand",
        )
    return _emit_all(target, newline)


def _read_or_none(text: str) -> dict[str, Json] | None:
    try:
        return read_fields(text)
    except Fault:
        return None


def is_same_value(one: Json, other: Json) -> bool:
    """Equal in value and type, key order aside: 1, 1.0 and True are three things."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same_value(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same_value, one, other))
    return type(one) is type(other) and one == other


def _compose(text: str, *, first_line: int = 1) -> MappingNode | None:
    """The node tree with marks, or None for an empty block."""
    if len(text) > _MOST_CHARACTERS:
        raise Fault(
            FaultKind.TOO_LARGE, f"the frontmatter is over {_MOST_CHARACTERS} characters", hint="use the body"
        )
    try:
        root = YAML(typ="rt").compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line if mark is not None else 0
        raise faults.corrupt_frontmatter(str(error.problem or error.context), line + first_line) from error
    except YAMLError as error:
        line = text.count("\n", 0, getattr(error, "position", 0))
        raise faults.corrupt_frontmatter(
            str(getattr(error, "reason", "it cannot be read")), line + first_line
        ) from error
    except (ValueError, RecursionError) as error:  # the scanner's own slips: bad escapes, deep nesting
        raise faults.corrupt_frontmatter(type(error).__name__, first_line) from error
    if root is None:
        return None
    if not isinstance(root, MappingNode):
        raise faults.corrupt_frontmatter("it is not a set of fields", root.start_mark.line + first_line)
    return root


class _Reader:
    """Nodes to JSON, bounded: an anchor used a billion times is refused, not expanded."""

    def __init__(self, first_line: int) -> None:
        self._first_line = first_line
        self._left = _MOST_NODES

    def mapping(self, node: MappingNode) -> dict[str, Json]:
        found: dict[str, Json] = {}
        for key, value in node.value:
            line = key.start_mark.line + self._first_line
            if not isinstance(key, ScalarNode):
                raise faults.corrupt_frontmatter("a key is not a plain word", line)
            if key.value in found:
                raise faults.corrupt_frontmatter(f"the key {key.value!r} stands twice", line)
            found[key.value] = self.value(value)
        return found

    def value(self, node: Node) -> Json:
        self._left -= 1
        if self._left < 0:
            raise Fault(
                FaultKind.TOO_LARGE,
                f"the frontmatter has over {_MOST_NODES} values",
                hint="use fewer anchors",
            )
        if isinstance(node, MappingNode):
            return self.mapping(node)
        if isinstance(node, SequenceNode):
            return [self.value(item) for item in node.value]
        return _scalar(node)


def _scalar(node: Node) -> Json:
    text = str(node.value)
    kind = str(node.tag).removeprefix(_TYPE_TAG)
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() == "true"
    try:
        if kind == "int":
            return int(text.replace("_", ""), 0) if text[:2] in {"0x", "0o", "0b"} else int(text)
        if kind == "float":
            number = float(text)
            return number if math.isfinite(number) else text
    except ValueError:
        return text
    return text


def _emit_all(fields: Mapping[str, Json], newline: str) -> str:
    return "".join(_emit_field(name, value, 0, newline) for name, value in fields.items())


def _emit_field(name: str, value: Json, column: int, newline: str) -> str:
    """`name: value` as whole lines."""
    return " " * column + _scalar_text(name) + ":" + _emit_value(value, column, newline) + newline


def _emit_value(value: Json, column: int, newline: str) -> str:
    """What follows the colon, without the last newline."""
    if isinstance(value, dict) and value:
        fields = "".join(_emit_field(name, item, column + _STEP, newline) for name, item in value.items())
        return newline + fields.removesuffix(newline)
    if isinstance(value, list) and value:
        items = "".join(_emit_item(item, column + _STEP, newline) for item in value)
        return newline + items.removesuffix(newline)
    if isinstance(value, str) and "\n" in value:
        return " " + _long_text(value, column + _STEP, newline)
    return " " + _scalar_text(value)


def _emit_item(value: Json, column: int, newline: str) -> str:
    """`- value` as whole lines."""
    dash = " " * column + "- "
    if isinstance(value, dict) and value:
        fields = "".join(_emit_field(name, item, column + _STEP, newline) for name, item in value.items())
        return dash + fields[column + _STEP :]
    if isinstance(value, list) and value:
        items = "".join(_emit_item(item, column + _STEP, newline) for item in value)
        return dash + items[column + _STEP :]
    if isinstance(value, str) and "\n" in value:
        return dash + _long_text(value, column + _STEP, newline) + newline
    return dash + _scalar_text(value) + newline


def _scalar_text(value: Json, *, quote: str | None = None, in_flow: bool = False) -> str:
    """One line. `quote` is the style the author used; it is kept where it can hold the value."""
    if not isinstance(value, str):
        return json.dumps(value)
    if quote == "'" and _BLOCK_LINE.match(value):
        return "'" + value.replace("'", "''") + "'"
    is_word = _DATE.match(value) or (_PLAIN.match(value) and value.lower() not in _TAKEN)
    is_ended = value.endswith((" ", ":")) or (in_flow and set(value) & set(",[]{}"))
    return value if is_word and not is_ended and quote not in {"'", '"'} else _quoted(value)


def _quoted(text: str) -> str:
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))


def _long_text(text: str, column: int, newline: str) -> str:
    """A literal block where it holds the text exactly, else one quoted line."""
    lines = text.split("\n")
    exact = all(map(_BLOCK_LINE.match, lines)) and lines[0].strip() and not lines[0].startswith(" ")
    ending = len(text) - len(text.rstrip("\n"))
    if not exact or ending > 1:
        return _quoted(text)
    content = lines[:-1] if ending else lines
    block = newline.join(" " * column + line if line else "" for line in content)
    return ("|" if ending else "|-") + newline + block


@dataclass(frozen=True, slots=True)
class _Splicer:
    """Finds the edits for one YAML text; `newline` is what new lines end in."""

    text: str
    newline: str

    def fields(
        self, node: MappingNode, stop: int, old: dict[str, Json], new: dict[str, Json]
    ) -> Iterator[Splice]:
        """Edits for a block mapping that ends before `stop`."""
        if node.flow_style or not node.value:
            fields = "".join(_emit_field(name, value, 0, self.newline) for name, value in new.items())
            yield Splice(0, stop, fields)
            return
        column: int = node.value[0][0].start_mark.column
        starts = [self._line_start(key.start_mark.index) for key, _ in node.value] + [stop]
        end = stop
        for (key, value), (start, following) in zip(node.value, itertools.pairwise(starts), strict=True):
            end = self._end_of_content(start, following, column)
            if key.value not in new:
                yield Splice(start, end, "")
            elif not is_same_value(old[key.value], new[key.value]):
                yield from self._value((key, value), end, old[key.value], new[key.value])
        added = [_emit_field(name, new[name], column, self.newline) for name in new if name not in old]
        if added:
            place = stop if column == 0 else end
            yield Splice(place, place, self._gap(place) + "".join(added))

    def _value(self, field: tuple[Node, Node], end: int, old: Json, new: Json) -> Iterator[Splice]:
        key, value = field
        if isinstance(value, ScalarNode) and _is_one_line(value) and _is_short(new):
            yield Splice(value.start_mark.index, value.end_mark.index, _scalar_text(new, quote=value.style))
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
        yield Splice(colon, end, _emit_value(new, key.start_mark.column, self.newline) + tail)

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
            items = "".join(_emit_item(value, column, self.newline) for value in new[k:m])
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
            parts += words[i:j] if kept else [_scalar_text(value, in_flow=True) for value in new[k:m]]
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
