"""What a docstring says: of the thing itself, and of each of its parameters."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

_SECTION = re.compile(
    r"(args|arguments|parameters|params|returns?|raises|yields|examples?|notes?)\s*:?", re.IGNORECASE
)
_PARAMETER_SECTIONS = frozenset({"args", "arguments", "parameters", "params"})
_GOOGLE = re.compile(r"\*{0,2}(?P<name>\w+)\s*(?:\([^)]*\))?\s*:\s*(?P<text>.*)")
_NUMPY = re.compile(r"(?P<name>\w+)\s*(?::.*)?")
_SPHINX = re.compile(r":param\s+(?:[^:]*\s)?(?P<name>\w+)\s*:\s*(?P<text>.*)")
_FIELD = re.compile(r":(returns?|rtype|raises|type)\b.*")
_DIRECTIVE = re.compile(r"@(?P<word>[a-z][\w-]*)\s*(?P<text>.*)")


def find_docstring(owner: Callable[..., Any] | type) -> str:
    """What it says about itself; `python -OO` drops that from the code, so it is looked up in the source."""
    if owner.__doc__ is not None or sys.flags.optimize <= 1:
        return inspect.cleandoc(owner.__doc__ or "")
    import ast  # noqa: PLC0415 - for -OO only

    try:
        source = inspect.getsource(owner)
    except (OSError, TypeError):
        return ""
    tree = ast.parse(f"if True:\n{source}" if source[:1].isspace() else source)
    definitions = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = next((node for node in ast.walk(tree) if isinstance(node, definitions)), None)
    return (found and ast.get_docstring(found)) or ""


@dataclass
class Docstring:
    description: str = ""
    parameters: dict[str, str] = field(default_factory=dict)
    directives: list[tuple[str, str]] = field(default_factory=list)
    """Lines such as `@timeout 5s`, where they mean something."""


def read_docstring(text: str, *, has_directives: bool = False) -> Docstring:
    """Google, NumPy and Sphinx styles; what is in none of them is the description."""
    found = Docstring()
    prose: list[str] = []
    section, last = "", ""
    for line in inspect.cleandoc(text).splitlines():
        words = line.strip()
        if has_directives and (match := _DIRECTIVE.fullmatch(words)):
            found.directives.append((match["word"], match["text"].strip()))
        elif not line.startswith((" ", "\t")) and _SECTION.fullmatch(words):
            section, last = words.rstrip(": ").lower(), ""
        elif match := _SPHINX.fullmatch(words):
            section, last = "params", match["name"]
            found.parameters[last] = match["text"].strip()
        elif _FIELD.fullmatch(words):
            section, last = "other", ""
        elif section in _PARAMETER_SECTIONS:
            last = _read_entry(found, line, last)
        elif not section:
            prose.append(line)
    found.description = "\n".join(prose).strip()
    return found


def _read_entry(found: Docstring, line: str, last: str) -> str:
    """One line of a section of parameters; returns the parameter that the next line may continue."""
    words = line.strip()
    if not words or set(words) == {"-"}:
        return last
    if not line.startswith((" ", "\t")):
        match = _NUMPY.fullmatch(words)
        if match:
            found.parameters.setdefault(match["name"], "")
        return match["name"] if match else last
    match = _GOOGLE.fullmatch(words)
    # A NumPy entry has nothing beside its name, so what is below it continues it.
    if match and (not last or found.parameters[last]):
        found.parameters[match["name"]] = match["text"].strip()
        return match["name"]
    if last:
        found.parameters[last] = f"{found.parameters[last]} {words}".strip()
    return last
