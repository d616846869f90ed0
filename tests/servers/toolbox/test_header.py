"""Comment headers: every comment style, every kind of parameter, every mistake with its line."""

from pathlib import Path
from typing import Any

import pytest

from faultless.kit.toolset import Annotations
from faultless.servers.toolbox.argv import TemplateError, parse_line
from faultless.servers.toolbox.definition import BrokenDefinitionError, Definition
from faultless.servers.toolbox.header import has_header, load_script, parse_parameter


def define(folder: Path, text: str, name: str = "example") -> Definition:
    (folder / name).write_text(text)
    return load_script(folder / name)


STYLES = {
    "hash": "#!/bin/sh\n# @tool Count things\n# and more\n# @param n: int = 1  How many\ncode\n",
    "slashes": "#!/usr/bin/env node\n// @tool Count things\n// and more\n// @param n: int = 1  How many\ncode()\n",
    "dashes": "-- @tool Count things\n-- and more\n-- @param n: int = 1  How many\nselect\n",
    "semicolons": ";; @tool Count things\n;; and more\n;; @param n: int = 1  How many\n(code)\n",
    "percent": "% @tool Count things\n% and more\n% @param n: int = 1  How many\ncode.\n",
    "a block with stars": "/**\n * @tool Count things\n * and more\n * @param n: int = 1  How many\n */\n",
    "a block without stars": "/*\n@tool Count things\nand more\n@param n: int = 1  How many\n*/\n",
    "one line of a block": "/* @tool Count things\n * and more\n * @param n: int = 1  How many */\ncode\n",
    "a docstring": '"""\n@tool Count things\nand more\n@param n: int = 1  How many\n"""\nimport os\n',
    "an apostrophe": "' @tool Count things\n' and more\n' @param n: int = 1  How many\nDim x\n",
    "REM": "REM @tool Count things\nREM and more\nREM @param n: int = 1  How many\necho\n",
    "markup": "<!-- @tool Count things\nand more\n@param n: int = 1  How many -->\n<x/>\n",
    "windows line ends": "#!/bin/sh\r\n# @tool Count things\r\n# and more\r\n# @param n: int = 1  How many\r\ncode\r\n",
}


@pytest.mark.parametrize("style", STYLES)
def test_any_comment_style_is_read_the_same(tmp_path: Path, style: str) -> None:
    found = define(tmp_path, STYLES[style])
    assert found.description == "Count things\nand more"
    assert found.input_schema == {
        "type": "object",
        "properties": {"n": {"type": "integer", "default": 1, "description": "How many"}},
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    "text", ["#!/bin/sh\necho hi\n", "@tool\ndef f(): ...\n", "x = '@tool'\n", "", "\x7fELF\0\1\2"]
)
def test_a_file_without_a_header_is_nobodys_tool(tmp_path: Path, text: str) -> None:
    (tmp_path / "file").write_text(text)
    assert not has_header(tmp_path / "file")


def test_every_directive_has_its_effect(tmp_path: Path) -> None:
    header = """#!/bin/sh
# @tool Everything
# @name other-name
# @param path: path
# @timeout 2m
# @idempotent
# @destructive no
# @openworld no
# @ok-exit 0 1, 2
# @env FIRST SECOND
# @env THIRD
# @output json {"type": "object",
#   "required": ["x"]}
# @argv --verbose -- {path}
"""
    found = define(tmp_path, header)
    assert (found.name, found.timeout_seconds) == ("other-name", 120)
    assert found.annotations == Annotations(
        read_only=False, idempotent=True, destructive=False, open_world=False
    )
    assert found.ok_exits == {0, 1, 2}
    assert found.env == ("FIRST", "SECOND", "THIRD")
    assert (found.output, found.output_schema) == ("json", {"type": "object", "required": ["x"]})


def test_read_only_is_neither_destructive_nor_harmful_twice(tmp_path: Path) -> None:
    found = define(tmp_path, "# @tool x\n# @readonly\n")
    assert found.annotations == Annotations(
        read_only=True, idempotent=True, destructive=False, open_world=True
    )


def test_a_schema_may_lie_in_a_file_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "x.schema.json").write_text('{"type": "object", "properties": {"a": {"minimum": 1}}}')
    found = define(tmp_path, "# @tool x\n# @schema x.schema.json\n")
    assert found.input_schema["properties"] == {"a": {"minimum": 1}}


PARAMETERS: dict[str, tuple[dict[str, Any], bool]] = {
    "name: string": ({"type": "string"}, True),
    "name?: string": ({"type": "string"}, False),
    "name: str = hello": ({"type": "string", "default": "hello"}, False),
    'name: string = "two words"  Text': (
        {"type": "string", "default": "two words", "description": "Text"},
        False,
    ),
    "name: string = 10": ({"type": "string", "default": "10"}, False),
    "name: int=10": ({"type": "integer", "default": 10}, False),
    "name: number = 0.5": ({"type": "number", "default": 0.5}, False),
    "name: bool = false  On or off": (
        {"type": "boolean", "default": False, "description": "On or off"},
        False,
    ),
    "name: fast|slow = fast": ({"enum": ["fast", "slow"], "default": "fast"}, False),
    "name: 1|2 = 1": ({"enum": [1, 2], "default": 1}, False),
    "name: int|string": ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, True),
    "name: string[] = []": ({"type": "array", "items": {"type": "string"}, "default": []}, False),
    'name: string[] = ["a", "b"]  Some': (
        {"type": "array", "items": {"type": "string"}, "default": ["a", "b"], "description": "Some"},
        False,
    ),
    "name: int[][]": ({"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}, True),
    "name: path": ({"type": "string", "format": "path", "minLength": 1}, True),
    "name: json": ({}, True),
    'name: object = {"a": 1}': ({"type": "object", "default": {"a": 1}}, False),
}


@pytest.mark.parametrize("text", PARAMETERS)
def test_a_parameter_line_becomes_a_schema(text: str) -> None:
    found = parse_parameter(text)
    assert (found.rule, found.required) == PARAMETERS[text]


MISTAKES = {
    "# @tool x\n# @param": ("@param '' is not `name: type = default  description`", 2),
    "# @tool x\n# @param limit": ("@param 'limit' is not `name: type = default  description`", 2),
    "# @tool x\n# @param a: sting": ("unknown type 'sting', did you mean 'string' or 'str' or 'integer'?", 2),
    "# @tool x\n# @param a: x|": ("the choices 'x|' hold an empty one", 2),
    "# @tool x\n# @param a: x|y = z": ("the default z of 'a' breaks its own type", 2),
    "# @tool x\n# @param a: int\n# @param a: int": ("the parameter 'a' is defined twice", None),
    "# @tool x\n# @param a-b: int\n# @param a_b: int": ("two parameters would both be called ARG_A_B", None),
    "# @tool x\n# @timeout soon": ("'soon' is no time-out; write 30s, 500ms or 2m, at most a day", 2),
    "# @tool x\n# @timeout 0": ("'0' is no time-out; write 30s, 500ms or 2m, at most a day", 2),
    "# @tool x\n# @readonly perhaps": ("'perhaps' is neither yes nor no", 2),
    "# @tool x\n# @ok-exit 256": ("@ok-exit '256' does not list exit codes from 0 to 255", 2),
    "# @tool x\n# @env A=1": ("@env 'A=1' does not name variables", 2),
    "# @tool x\n# @output xml": ("@output 'xml' is not text, json or a media type such as image/png", 2),
    "# @tool x\n# @output text {}": ("only @output json takes a schema", 2),
    "# @tool x\n# @schema {": ("the schema is not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)", 2),
    "# @tool x\n# @schema nowhere.json": ("cannot read the schema: No such file or directory: nowhere.json", 2),
    '# @tool x\n# @schema {"type": "string"}': ('the schema of the parameters does not say "type": "object"', None),
    '# @tool x\n# @param a: int\n# @schema {"type": "object"}': ("@schema and @param both say what the parameters are; keep one", None),
    "# @tool x\n# @argv 'open": ("@argv: no closing quotation", 2),
    "# @tool x\n# @argv [--a": ("@argv: a [ is not closed", 2),
    "# @tool x\n# @param t: string[]\n# @argv --tags={t}": ("{t} is a list, which needs an element of its own", None),
    "# @tool x\n# @name two words": ("'two words' is no tool name: letters, digits, _ - and ., at most 64", None),
    "# @tool x\n# @nonsense": ("unknown directive @nonsense", 2),
    "# @tool x\n# @nodestructive": ("unknown directive @nodestructive; write @destructive no", 2),
}  # fmt: skip


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(BrokenDefinitionError) as raised:
        define(tmp_path, text)
    reason, line = MISTAKES[text]
    assert (raised.value.reason, raised.value.line) == (reason, line)
    assert raised.value.name


TEMPLATES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "--max {n} -- {p}": ({"n": 3, "p": "-x"}, ["--max", "3", "--", "-x"]),
    "--max={n}": ({"n": -3}, ["--max=-3"]),
    "a [--note {note}] z": ({}, ["a", "z"]),
    "a [--note={note} more] z": ({"note": "hi"}, ["a", "--note=hi", "more", "z"]),
    "{tags}": ({"tags": ["a", "b"]}, ["a", "b"]),
    "{tags} end": ({"tags": []}, ["end"]),
    "{v?--verbose} x": ({"v": True}, ["--verbose", "x"]),
    "{v?--quiet} x": ({"v": False}, ["x"]),
    "{{literal}}": ({}, ["{literal}"]),
    "'two words' {o}": ({"o": {"a": [1]}}, ["two words", '{"a":[1]}']),
    "{f} {b}": ({"f": 2.0, "b": True}, ["2", "true"]),
}


@pytest.mark.parametrize("text", TEMPLATES)
def test_a_template_is_filled_element_by_element(text: str) -> None:
    arguments, expected = TEMPLATES[text]
    assert parse_line(text).render(arguments) == expected


def test_a_flag_needs_an_element_of_its_own() -> None:
    with pytest.raises(TemplateError, match="a flag needs an element of its own"):
        parse_line("x{v?--verbose}")
