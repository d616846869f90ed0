"""Command lines with slots: values become elements of their own, never part of a shell's text."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from faultless.servers.toolbox.faults import refuse, refuse_size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

LONGEST_ELEMENT_BYTES = 128 * 1024 - 1
"""What Linux takes as one argument or one variable, with its end mark."""
_SLOT = re.compile(r"\{\{|\}\}|\{([A-Za-z_][\w-]*)(?:\?([^{}]*))?\}")


class TemplateError(ValueError):
    """A template that cannot be filled in whatever the arguments, in one sentence."""


@dataclass(frozen=True)
class Slot:
    name: str
    flag: str | None = None
    """`{verbose?--verbose}`: this text when the value is true, nothing otherwise."""


Element: TypeAlias = tuple[str | Slot, ...]


@dataclass(frozen=True)
class Template:
    """Groups of elements; an optional group is left out when one of its parameters is not given."""

    groups: tuple[tuple[bool, tuple[Element, ...]], ...] = ()

    def slots(self) -> Iterator[tuple[bool, Element, Slot]]:
        for optional, elements in self.groups:
            for element in elements:
                yield from ((optional, element, part) for part in element if isinstance(part, Slot))

    @property
    def program(self) -> str:
        """The first element, which holds no slot."""
        return "".join(part for part in self.groups[0][1][0] if isinstance(part, str))

    def render(self, arguments: Mapping[str, Any]) -> list[str]:
        rendered: list[str] = []
        for optional, elements in self.groups:
            used = {part.name for element in elements for part in element if isinstance(part, Slot)}
            if optional and not used <= arguments.keys():
                continue
            for element in elements:
                rendered += _fill(element, arguments, guarded="--" in rendered)
        return rendered


def parse_line(text: str) -> Template:
    """`--max {limit} [--note {note}] -- {path}`, quoted as in a shell, run by none."""
    try:
        words = shlex.split(text)
    except ValueError as wrong:
        raise TemplateError(f"@argv: {str(wrong).lower()}") from None
    groups: list[str | list[str]] = []
    group: list[str] | None = None
    for word in words:
        opens = group is None and word.startswith("[")
        if opens:
            group = []
        if group is None:
            groups.append(word)
            continue
        closes = word.endswith("]")
        group.append(word[1 if opens else 0 : -1 if closes else None])
        if closes:
            groups.append(group)
            group = None
    if group is not None:
        raise TemplateError("@argv: a [ is not closed")
    return parse_list(groups)


def parse_list(items: Sequence[str | Sequence[str]]) -> Template:
    """Strings are elements; a list of strings is an optional group."""
    return Template(
        tuple(
            (False, (_parse(item),))
            if isinstance(item, str)
            else (True, tuple(_parse(word) for word in item))
            for item in items
        )
    )


def check_template(template: Template, properties: Mapping[str, Any], always_given: set[str]) -> None:
    """Whatever arguments the schema lets through, the template can be filled in."""
    for optional, element, slot in template.slots():
        if slot.name not in properties:
            raise TemplateError(
                f"{{{slot.name}}} is not a parameter; they are: {', '.join(properties) or 'none'}"
            )
        if not optional and slot.flag is None and slot.name not in always_given:
            raise TemplateError(
                f"{{{slot.name}}} may be absent: give it a default, or write [… {{{slot.name}}}]"
            )
        if properties[slot.name].get("type") == "array" and len(element) > 1:
            raise TemplateError(f"{{{slot.name}}} is a list, which needs an element of its own")


def as_text(value: object) -> str:
    """A value as a program reads it: text as it is, everything else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _parse(text: str) -> Element:
    parts: list[str | Slot] = []
    position = 0
    for match in _SLOT.finditer(text):
        parts.append(text[position : match.start()])
        position = match.end()
        parts.append(Slot(match[1], match[2]) if match[1] else match[0][0])
    parts.append(text[position:])
    kept = tuple(part for part in parts if part) or ("",)
    if any(isinstance(part, Slot) and part.flag is not None for part in kept) and len(kept) > 1:
        raise TemplateError(f"{text}: a flag needs an element of its own")
    return kept


def _fill(element: Element, arguments: Mapping[str, Any], *, guarded: bool) -> list[str]:
    first = element[0]
    name = next((part.name for part in element if isinstance(part, Slot)), "argv")
    value = arguments.get(name)
    if isinstance(first, Slot) and first.flag is not None:
        return [first.flag] if value is True else []
    if isinstance(first, Slot) and isinstance(value, list) and len(element) == 1:
        texts = [as_text(item) for item in value]
    else:
        parts = (part if isinstance(part, str) else as_text(arguments.get(part.name)) for part in element)
        texts = ["".join(parts)]
    for text in texts:
        if isinstance(first, Slot) and text.startswith("-") and not guarded:
            raise refuse(name, "a value that starts with '-' could be read as an option", text)
        if "\0" in text:
            raise refuse(name, "a command line cannot hold a NUL character", value)
        if (size := len(text.encode())) > LONGEST_ELEMENT_BYTES:
            raise refuse_size(name, size, LONGEST_ELEMENT_BYTES)
    return texts
