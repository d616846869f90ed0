"""What a function's docstring says: the description, its parameters, and directives."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field

_SECTION = re.compile(
    r"(args|arguments|parameters|params|returns?|raises|yields|examples?|notes?)\s*:?", re.IGNORECASE
)
_PARAMETER_SECTIONS = frozenset({"args", "arguments", "parameters", "params"})
_GOOGLE = re.compile(r"\*{0,2}(?P<name>\w+)\s*(?:\([^)]*\))?\s*:\s*(?P<text>.*)")
_NUMPY = re.compile(r"(?P<name>\w+)\s*(?::.*)?")
_SPHINX = re.compile(r":param\s+(?:[^:]*\s)?(?P<name>\w+)\s*:\s*(?P<text>.*)")
_FIELD = re.compile(r":(returns?|rtype|raises|type)\b.*")
_DIRECTIVE = re.compile(r"@(?P<word>[a-z][\w-]*)\s*(?P<text>.*)")


@dataclass
class Docstring:
    description: str = ""
    parameters: dict[str, str] = field(default_factory=dict)
    directives: list[tuple[str, str]] = field(default_factory=list)


def read_docstring(text: str) -> Docstring:
    """Google, NumPy and Sphinx styles; what is in none of them is the description."""
    found = Docstring()
    prose: list[str] = []
    section, last = "", ""
    for line in inspect.cleandoc(text).splitlines():
        words = line.strip()
        if match := _DIRECTIVE.fullmatch(words):
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
    if match and (not last or _is_google(found, last)):
        found.parameters[match["name"]] = match["text"].strip()
        return match["name"]
    if last:
        found.parameters[last] = f"{found.parameters[last]} {words}".strip()
    return last


def _is_google(found: Docstring, last: str) -> bool:
    """A NumPy entry has nothing beside its name."""
    return bool(found.parameters[last])
