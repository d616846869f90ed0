"""`field:value` filters on frontmatter, with types: 2 is not "2", true is not "true"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind
from faultless.servers.obsidian import frontmatter

if TYPE_CHECKING:
    from faultless.contract import Json

_FILTER = re.compile(r"\s*([^:\s][^:]*?)\s*:(.*)\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Filter:
    field: str
    value: Json

    def matches(self, fields: dict[str, Json]) -> bool:
        for name, found in fields.items():
            if name.casefold() == self.field.casefold():
                return self._is(found) or (isinstance(found, list) and any(map(self._is, found)))
        return False

    def _is(self, found: Json) -> bool:
        if isinstance(found, str) and isinstance(self.value, str):
            return found.casefold() == self.value.casefold()
        if isinstance(found, bool) or isinstance(self.value, bool):
            return found is self.value
        return not isinstance(found, str) and not isinstance(self.value, str) and found == self.value


def parse_filter(text: str) -> Filter:
    """`status:draft`, `priority:2`, `done:true`, `due:2024-05-01`, `code:"2"`, `empty:null`."""
    match = _FILTER.match(text)
    value = match[2].strip() if match else ""
    if match is None or not value:
        raise _malformed(text)
    try:
        found = frontmatter.read(f"value: {value}\n").get("value")
    except Fault:
        found = value
    return Filter(match[1], value if isinstance(found, dict | list) else found)


def _malformed(text: str) -> Fault:
    return Fault(
        FaultKind.INVALID_PARAMS,
        f"the filter {text!r} is not of the form field:value",
        hint='write for example status:draft, priority:2 or code:"2"',
        details={"field": "filter", "received_value": text},
    )
