"""JSON values as YAML text that reads back as the same values, in the style Obsidian itself writes."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from faultless.contract import Json

STEP = 2

_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?\Z", re.ASCII)
# Words first, so that no number, no date and no indicator is ever left bare by accident.
_PLAIN = re.compile(r"[^\W\d_](?:[\w ./()&+@%,;!?'\"*=~$-]|:(?=[^\s\W]|//))*\Z")
# Older YAML readers take these for booleans or null.
_TAKEN = {"true", "false", "null", "yes", "no", "on", "off", "y", "n", "none"}
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_BLOCK_LINE = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]*\Z")


def emit_field(name: str, value: Json, column: int, newline: str) -> str:
    """`name: value` as whole lines."""
    return " " * column + scalar_text(name) + ":" + emit_value(value, column, newline) + newline


def emit_value(value: Json, column: int, newline: str) -> str:
    """What follows the colon, without the last newline."""
    if isinstance(value, dict) and value:
        fields = "".join(emit_field(name, item, column + STEP, newline) for name, item in value.items())
        return newline + fields.removesuffix(newline)
    if isinstance(value, list) and value:
        items = "".join(emit_item(item, column + STEP, newline) for item in value)
        return newline + items.removesuffix(newline)
    if isinstance(value, str) and "\n" in value:
        return " " + _long_text(value, column + STEP, newline)
    return " " + scalar_text(value)


def emit_item(value: Json, column: int, newline: str) -> str:
    """`- value` as whole lines."""
    dash = " " * column + "- "
    if isinstance(value, dict) and value:
        fields = "".join(emit_field(name, item, column + STEP, newline) for name, item in value.items())
        return dash + fields[column + STEP :]
    if isinstance(value, list) and value:
        items = "".join(emit_item(item, column + STEP, newline) for item in value)
        return dash + items[column + STEP :]
    if isinstance(value, str) and "\n" in value:
        return dash + _long_text(value, column + STEP, newline) + newline
    return dash + scalar_text(value) + newline


def scalar_text(value: Json, *, quote: str | None = None, in_flow: bool = False) -> str:
    """One line. `quote` is the style the author used; it is kept where it can hold the value."""
    if isinstance(value, str):
        return _QUOTES.get(quote, _unquoted)(value, in_flow)
    return json.dumps(value)


def _unquoted(text: str, in_flow: bool) -> str:
    bare = _DATE.match(text) or (_PLAIN.match(text) and text.lower() not in _TAKEN)
    if not bare or text.endswith((" ", ":")) or (in_flow and set(text) & set(",[]{}")):
        return _double(text, in_flow)
    return text


def _single(text: str, in_flow: bool) -> str:
    return "'" + text.replace("'", "''") + "'" if _BLOCK_LINE.match(text) else _double(text, in_flow)


def _double(text: str, _: bool) -> str:
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))


_QUOTES: dict[str | None, Callable[[str, bool], str]] = {"'": _single, '"': _double}


def _long_text(text: str, column: int, newline: str) -> str:
    """A literal block where it holds the text exactly, else one quoted line."""
    lines = text.split("\n")
    exact = all(map(_BLOCK_LINE.match, lines)) and lines[0].strip() and not lines[0].startswith(" ")
    ending = len(text) - len(text.rstrip("\n"))
    if not exact or ending > 1:
        return _double(text, False)
    content = lines[:-1] if ending else lines
    block = newline.join(" " * column + line if line else "" for line in content)
    return ("|" if ending else "|-") + newline + block
