"""An executable whose comment says what it does: the way for scripts in any language."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from faultless.contract.text import did_you_mean
from faultless.servers.toolbox.argv import Template, TemplateError, parse_line
from faultless.servers.toolbox.definition import BrokenDefinitionError, Definition, Script, define_tool
from faultless.servers.toolbox.directives import Reader, read_schema
from faultless.servers.toolbox.schema import Schema

if TYPE_CHECKING:
    from pathlib import Path

_HEADER_BYTES = 16 * 1024
_FIRST = re.compile(r"\s*(?P<mark>[^\w\s@]*|REM|rem)\s*@tool\s+(?P<rest>\S.*)")
_DIRECTIVE = re.compile(r"@(?P<word>[A-Za-z][\w-]*)\s*(?P<rest>.*)", re.DOTALL)
_CLOSERS = ("*/", "-->", "*)", "-}", "]]", '"""', "'''", "=end", "#>")

_TYPES: dict[str, dict[str, Any]] = {
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
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?")
_DEFAULT = r'"(?:[^"\\]|\\.)*"|\[[^\]]*\]|\{[^}]*\}|\S+'
_PARAMETER = re.compile(
    r"(?P<name>[A-Za-z_][\w-]*)(?P<optional>\?)?\s*:\s*(?P<type>[^\s=]+)"
    rf"(?:\s*=\s*(?P<default>{_DEFAULT}))?(?:\s+(?P<description>.*))?",
    re.DOTALL,
)


@dataclass
class _Line:
    number: int
    text: str


def has_header(path: Path) -> bool:
    return bool(_read_block(path))


def tool_name(path: Path) -> str:
    """The file's name up to the first dot, unless `@name` says otherwise."""
    return path.name.split(".", 1)[0]


def load_script(path: Path) -> Definition:
    try:
        return _define(path, _read_block(path))
    except BrokenDefinitionError as broken:
        name = broken.name or tool_name(path)
        raise BrokenDefinitionError(broken.reason, name=name, line=broken.line) from None


def find_mistake(path: Path) -> str | None:
    """Why the system will not start it, or we cannot read all of its header."""
    with path.open("rb") as file:
        start = file.read(_HEADER_BYTES + 1)
    first, _, _ = start.partition(b"\n")
    if start.startswith(b"\xef\xbb\xbf"):
        return "it starts with a byte order mark (BOM), so its interpreter is not found: save it without one"
    if start.startswith(b"\x7fELF"):
        return None
    if not first.startswith(b"#!"):
        return "its first line names no interpreter: begin it with #!/bin/sh, or what it is written in"
    if first.endswith(b"\r"):
        return "it has the line ends of Windows (CRLF), so its interpreter is not found: save it with LF"
    if len(start) > _HEADER_BYTES and _read_block(path) != _read_block(path, 2 * _HEADER_BYTES):
        return f"its header is longer than {_HEADER_BYTES} bytes: keep a long schema in a file of its own"
    return None


def _define(path: Path, block: list[_Line]) -> Definition:
    reader = Reader(path.parent)
    name, description = tool_name(path), ""
    parameters: list[Parameter] = []
    schema: dict[str, Any] | None = None
    template = Template()
    for line in block:
        match = _DIRECTIVE.match(line.text)
        word, text = (match["word"], match["rest"].strip()) if match else ("", "")
        try:
            match word:
                case "tool":
                    description = text
                case "name":
                    name = text
                case "param":
                    parameters.append(parse_parameter(text))
                case "schema":
                    schema = read_schema(text, path.parent)
                case "argv":
                    template = parse_line(text)
                case _:
                    reader.take(word, text)
        except (BrokenDefinitionError, TemplateError) as broken:
            raise BrokenDefinitionError(str(broken), line=line.number) from None
    if schema is not None and parameters:
        raise BrokenDefinitionError("@schema and @param both say what the parameters are; keep one")
    schema = schema or _make_schema(parameters)
    action = Script(path, template)
    return define_tool(
        name, description, source=path.name, action=action, schema=schema, traits=reader.traits
    )


def _read_block(path: Path, limit_bytes: int = _HEADER_BYTES) -> list[_Line]:
    """The directives of the header, each with the lines that continue it."""
    with path.open("rb") as file:
        lines = file.read(limit_bytes).decode(errors="replace").splitlines()
    for index, line in enumerate(lines):
        if first := _FIRST.fullmatch(line):
            return _join_lines(first, index, lines)
    return []


def _join_lines(first: re.Match[str], index: int, lines: list[str]) -> list[_Line]:
    """What continues a directive: prose after @tool, indented lines, an open JSON object."""
    mark = "*" if first["mark"].startswith("/*") else first["mark"]
    mark = "" if mark == "<!--" else mark
    text, closed = _strip_closer(first["rest"])
    block = [_Line(index + 1, f"@tool {text}")]
    for number, line in enumerate(lines[index + 1 :], start=index + 2):
        text = line.strip()
        if closed or not text.startswith(mark) or (not mark and not text):
            break
        text, closed = _strip_closer(text)
        text = text[len(mark) :] if text.startswith(mark) else ""
        last = block[-1]
        if _DIRECTIVE.match(text.strip()):
            block.append(_Line(number, text.strip()))
        elif len(block) == 1 or text.startswith(("  ", "\t")) or last.text.count("{") > last.text.count("}"):
            last.text = f"{last.text}\n{text.strip()}".rstrip()
    return block


def _strip_closer(text: str) -> tuple[str, bool]:
    for closer in _CLOSERS:
        if text.endswith(closer):
            return text[: -len(closer)].rstrip(), True
    return text.rstrip(), False


@dataclass(frozen=True)
class Parameter:
    """One `@param` line: `limit: int = 10  How many lines`."""

    name: str
    rule: dict[str, Any]
    required: bool


def parse_parameter(text: str) -> Parameter:
    match = _PARAMETER.fullmatch(text.strip())
    if match is None:
        raise BrokenDefinitionError(f"@param {text!r} is not `name: type = default  description`")
    rule = _read_type(match["type"])
    if match["default"] is not None:
        rule["default"] = _read_default(match["name"], match["default"], rule)
    if match["description"]:
        rule["description"] = " ".join(match["description"].split())
    return Parameter(match["name"], rule, required=not match["optional"] and match["default"] is None)


def _make_schema(parameters: list[Parameter]) -> dict[str, Any]:
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


def _read_type(text: str) -> dict[str, Any]:
    if text.endswith("[]"):
        return {"type": "array", "items": _read_type(text[:-2])}
    words = text.split("|")
    named = [_TYPES.get(_ALIASES.get(word, word)) for word in words]
    if len(words) == 1:
        if named[0] is None:
            advice = did_you_mean(text, [*_TYPES, *_ALIASES]) or f"; the types are: {', '.join(_TYPES)}"
            raise BrokenDefinitionError(f"unknown type {text!r}{advice}")
        return dict(named[0])
    if not all(words):
        raise BrokenDefinitionError(f"the choices {text!r} hold an empty one")
    alternatives = [rule for rule in named if rule is not None]
    if len(alternatives) == len(words):
        return {"anyOf": alternatives}
    return {"enum": [json.loads(word) for word in words] if all(map(_NUMBER.fullmatch, words)) else words}


def _read_default(name: str, text: str, rule: dict[str, Any]) -> Any:  # noqa: ANN401 - any JSON value
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    checker = Schema(rule)
    for candidate in (value, text):
        if not checker.find_violations(candidate):
            return candidate
    raise BrokenDefinitionError(f"the default {text} of {name!r} breaks its own type")
