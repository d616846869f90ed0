"""YAML into nodes with their places, and nodes into JSON."""

from __future__ import annotations

import math

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from faultless.contract import Fault, FaultKind, Json

MOST_NODES = 20_000
MOST_CHARACTERS = 1 << 20

_TAG = "tag:yaml.org,2002:"


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


class Reader:
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
