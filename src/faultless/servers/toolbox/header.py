"""An executable whose comment says what it does: the way for scripts in any language."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from faultless.servers.toolbox.argv import Template, TemplateError, parse_line
from faultless.servers.toolbox.assembly import assemble
from faultless.servers.toolbox.definition import BrokenDefinitionError, Definition, Script
from faultless.servers.toolbox.directives import KNOWN, Reader, read_schema
from faultless.servers.toolbox.parameters import Parameter, object_schema, parse_parameter

if TYPE_CHECKING:
    from pathlib import Path

HEADER_BYTES = 16 * 1024
_FIRST = re.compile(r"\s*(?P<mark>[^\w\s@]*|REM|rem)\s*@tool\s+(?P<rest>\S.*)")
_DIRECTIVE = re.compile(r"@(?P<word>[A-Za-z][\w-]*)\s*(?P<rest>.*)", re.DOTALL)
_CLOSERS = ("*/", "-->", "*)", "-}", "]]", '"""', "'''", "=end", "#>")


@dataclass
class Line:
    number: int
    text: str


def has_header(path: Path) -> bool:
    return bool(_read_block(path))


def load_script(path: Path) -> Definition | None:
    """None for a file without `@tool`, which is nobody's tool."""
    block = _read_block(path)
    if not block:
        return None
    name = path.name.split(".")[0]
    try:
        return _define(path, block)
    except BrokenDefinitionError as broken:
        raise BrokenDefinitionError(broken.reason, name=broken.name or name, line=broken.line) from None


def _define(path: Path, block: list[Line]) -> Definition:
    reader = Reader(path.parent)
    name, description = path.name.split(".")[0], ""
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
    schema = schema or object_schema(parameters)
    return assemble(name, description, path.name, Script(path, template), schema, reader.traits)


def _read_block(path: Path) -> list[Line]:
    """The directives of the header, each with the lines that continue it."""
    with path.open("rb") as file:
        lines = file.read(HEADER_BYTES).decode(errors="replace").splitlines()
    for index, line in enumerate(lines):
        if first := _FIRST.fullmatch(line):
            return _continue(first, index, lines)
    return []


def _continue(first: re.Match[str], index: int, lines: list[str]) -> list[Line]:
    mark = "*" if first["mark"].startswith("/*") else first["mark"]
    mark = "" if mark == "<!--" else mark
    block = [Line(index + 1, "@tool " + _strip_closer(first["rest"])[0])]
    closed = _strip_closer(first["rest"])[1]
    for number, line in enumerate(lines[index + 1 :], start=index + 2):
        text = line.strip()
        if closed or not text.startswith(mark) or (not mark and not text):
            break
        text, closed = _strip_closer(text) if text.endswith(_CLOSERS) else (text, False)
        text = text[len(mark) :].strip() if text.startswith(mark) else ""
        _append(block, number, text)
    return block


def _append(block: list[Line], number: int, text: str) -> None:
    match = _DIRECTIVE.match(text)
    if match and (match["word"] in KNOWN or not text.endswith(".")):
        block.append(Line(number, text))
    elif text:
        block[-1].text += f"\n{text}"


def _strip_closer(text: str) -> tuple[str, bool]:
    for closer in _CLOSERS:
        if text.endswith(closer):
            return text[: -len(closer)].rstrip(), True
    return text.rstrip(), False
