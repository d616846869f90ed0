"""Frontmatter of templates: placeholders that are no YAML, hidden while the rest is read or edited."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from faultless.contract import Json

_PLACEHOLDER = re.compile(r"\{\{[^{}\n]*\}\}|<%[^\n]*?%>")
_PRIVATE = re.compile("[\ue000-\uf8ff]")
_FIRST_PRIVATE = 0xE000


def has_placeholders(text: str) -> bool:
    """Whether there are any, and no letter stands in the text that we would hide them behind."""
    return _PLACEHOLDER.search(text) is not None and _PRIVATE.search(text) is None


class Template:
    """Frontmatter with `{{date}}` or `<% tp %>` in it: each stands as a word of its own length meanwhile."""

    def __init__(self, text: str) -> None:
        placeholders = sorted(set(_PLACEHOLDER.findall(text)), key=len, reverse=True)
        self._words = {
            placeholder: chr(_FIRST_PRIVATE + number) * len(placeholder)
            for number, placeholder in enumerate(placeholders)
        }
        self.masked = self.mask(text)

    def mask(self, text: str) -> str:
        return _PLACEHOLDER.sub(lambda found: self._words.get(found[0], found[0]), text)

    def unmask(self, text: str) -> str:
        for placeholder, word in self._words.items():
            text = text.replace(word, placeholder)
        return text

    def mask_fields(self, fields: Mapping[str, Json]) -> dict[str, Json]:
        return _map_texts(dict(fields), self.mask)

    def unmask_fields(self, fields: Mapping[str, Json]) -> dict[str, Json]:
        return _map_texts(dict(fields), self.unmask)


def _map_texts(fields: dict[str, Json], change: Callable[[str], str]) -> dict[str, Json]:
    def walk(value: Json) -> Json:
        if isinstance(value, dict):
            return _map_texts(value, change)
        if isinstance(value, list):
            return [walk(item) for item in value]
        return change(value) if isinstance(value, str) else value

    return {change(name): walk(value) for name, value in fields.items()}
