"""Tags of a note: `#in/line` and in the frontmatter."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from faultless.servers.obsidian.outline import find_code

if TYPE_CHECKING:
    from faultless.contract import Json

_INLINE = re.compile(r"#([\w/\-\U0001F000-\U0001FAFF]+)")
_SPLIT = re.compile(r"[\s,]+")


def find_tags(fields: dict[str, Json], body: str) -> tuple[str, ...]:
    """Each once, as written first; a tag of digits alone is a number."""
    found: dict[str, str] = {}
    for tag in [*_listed(fields.get("tags")), *_listed(fields.get("tag")), *_written(body)]:
        clean = tag.strip("#/ ")
        if clean and not clean.isdigit():
            found.setdefault(clean.casefold(), clean)
    return tuple(found.values())


def is_under(tag: str, wanted: str) -> bool:
    """A tag counts as its parents too: #a/b is under a."""
    tag, wanted = tag.casefold(), wanted.strip("#/ ").casefold()
    return tag == wanted or tag.startswith(f"{wanted}/")


def _listed(value: Json) -> list[str]:
    if isinstance(value, str):
        return _SPLIT.split(value)
    if isinstance(value, list):
        return [str(item) for item in value if isinstance(item, str | int)]
    return []


def _written(body: str) -> list[str]:
    if "#" not in body:
        return []
    found = [match for match in _INLINE.finditer(body) if _stands_alone(body, match.start())]
    if not found:
        return []
    code = find_code(body)
    return [match[1] for match in found if not code.holds(match.start())]


def _stands_alone(body: str, place: int) -> bool:
    return place == 0 or body[place - 1].isspace()
