"""A path is proved to lie in the root wherever the schema puts it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faultless.servers.toolbox.paths import PathFinder
from faultless.servers.toolbox.schema import SchemaError
from tests.servers.toolbox.conftest import in_memory

PATH = {"type": "string", "format": "path"}
OUTSIDE = "/etc/passwd"

# Each: a schema for the parameter `it`, a value with OUTSIDE in it, and where that stands.
DEPTHS: dict[str, tuple[Any, Any, str]] = {
    "itself": (PATH, OUTSIDE, "it"),
    "a property": ({"properties": {"a": PATH}}, {"a": OUTSIDE}, "it.a"),
    "a property of a property": (
        {"properties": {"a": {"properties": {"b": PATH}}}},
        {"a": {"b": OUTSIDE}},
        "it.a.b",
    ),
    "an item": ({"items": PATH}, ["x", OUTSIDE], "it.1"),
    "an item of an item": ({"items": {"items": PATH}}, [["x"], [OUTSIDE]], "it.1.0"),
    "a tuple": ({"prefixItems": [{"type": "integer"}, PATH]}, [1, OUTSIDE], "it.1"),
    "a tuple as older drafts write it": (
        {"$schema": "http://json-schema.org/draft-07/schema#", "items": [PATH]},
        [OUTSIDE],
        "it.0",
    ),
    "items after a tuple": ({"prefixItems": [{}], "items": PATH}, [1, OUTSIDE], "it.1"),
    "any other property": ({"additionalProperties": PATH}, {"a": OUTSIDE}, "it.a"),
    "a property by pattern": ({"patternProperties": {"^f_": PATH}}, {"f_a": OUTSIDE}, "it.f_a"),
    "a property nobody else describes": ({"unevaluatedProperties": PATH}, {"a": OUTSIDE}, "it.a"),
    "a name of a property": ({"propertyNames": PATH}, {OUTSIDE: 1}, f"it.{OUTSIDE} (its name)"),
    "one of several": ({"anyOf": [{"type": "null"}, PATH]}, OUTSIDE, "it"),
    "exactly one of several": ({"oneOf": [{"type": "null"}, PATH]}, OUTSIDE, "it"),
    "all of several": ({"allOf": [{"type": "string"}, PATH]}, OUTSIDE, "it"),
    "a condition": ({"if": {"type": "string"}, "then": PATH}, OUTSIDE, "it"),
    "a reference": ({"$ref": "#/$defs/file"}, OUTSIDE, "it"),
    "a reference to itself": (
        {"$ref": "#/$defs/tree"},
        {"kids": [{"kids": [], "file": OUTSIDE}]},
        "it.kids.0.file",
    ),
    "something contained": ({"contains": PATH}, [OUTSIDE], "it.0"),
    "a dependent part": (
        {"dependentSchemas": {"a": {"properties": {"b": PATH}}}},
        {"a": 1, "b": OUTSIDE},
        "it.b",
    ),
}
DEFS = {"file": PATH, "tree": {"properties": {"file": PATH, "kids": {"items": {"$ref": "#/$defs/tree"}}}}}


@pytest.mark.parametrize("place", DEPTHS)
def test_a_path_is_found(place: str) -> None:
    rule, value, where = DEPTHS[place]
    schema = {"type": "object", "properties": {"it": rule}, "$defs": DEFS}
    found = {(".".join(steps), path) for steps, path in PathFinder(schema).find({"it": value})}
    assert (where, OUTSIDE) in found


@pytest.mark.parametrize("reference", ["#file", "other.json#/x", "#/$defs/nowhere"])
def test_a_reference_that_cannot_be_followed_is_refused_where_it_is_written(reference: str) -> None:
    with pytest.raises(SchemaError, match="reference"):
        PathFinder({"properties": {"it": {"$ref": reference}, "path": PATH}})


def test_a_part_with_a_name_of_its_own_is_refused() -> None:
    with pytest.raises(SchemaError, match=r"\$id"):
        PathFinder({"properties": {"it": {"$id": "https://a.example/b", "items": PATH}}})


def test_a_schema_that_goes_in_a_circle_ends() -> None:
    assert list(PathFinder({"allOf": [{"$ref": "#"}], "properties": {"a": PATH}}).find({"b": 1})) == []


FUNCTIONS = '''
from dataclasses import dataclass
from pathlib import Path
from typing import Optional, TypedDict


@dataclass
class Source:
    file: Path


class Options(TypedDict, total=False):
    file: Path


def from_dataclass(it: Source) -> str:
    """Read."""
    return it.file.read_text()


def from_dict(it: dict[str, Path]) -> str:
    """Read."""
    return it["a"].read_text()


def from_tuple(it: tuple[int, Path]) -> str:
    """Read."""
    return it[1].read_text()


def from_typed_dict(it: Options) -> str:
    """Read."""
    return it["file"].read_text()


def from_list(it: list[Source]) -> str:
    """Read."""
    return it[0].file.read_text()


def from_set(it: set[Path]) -> str:
    """Read."""
    return next(iter(it)).read_text()


def from_optional(it: Optional[Source] = None) -> str:
    """Read."""
    return it.file.read_text()
'''
CALLS: dict[str, Callable[[str], Any]] = {
    "from_dataclass": lambda path: {"file": path},
    "from_dict": lambda path: {"a": path},
    "from_tuple": lambda path: [1, path],
    "from_typed_dict": lambda path: {"file": path},
    "from_list": lambda path: [{"file": path}],
    "from_set": lambda path: [path],
    "from_optional": lambda path: {"file": path},
}


@pytest.mark.anyio
async def test_no_function_is_given_a_path_outside(tmp_path: Path) -> None:
    (tmp_path / "inside").write_text("inside")
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "functions.py").write_text(FUNCTIONS)
    async with in_memory(tools, tmp_path) as server:
        assert set(await server.names()) == set(CALLS)
        for tool, make in CALLS.items():
            assert await server.say(tool, {"it": make("inside")}) == "inside"
            for outside in (OUTSIDE, "../x"):
                error = (await server.call(tool, {"it": make(outside)}))["error"]
                assert error["data"]["kind"] == "permission_denied", tool
                assert error["data"]["details"]["field"].startswith("it."), tool
