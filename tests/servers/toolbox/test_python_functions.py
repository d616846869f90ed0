"""From hints and docstrings to schemas and back to values."""

import enum
import json
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict

import pytest

from faultless.kit.docstrings import read_docstring
from faultless.servers.toolbox.worker.functions import Unsupported, dump, plan
from tests.servers.toolbox.conftest import in_memory


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: int
    y: float = 0.0
    tags: list[str] = field(default_factory=list)


class Row(TypedDict):
    name: str
    size: NotRequired[int]


HINTS: list[tuple[Any, dict[str, Any], Any, Any]] = [
    (int, {"type": "integer"}, 3.0, 3),
    (float, {"type": "number"}, 3, 3.0),
    (Path, {"type": "string", "format": "path", "minLength": 1}, "a/b", Path("a/b")),
    (date, {"type": "string", "format": "date"}, "2024-02-29", date(2024, 2, 29)),
    (datetime, {"type": "string", "format": "date-time"}, "2024-01-01T10:00:00Z", datetime(2024, 1, 1, 10, tzinfo=UTC)),
    (Colour, {"enum": ["red", "blue"]}, "blue", Colour.BLUE),
    (Literal["a", 1], {"enum": ["a", 1]}, 1, 1),
    (list[int], {"type": "array", "items": {"type": "integer"}}, [1.0], [1]),
    (set[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}, ["a"], {"a"}),
    (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}, [1, 2], (1, 2)),
    (dict[str, Path], {"type": "object", "additionalProperties": plan(Path).schema}, {"a": "b"}, {"a": Path("b")}),
    (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}, None, None),
    (Optional[Path], {"anyOf": [plan(Path).schema, {"type": "null"}]}, "x", Path("x")),  # noqa: UP045 - as many write it
    (list[Point] | int, {"anyOf": [{"type": "array", "items": plan(Point).schema}, {"type": "integer"}]}, [{"x": 1}], [Point(1)]),
    (Annotated[int, "How many"], {"type": "integer", "description": "How many"}, 1, 1),
    (Any, {}, {"a": 1}, {"a": 1}),
    (
        tuple[int, str],
        {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": False, "minItems": 2},
        [1, "a"],
        (1, "a"),
    ),
    (
        Row,
        {
            "type": "object",
            "properties": {"name": {"type": "string"}, "size": {"type": "integer"}},
            "additionalProperties": False,
            "required": ["name"],
        },
        {"name": "x"},
        {"name": "x"},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("hint", "schema", "given", "loaded"), HINTS, ids=lambda value: str(value)[:40])
def test_a_hint_is_a_schema_and_a_way_to_load(
    hint: object, schema: dict[str, Any], given: object, loaded: object
) -> None:
    planned = plan(hint)
    assert planned.schema == schema
    value = planned.load(given)
    assert (value, type(value)) == (loaded, type(loaded))


@pytest.mark.parametrize("hint", [bytes, complex, dict[int, str], list[bytes]])
def test_a_hint_that_json_has_not_is_refused(hint: object) -> None:
    with pytest.raises(Unsupported):
        plan(hint)


def test_what_a_function_returns_is_written_as_json() -> None:
    value = {
        "point": Point(1, 2.5, ["a"]),
        "colour": Colour.RED,
        "when": date(2024, 1, 1),
        "path": Path("a"),
        "set": {1},
    }
    assert json.loads(json.dumps(dump(value))) == {
        "point": {"x": 1, "y": 2.5, "tags": ["a"]},
        "colour": "red",
        "when": "2024-01-01",
        "path": "a",
        "set": [1],
    }


DOCSTRINGS = {
    "google": "Do it.\n\nMore.\n\nArgs:\n    a: The first\n        of two\n    b (int): The second\n\nReturns:\n    it\n\n@readonly",
    "numpy": "Do it.\n\nMore.\n\nParameters\n----------\na : int\n    The first\n    of two\nb\n    The second\n\nReturns\n-------\nint\n    it\n\n@readonly",
    "sphinx": "Do it.\n\nMore.\n\n:param a: The first\n    of two\n:param int b: The second\n:returns: it\n\n@readonly",
}


@pytest.mark.parametrize("style", DOCSTRINGS)
def test_docstrings_describe_parameters_in_three_styles(style: str) -> None:
    found = read_docstring(DOCSTRINGS[style], has_directives=True)
    assert found.description == "Do it.\n\nMore."
    assert found.parameters == {"a": "The first of two", "b": "The second"}
    assert found.directives == [("readonly", "")]


MODULE = '''
"""@readonly"""
from dataclasses import dataclass
from helper_beside_it import suffix

@dataclass
class Size:
    bytes: int

def measure(text: str, times: int = 2) -> Size:
    """Measure a text.

    Args:
        text: What to measure
    """
    return Size(len(text.encode()) * times)

async def later(text: str) -> str:
    """Answer from a coroutine."""
    return text + suffix()

def listing(count: int) -> list[int]:
    """Count."""
    return list(range(count))

def nothing() -> None:
    """Return nothing."""

def untyped(text: str):
    """Return whatever."""
    return {"text": text}
'''


@pytest.mark.anyio
async def test_the_functions_of_a_file_are_tools(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(MODULE)
    (tmp_path / "_helper.py").write_text("raise RuntimeError('names with _ are not loaded')\n")
    (tmp_path / "helper_beside_it.py").write_text("def suffix():\n    return '!'\n")
    async with in_memory(tmp_path, tmp_path) as server:
        tools = {tool.name: tool for tool in await server.tools()}
        assert set(tools) == {"measure", "later", "listing", "nothing", "untyped"}
        assert tools["measure"].input_schema["properties"] == {
            "text": {"type": "string", "description": "What to measure"},
            "times": {"type": "integer", "default": 2},
        }
        assert tools["measure"].output_schema == {
            "type": "object",
            "properties": {"bytes": {"type": "integer"}},
            "additionalProperties": False,
            "required": ["bytes"],
        }
        annotations = tools["later"].annotations
        assert annotations is not None
        assert annotations.read_only_hint is True
        assert (await server.call("measure", {"text": "ä"}))["result"]["structuredContent"] == {"bytes": 4}
        assert await server.say("later", {"text": "hi"}) == "hi!"
        assert (await server.call("listing", {"count": 3}))["result"]["structuredContent"] == {
            "result": [0, 1, 2]
        }
        assert await server.say("nothing") == ""
        assert (await server.call("untyped", {"text": "x"}))["result"]["structuredContent"] == {"text": "x"}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("import threading; threading.Event().wait()", "its import did not end in time"),
        ("import os; os._exit(3)", "its import ended the interpreter"),
        ("raise SystemExit(3)", "cannot be imported: SystemExit: 3"),
        ("1 / 0", "cannot be imported: ZeroDivisionError: division by zero"),
    ],
)
async def test_a_file_that_cannot_be_imported_costs_only_its_own_tools(
    tmp_path: Path, line: str, reason: str
) -> None:
    (tmp_path / "broken.py").write_text(
        f'{line}\n\n\ndef lost(a: int) -> int:\n    """Lost."""\n    return a\n'
    )
    (tmp_path / "good.py").write_text('def kept(a: int) -> int:\n    """Kept."""\n    return a\n')
    async with in_memory(tmp_path, tmp_path, timeout_seconds=2.0) as server:
        assert await server.names() == ["kept"]
        error = (await server.call("lost", {"a": 1}))["error"]
        assert (error["code"], error["data"]["details"]["reason"]) == (-32603, reason)
        assert await server.say("kept", {"a": 1}) == '{"result":1}'


@pytest.mark.anyio
async def test_an_interpreter_that_is_missing_is_told(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text('def kept(a: int) -> int:\n    """Kept."""\n    return a\n')
    async with in_memory(tmp_path, tmp_path, python="no-such-python") as server:
        error = (await server.call("kept", {"a": 1}))["error"]
        assert "cannot start no-such-python: there is no such program" in error["message"]


GARBLER = '''
import os


def garble(text: str) -> str:
    """Write where only the answer belongs."""
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, text.encode())
        except OSError:
            pass
    return "fine"


def speak() -> str:
    """Say hello."""
    return "hello"
'''


@pytest.mark.anyio
async def test_a_function_that_writes_into_the_channel_is_found_out(tmp_path: Path) -> None:
    (tmp_path / "garbler.py").write_text(GARBLER)
    async with in_memory(tmp_path, tmp_path) as server:
        result = (await server.call("garble", {"text": "no JSON\n"}))["result"]
        assert result["isError"] is True
        assert result["_meta"]["fault"]["kind"] == "crash"
        assert "where its answer belongs" in result["_meta"]["fault"]["message"]
        assert await server.say("speak") == "hello"


@pytest.mark.anyio
async def test_the_worker_imports_nothing_but_the_standard_library(tmp_path: Path) -> None:
    (tmp_path / "loaded.py").write_text(
        'import sys\n\n\ndef loaded() -> list[str]:\n    """What is imported."""\n'
        '    return sorted({name.split(".")[0] for name in sys.modules} - set(sys.stdlib_module_names))\n'
    )
    async with in_memory(tmp_path, tmp_path) as server:
        names = (await server.call("loaded"))["result"]["structuredContent"]["result"]
    assert [name for name in names if name in {"faultless", "pydantic", "anyio", "mcp"}] == []
    assert "_faultless_worker" in names
