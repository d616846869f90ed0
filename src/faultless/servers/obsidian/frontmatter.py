"""YAML between the fences: read into JSON, and edited by splices so that every untouched byte stays.

ruamel.yaml tells where each node lies in the text; nothing is ever dumped back through it. A date stays
the text it is, so a value that was only read and written back is the same value.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import yaml12

from faultless.contract import Fault, FaultKind, Json
from faultless.servers.obsidian.emit import emit_field
from faultless.servers.obsidian.splice import apply_splices, same

if TYPE_CHECKING:
    from collections.abc import Mapping

# A scalar or a list between fences is prose between two rules; a mapping or nonsense is frontmatter.
_LOOKS_LIKE_FIELD = re.compile(r"^ *(?:[^\s#\-][^\n]*?:(?:\s|$)|\?\s)", re.MULTILINE)


def is_mapping(text: str) -> bool:
    """Whether the text between fences is meant as frontmatter (it may still be corrupt)."""
    return not text.strip() or _LOOKS_LIKE_FIELD.search(text) is not None or _only_comments(text)


def read(text: str, *, first_line: int = 1) -> dict[str, Json]:
    """The fields as JSON; dates are their text, what JSON lacks (.inf, binary) is its text too."""
    from faultless.servers.obsidian import yaml_read  # noqa: PLC0415 - slow to import, and a search needs none

    root = yaml_read.compose(text, first_line=first_line)
    return {} if root is None else yaml_read.Reader(first_line).mapping(root)


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
    from faultless.servers.obsidian.yaml_edit import Splicer  # noqa: PLC0415 - see read
    from faultless.servers.obsidian.yaml_read import compose  # noqa: PLC0415 - see read

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
