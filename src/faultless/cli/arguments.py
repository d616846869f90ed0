"""key=value words, typed by a tool's input schema."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from faultless.contract import Fault, FaultKind, Json
from faultless.contract.text import find_near

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Schema = dict[str, Any]
_YES, _NO = {"true", "yes", "on", "1"}, {"false", "no", "off", "0"}
_INTEGER = re.compile(r"[+-]?\d{1,4000}")
_OPENING, _CLOSING = "[({", "])}"
DEEPEST_RULE = 20


def parse(words: Sequence[str], literal: str | None, schema: Schema | None) -> dict[str, Json]:
    """The arguments of a call: the --json object, then the words over it."""
    arguments = _parse_object(literal) if literal is not None else {}
    for key, texts in _group(words).items():
        arguments[key] = _read(key, texts, _property(key, schema), schema or {})
    return arguments


def _parse_object(literal: str) -> dict[str, Json]:
    try:
        value = json.loads(literal)
    except (ValueError, RecursionError) as error:
        raise _wrong(
            "--json", f"is not JSON: {error}", "quote it for the shell: --json '{\"key\": 1}'"
        ) from error
    if not isinstance(value, dict):
        raise _wrong("--json", f"must be an object, not {json.dumps(value)[:40]}", "--json '{\"key\": 1}'")
    return value


def _group(words: Sequence[str]) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals or not key:
            raise _wrong(word, "is not of the form key=value", "write key=value, or --json '{…}'")
        grouped.setdefault(key, []).append(text)
    return grouped


def _property(key: str, schema: Schema | None) -> Schema:
    if schema is None:
        return {}
    known: Mapping[str, Schema] = schema.get("properties", {})
    if key in known:
        return known[key]
    if schema.get("additionalProperties", True) is not False:
        return {}
    close = find_near(key, known)
    listed = f"parameters: {', '.join(known)}" if known else "the tool takes no parameters"
    raise _wrong(
        key, "is no parameter of this tool", f"did you mean {' or '.join(close)}?" if close else listed
    )


def _read(key: str, texts: list[str], rule: Schema, schema: Schema) -> Json:
    kinds = _kinds(rule, schema)
    is_null = texts == ["null"] and "null" in kinds
    if "array" in kinds and not is_null:
        return _read_list(key, texts, rule, schema)
    if len(texts) > 1:
        raise _wrong(key, "is given more than once and is no list", "give it once")
    return _read_one(key, texts[0], kinds)


def _read_list(key: str, texts: list[str], rule: Schema, schema: Schema) -> Json:
    if len(texts) == 1 and texts[0].startswith("["):
        value = _literal(texts[0])
        if isinstance(value, list):
            return value
    items = _kinds(_kinds(rule, schema)["array"].get("items", {}), schema)
    parts = _split(texts[0]) if len(texts) == 1 else texts
    return [_read_one(key, part, items) for part in parts]


def _read_one(key: str, text: str, kinds: Mapping[str, Schema]) -> Json:
    """The first of the allowed types the text can be; text itself last."""
    if "null" in kinds and text == "null":
        return None
    if "boolean" in kinds and text.lower() in _YES | _NO and not {"integer", "number"} & kinds.keys():
        return text.lower() in _YES
    if {"integer", "number"} & kinds.keys() and _INTEGER.fullmatch(text):
        return int(text)
    value = _literal(text)
    if not kinds:
        return text if value is _NO_LITERAL else value  # type: ignore[return-value]  # told apart just now
    for name, kind in _LITERALS.items():
        if name in kinds and type(value) in kind:
            return value  # type: ignore[return-value]  # a JSON type, by the table
    if "string" in kinds:
        return text
    raise _wrong(key, f"must be {' or '.join(sorted(kinds))}, not {text!r}", "see `faultless tools NAME`")


_NO_LITERAL = object()
_LITERALS: dict[str, tuple[type, ...]] = {
    "boolean": (bool,),
    "number": (int, float),
    "array": (list,),
    "object": (dict,),
}


def _literal(text: str) -> object:
    try:
        return json.loads(text, parse_constant=lambda _: _NO_LITERAL)
    except (ValueError, RecursionError):
        return _NO_LITERAL


def _kinds(rule: Schema, schema: Schema, depth: int = 0) -> dict[str, Schema]:
    """JSON types the rule allows, each with the part of the rule that allows it."""
    if depth > DEEPEST_RULE:
        return {}
    found: dict[str, Schema] = {}
    referred = schema.get("$defs", {}).get(str(rule.get("$ref", "")).removeprefix("#/$defs/"))
    combined = [one for word in ("anyOf", "oneOf", "allOf") for one in rule.get(word, ())]
    for part in [*combined, referred] if referred else combined:
        found.update(_kinds(part, schema, depth + 1))
    named = rule.get("type", ())
    for name in [named] if isinstance(named, str) else named:
        found[name] = rule
    for value in [*rule.get("enum", ()), *([rule["const"]] if "const" in rule else ())]:
        found.setdefault(_type_name(value), rule)
    return found


def _type_name(value: object) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def _split(text: str) -> list[str]:
    """At commas outside brackets: test_x[1,2] is one name."""
    parts, depth = [""], 0
    for mark in text:
        depth = max(0, depth + (mark in _OPENING) - (mark in _CLOSING))
        if mark == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += mark
    return parts if text else []


def _wrong(field: str, detail: str, hint: str) -> Fault:
    details: dict[str, Json] = {"field": field, "detail": detail}
    return Fault(FaultKind.INVALID_PARAMS, f"{field} {detail}", hint=hint, details=details)
