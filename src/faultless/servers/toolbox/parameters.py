"""One parameter in one line: `limit: int = 10  How many lines`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from faultless.kit.validation import close_matches
from faultless.servers.toolbox.definition import BrokenDefinitionError
from faultless.servers.toolbox.schema import Schema

TYPES: dict[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "int": {"type": "integer"},
    "number": {"type": "number"},
    "bool": {"type": "boolean"},
    "path": {"type": "string", "format": "path", "minLength": 1},
    "object": {"type": "object"},
    "json": {},
}
_ALIASES = {
    "str": "string",
    "text": "string",
    "integer": "int",
    "float": "number",
    "boolean": "bool",
    "any": "json",
}
_DEFAULT = r'"(?:[^"\\]|\\.)*"|\[[^\]]*\]|\{[^}]*\}|\S+'
_LINE = re.compile(
    r"(?P<name>[A-Za-z_][\w-]*)(?P<optional>\?)?\s*:\s*(?P<type>[^\s=]+)"
    rf"(?:\s*=\s*(?P<default>{_DEFAULT}))?(?:\s+(?P<description>.*))?",
    re.DOTALL,
)


@dataclass(frozen=True)
class Parameter:
    name: str
    rule: dict[str, Any]
    required: bool


def parse_parameter(text: str) -> Parameter:
    match = _LINE.fullmatch(text.strip())
    if match is None:
        raise BrokenDefinitionError(f"@param {text!r} is not `name: type = default  description`")
    rule = _rule(match["type"])
    if match["default"] is not None:
        rule["default"] = _default(match["name"], match["default"], rule)
    if match["description"]:
        rule["description"] = " ".join(match["description"].split())
    return Parameter(match["name"], rule, required=not match["optional"] and match["default"] is None)


def object_schema(parameters: list[Parameter]) -> dict[str, Any]:
    """What a tool with these parameters takes; nothing else is let in."""
    names = [parameter.name for parameter in parameters]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise BrokenDefinitionError(f"the parameter {twice!r} is defined twice")
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {parameter.name: parameter.rule for parameter in parameters},
        "additionalProperties": False,
    }
    required = [parameter.name for parameter in parameters if parameter.required]
    return schema | ({"required": required} if required else {})


def _rule(text: str) -> dict[str, Any]:
    if text.endswith("[]"):
        return {"type": "array", "items": _rule(text[:-2])}
    words = text.split("|")
    named = [TYPES.get(_ALIASES.get(word, word)) for word in words]
    if len(words) == 1:
        if named[0] is None:
            advice = close_matches(text, [*TYPES, *_ALIASES]) or f"; the types are: {', '.join(TYPES)}"
            raise BrokenDefinitionError(f"unknown type {text!r}{advice}")
        return dict(named[0])
    if not all(words):
        raise BrokenDefinitionError(f"the choices {text!r} hold an empty one")
    alternatives = [rule for rule in named if rule is not None]
    return {"anyOf": alternatives} if len(alternatives) == len(words) else {"enum": words}


def _default(name: str, text: str, rule: dict[str, Any]) -> Any:  # noqa: ANN401 - any JSON value
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    checker = Schema(rule)
    for candidate in (value, text):
        if not checker.find_violations(candidate):
            return candidate
    raise BrokenDefinitionError(f"the default {text} of {name!r} breaks its own type")
