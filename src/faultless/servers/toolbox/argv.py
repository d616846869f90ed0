"""Command lines with slots: values become elements of their own, never part of a shell's text."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from faultless.contract import Fault, FaultKind
from faultless.kit.validation import bounded_echo, invalid_params

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

    def names(self) -> set[str]:
        return {slot.name for _, _, slot in self.slots()}

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


def refuse(name: str, detail: str, value: object) -> Fault:
    violation = {"field": name, "detail": detail, "received_value": bounded_echo(value)}
    return invalid_params([violation], hint=f"correct {name} and call again")


def refuse_size(name: str, size: int) -> Fault:
    return Fault(
        FaultKind.TOO_LARGE,
        f"{name} has {size} bytes; an argument or a variable holds at most {LONGEST_ELEMENT_BYTES}",
        hint="pass less, or let the tool read its arguments as JSON from standard input",
        details={"field": name, "bytes": size, "limit_bytes": LONGEST_ELEMENT_BYTES},
    )


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
    if not isinstance(first, Slot):
        return [_check("".join(_text(part, arguments) for part in element), element, arguments)]
    value = arguments.get(first.name)
    if first.flag is not None:
        return [first.flag] if value is True else []
    if len(element) > 1:
        texts = ["".join(_text(part, arguments) for part in element)]
    else:
        texts = [as_text(item) for item in value] if isinstance(value, list) else [as_text(value)]
    for text in texts:
        if text.startswith("-") and not guarded:
            raise refuse(first.name, "a value that starts with '-' could be read as an option", text)
    return [_check(text, element, arguments) for text in texts]


def _text(part: str | Slot, arguments: Mapping[str, Any]) -> str:
    return part if isinstance(part, str) else as_text(arguments.get(part.name))


def _check(text: str, element: Element, arguments: Mapping[str, Any]) -> str:
    name = next((part.name for part in element if isinstance(part, Slot)), "argv")
    if "\0" in text:
        raise refuse(name, "a command line cannot hold a NUL character", arguments.get(name))
    size = len(text.encode())
    if size > LONGEST_ELEMENT_BYTES:
        raise refuse_size(name, size)
    return text
