"""JSON Schema: the whole of 2020-12, older drafts that say so, and no surprises."""

from pathlib import Path
from typing import Any

import pytest

from faultless.contract import Fault, FaultKind
from faultless.kit.toolset import Call, Tool
from faultless.servers.toolbox.schema import Schema, SchemaError
from faultless.servers.toolbox.settings import Settings
from faultless.servers.toolbox.toolset import build_toolset

TREE = {
    "$ref": "#/$defs/node",
    "$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}, "v": {"type": "integer"}}}},
}
CHOICE = {"if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["b"]}, "else": {"required": ["c"]}}
DRAFT_7 = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "properties": {"a": {"items": [{"type": "string"}]}},
}

VALUES: list[tuple[dict[str, Any], Any, list[tuple[str, str]]]] = [
    ({"prefixItems": [{"type": "string"}], "items": False}, ["a"], []),
    ({"prefixItems": [{"type": "string"}], "items": False}, ["a", 1], [("1", "no value is allowed here")]),
    (
        {"properties": {"a": {}}, "unevaluatedProperties": False},
        {"a": 1, "b": 2},
        [("b", "unknown parameter")],
    ),
    ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, [("b", "is required")]),
    (TREE, {"next": {"next": {"v": "x"}}}, [("next.next.v", "value must be an integer")]),
    (CHOICE, {"a": 1}, [("b", "is required")]),
    (CHOICE, {"a": 2, "c": 0}, []),
    (
        {"properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}},
        {"a": 1},
        [("a", "none of the alternatives fits: value must be a string; value must be null")],
    ),
    ({"properties": {"a": {"type": ["integer", "null"]}}}, {"a": "x"}, [("a", "value must be an integer or null")]),
    ({"properties": {"a": {"const": {"b": 1}}}}, {"a": 1}, [("a", "value must be {'b': 1}")]),
    ({"properties": {"a": {"pattern": "^(a+)+$"}}}, {"a": "a" * 64 + "b"}, [("a", 'the value does not match "^(a+)+$"')]),
    ({"properties": {"a": {"type": "integer"}}}, {"a": 10**300}, []),
    (DRAFT_7, {"a": [1]}, [("a.0", "value must be a string")]),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "value", "expected"), VALUES)
def test_a_value_is_held_against_its_schema(
    schema: dict[str, Any], value: object, expected: list[tuple[str, str]]
) -> None:
    found = Schema(schema).find_violations(value)
    assert [(violation["field"], violation["detail"]) for violation in found] == expected


def deep_value() -> object:
    value: object = 1
    for _ in range(3000):
        value = [value]
    return value


@pytest.mark.anyio
@pytest.mark.parametrize("value", ["half a character \ud800", deep_value()], ids=["surrogate", "depth"])
async def test_what_cannot_be_written_as_json_is_refused(
    specimen_folder: Path, workplace: Path, value: object
) -> None:
    (tool,) = [it for it in (await load(specimen_folder, workplace)).values() if it.name == "sized"]
    with pytest.raises(Fault) as raised:
        await tool.run({"text": value}, Call())
    assert raised.value.kind is FaultKind.INVALID_PARAMS
    assert raised.value.message.startswith("Invalid params: arguments: cannot be written as JSON: ")


async def load(folder: Path, root: Path) -> dict[str, Tool]:
    toolset = build_toolset(Settings(root=root, folder=str(folder)))
    assert toolset.refresh is not None
    await toolset.refresh()
    return toolset.tools


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "objekt"}, "the schema is invalid: type: "),
        ({"properties": {"a": {"pattern": "(a"}}}, "the schema is invalid: properties.a.pattern: "),
        ({"$ref": "https://example.org/schema.json"}, "is elsewhere, and schemas are not fetched"),
        ({"$schema": "urn:unknown"}, "Unknown meta-schema"),
    ],
)
def test_a_schema_that_is_none_is_told(schema: dict[str, Any], reason: str) -> None:
    with pytest.raises(SchemaError) as raised:
        Schema(schema)
    assert reason in str(raised.value)
