"""YAML between the fences: read into JSON, and edited by splices so that every untouched byte stays.

ruamel.yaml tells where each node lies in the text; nothing is ever dumped back through it. A date stays
the text it is, so a value that was only read and written back is the same value.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import yaml12
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from faultless.contract import Fault, FaultKind, Json
from faultless.servers.obsidian.emit import emit_field
from faultless.servers.obsidian.splice import Splicer, apply_splices, same

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_NODES = 20_000
MOST_CHARACTERS = 1 << 20

_TAG = "tag:yaml.org,2002:"
# A scalar or a list between fences is prose between two rules; a mapping or nonsense is frontmatter.
_LOOKS_LIKE_FIELD = re.compile(r"^ *(?:[^\s#\-][^\n]*?:(?:\s|$)|\?\s)", re.MULTILINE)


def is_mapping(text: str) -> bool:
    """Whether the text between fences is meant as frontmatter (it may still be corrupt)."""
    return not text.strip() or _LOOKS_LIKE_FIELD.search(text) is not None or _only_comments(text)


def read(text: str, *, first_line: int = 1) -> dict[str, Json]:
    """The fields as JSON; dates are their text, what JSON lacks (.inf, binary) is its text too."""
    root = compose(text, first_line=first_line)
    return {} if root is None else _Reader(first_line).mapping(root)


def glance(text: str) -> dict[str, Json]:
    """The fields for filters, a hundred times faster than `read`; corrupt YAML has none."""
    if "&" in text or "*" in text or "!" in text:  # anchors may explode and tags need care: the exact reader
        return _exact_or_empty(text)
    try:
        found = yaml12.parse_yaml(text)
    except ValueError:
        return {}
    return {str(key): _plain(value) for key, value in found.items()} if isinstance(found, dict) else {}


def edit(text: str, wanted: Mapping[str, Json], *, keep_others: bool, newline: str = "\n") -> str:
    """Set the wanted fields. What comes out is read back: it holds exactly the fields asked for."""
    if not keep_others and not is_readable(text):
        return _emit_all(wanted, newline)
    old = read(text)
    target = {**old, **wanted} if keep_others else dict(wanted)
    if same(old, target):
        return text
    root = compose(text)
    if root is None:  # nothing or comments alone, which stay on top
        changed = text + _emit_all(target, newline)
    else:
        changed = apply_splices(text, Splicer(text, newline).fields(root, len(text), old, target))
    if is_readable(changed) and same(read(changed), target):
        return changed
    if keep_others:
        raise Fault(
            FaultKind.UNSUPPORTED,
            "the frontmatter uses YAML that cannot be edited in place (anchors, flow or complex keys)",
            hint="write it with frontmatter_mode 'replace', or simplify it by hand",
        )
    return _emit_all(target, newline)


def compose(text: str, *, first_line: int = 1) -> MappingNode | None:
    """The node tree with marks, or None for an empty block."""
    if len(text) > MOST_CHARACTERS:
        raise Fault(
            FaultKind.TOO_LARGE, f"the frontmatter is over {MOST_CHARACTERS} characters", hint="use the body"
        )
    try:
        root = YAML(typ="rt").compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line if mark is not None else 0
        raise corrupt(str(error.problem or error.context), line + first_line) from error
    except YAMLError as error:
        line = text.count("\n", 0, getattr(error, "position", 0))
        raise corrupt(str(getattr(error, "reason", "it cannot be read")), line + first_line) from error
    except (ValueError, RecursionError) as error:  # the scanner's own slips: bad escapes, deep nesting
        raise corrupt(type(error).__name__, first_line) from error
    if root is None:
        return None
    if not isinstance(root, MappingNode):
        raise corrupt("it is not a set of fields", root.start_mark.line + first_line)
    return root


def corrupt(why: str, line: int) -> Fault:
    return Fault(
        FaultKind.PARSE_ERROR,
        f"the frontmatter is not valid YAML at line {line}: {why}",
        hint="fix that line, or write_note with frontmatter_mode 'replace'",
        details={"line": line},
    )


class _Reader:
    """Nodes to JSON, bounded: an anchor used a billion times is refused, not expanded."""

    def __init__(self, first_line: int) -> None:
        self._first_line = first_line
        self._left = MOST_NODES

    def mapping(self, node: MappingNode) -> dict[str, Json]:
        found: dict[str, Json] = {}
        for key, value in node.value:
            line = key.start_mark.line + self._first_line
            if not isinstance(key, ScalarNode):
                raise corrupt("a key is not a plain word", line)
            if key.value in found:
                raise corrupt(f"the key {key.value!r} stands twice", line)
            found[key.value] = self.value(value)
        return found

    def value(self, node: Node) -> Json:
        self._left -= 1
        if self._left < 0:
            raise Fault(
                FaultKind.TOO_LARGE, f"the frontmatter has over {MOST_NODES} values", hint="use fewer anchors"
            )
        if isinstance(node, MappingNode):
            return self.mapping(node)
        if isinstance(node, SequenceNode):
            return [self.value(item) for item in node.value]
        return _scalar(node)


def _scalar(node: Node) -> Json:
    text = str(node.value)
    kind = str(node.tag).removeprefix(_TAG)
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
    return "".join(emit_field(name, value, 0, newline) for name, value in fields.items())


def is_readable(text: str) -> bool:
    try:
        read(text)
    except Fault:
        return False
    return True


def _exact_or_empty(text: str) -> dict[str, Json]:
    try:
        return read(text)
    except Fault:
        return {}


def _plain(value: object) -> Json:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _only_comments(text: str) -> bool:
    return all(not line.strip() or line.lstrip().startswith("#") for line in text.splitlines())
