"""Where a schema says "format": "path": every such string of a value, at whatever depth it stands."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

from faultless.servers.toolbox.schema import SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Found: TypeAlias = tuple[tuple[str, ...], str]
"""Where in the value, and the path itself."""

# Whatever the value, these apply to it as a whole; which alternative is meant is not asked: all are proved.
_SAME_VALUE_LISTS = ("allOf", "anyOf", "oneOf")
_SAME_VALUE = ("if", "then", "else")
_EVERY_ITEM = ("items", "additionalItems", "unevaluatedItems", "contains")
_EVERY_MEMBER = ("additionalProperties", "unevaluatedProperties")


class PathFinder:
    """Finds the paths of a value by its schema. A reference it could not follow is refused beforehand."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._document = schema
        self._is_needed = _mentions_paths(schema)
        if self._is_needed:
            for reference in _references(schema):
                self._follow(reference)
            if any(map(_names_itself, schema.values())):
                raise SchemaError("a part of the schema has an $id of its own, so paths cannot be proved")

    def find(self, value: object) -> Iterator[Found]:
        if self._is_needed:
            yield from self._walk(self._document, value, (), set())

    def _walk(
        self, rule: object, value: object, place: tuple[str, ...], seen: set[tuple[int, tuple[str, ...]]]
    ) -> Iterator[Found]:
        if not isinstance(rule, dict) or (id(rule), place) in seen:
            return
        seen.add((id(rule), place))
        if isinstance(value, str) and rule.get("format") == "path":
            yield place, value
        for same in self._rules_for_the_same_value(rule):
            yield from self._walk(same, value, place, seen)
        if isinstance(value, list):
            for position, item in enumerate(value):
                for one in _rules_for_item(rule, position):
                    yield from self._walk(one, item, (*place, str(position)), seen)
        elif isinstance(value, dict):
            for name, member in value.items():
                yield from self._walk(rule.get("propertyNames"), name, (*place, f"{name} (its name)"), seen)
                for one in _rules_for_member(rule, name):
                    yield from self._walk(one, member, (*place, name), seen)

    def _rules_for_the_same_value(self, rule: dict[str, Any]) -> Iterator[object]:
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            if isinstance(rule.get(keyword), str):
                yield self._follow(rule[keyword])
        for keyword in _SAME_VALUE_LISTS:
            yield from _as_list(rule.get(keyword))
        for keyword in _SAME_VALUE:
            yield rule.get(keyword)
        for keyword in ("dependentSchemas", "dependencies"):
            yield from _as_dict(rule.get(keyword)).values()

    def _follow(self, reference: str) -> object:
        """Only what lies in the same document, by its place: anything else might hide a path."""
        found: Any = self._document
        if reference != "#" and not reference.startswith("#/"):
            raise SchemaError(
                f'the reference {reference!r} is not of the form "#/$defs/NAME", so paths cannot be proved'
            )
        for step in reference.split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            try:
                found = found[int(name)] if isinstance(found, list) else found[name]
            except (KeyError, IndexError, ValueError, TypeError):
                raise SchemaError(f"the reference {reference!r} leads nowhere") from None
        return found


def _rules_for_item(rule: dict[str, Any], position: int) -> Iterator[object]:
    for keyword in ("prefixItems", "items"):
        tuple_rules = _as_list(rule.get(keyword))
        if position < len(tuple_rules):
            yield tuple_rules[position]
    for keyword in _EVERY_ITEM:
        yield rule.get(keyword)


def _rules_for_member(rule: dict[str, Any], name: str) -> Iterator[object]:
    known = _as_dict(rule.get("properties"))
    patterns = [it for pattern, it in _as_dict(rule.get("patternProperties")).items() if _fits(pattern, name)]
    yield from patterns
    if name in known:
        yield known[name]
    elif not patterns:
        for keyword in _EVERY_MEMBER:
            yield rule.get(keyword)


def _fits(pattern: str, name: str) -> bool:
    try:
        return re.search(pattern, name) is not None
    except re.error:
        return True  # a dialect of patterns that Python does not know: rather one proof too many


def _mentions_paths(rule: object) -> bool:
    if isinstance(rule, dict):
        return rule.get("format") == "path" or any(map(_mentions_paths, rule.values()))
    return isinstance(rule, list) and any(map(_mentions_paths, rule))


def _references(rule: object) -> Iterator[str]:
    if isinstance(rule, dict):
        for keyword, inner in rule.items():
            if keyword in {"$ref", "$dynamicRef", "$recursiveRef"} and isinstance(inner, str):
                yield inner
            yield from _references(inner)
    elif isinstance(rule, list):
        for inner in rule:
            yield from _references(inner)


def _names_itself(rule: object) -> bool:
    """References inside of such a part start from there."""
    if isinstance(rule, dict):
        return isinstance(rule.get("$id"), str) or any(map(_names_itself, rule.values()))
    return isinstance(rule, list) and any(map(_names_itself, rule))


def _as_list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _as_dict(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}
