"""An executable whose comment says what it does: the way for scripts in any language."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from faultless.servers.toolbox.argv import Template, TemplateError, parse_line
from faultless.servers.toolbox.assembly import assemble
from faultless.servers.toolbox.definition import BrokenDefinitionError, Definition, Script
from faultless.servers.toolbox.directives import Reader, read_schema
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


def tool_name(path: Path) -> str:
    """The file's name up to the first dot, unless `@name` says otherwise."""
    return path.name.split(".", 1)[0]


def load_script(path: Path) -> Definition:
    try:
        return _define(path, _read_block(path))
    except BrokenDefinitionError as broken:
        name = broken.name or tool_name(path)
        raise BrokenDefinitionError(broken.reason, name=name, line=broken.line) from None


def _define(path: Path, block: list[Line]) -> Definition:
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
    schema = schema or object_schema(parameters)
    action = Script(path, template)
    return assemble(name, description, source=path.name, action=action, schema=schema, traits=reader.traits)


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
        _append(block, number, text[len(mark) :] if text.startswith(mark) else "")
    return block


def _append(block: list[Line], number: int, text: str) -> None:
    """A directive, or more of the one before: prose after @tool, lines set in, the rest of a JSON object."""
    last = block[-1]
    if _DIRECTIVE.match(text.strip()):
        block.append(Line(number, text.strip()))
    elif len(block) == 1 or text.startswith(("  ", "\t")) or last.text.count("{") > last.text.count("}"):
        last.text = f"{last.text}\n{text.strip()}".rstrip()


def _strip_closer(text: str) -> tuple[str, bool]:
    for closer in _CLOSERS:
        if text.endswith(closer):
            return text[: -len(closer)].rstrip(), True
    return text.rstrip(), False
