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
# Programs that take code as an argument, and the options that say so.
_SHELL_OPTION = re.compile(r"-[A-Za-z]*c[A-Za-z]*|--command")
_CODE_OPTIONS = {
    **dict.fromkeys(
        ("sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "fish", "csh", "tcsh"), _SHELL_OPTION
    ),
    **dict.fromkeys(("su", "runuser", "script"), _SHELL_OPTION),
    **dict.fromkeys(("python", "python3", "pypy", "pypy3"), re.compile(r"-[A-Za-z]*c")),
    **dict.fromkeys(("perl", "ruby", "lua"), re.compile(r"-[A-Za-z]*[eE]")),
    **dict.fromkeys(("node", "nodejs", "bun"), re.compile(r"-[pe]|-pe|--eval|--print")),
    "php": re.compile(r"-r"),
}
_LATE_OPTIONS = frozenset({"su", "runuser", "script"})
"""Theirs may come after other words."""
_WITH_VALUE = frozenset({"-o", "+o", "-O", "-W", "-X", "-r", "--require", "-I", "-M"})
_WRAPPERS = frozenset(
    {
        "env",
        "xargs",
        "timeout",
        "nice",
        "ionice",
        "nohup",
        "sudo",
        "doas",
        "setsid",
        "stdbuf",
        "time",
        "flock",
    }
    | {"chroot", "unshare", "nsenter", "docker", "podman", "kubectl", "ssh", "watch", "find", "parallel"}
    | {"busybox", "su", "runuser"}
)
"""Programs that run what their arguments name."""
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
        return _literal(self.groups[0][1][0])

    def elements(self) -> Iterator[Element]:
        for _, elements in self.groups:
            yield from elements

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
    """Whatever arguments the schema lets through, the template can be filled in, and nothing becomes code."""
    _refuse_code(template)
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


def _refuse_code(template: Template) -> None:
    """A value inside a program's text is read as program: quotes around it do not keep it in."""
    words = list(template.elements())
    starts = (
        range(len(words)) if words and _program_name(words[0]) in _WRAPPERS else range(min(1, len(words)))
    )
    for start in starts:
        name = _program_name(words[start])
        option = _CODE_OPTIONS.get(name)
        slot = _find_slot_in_code(words[start + 1 :], option, name in _LATE_OPTIONS) if option else None
        if slot:
            raise TemplateError(
                f"{{{slot.name}}} stands inside the text that {name} runs, where a value is read as code;"
                f' write "$1" there, and the slot behind it: ["sh", "-c", "… \\"$1\\"", "sh",'
                f' "{{{slot.name}}}"], or read the value from standard input'
            )


def _find_slot_in_code(words: list[Element], option: re.Pattern[str], is_late: bool) -> Slot | None:
    """The code is what comes first after the option and is no option itself."""
    is_code, before = False, ""
    for word in words:
        text = _literal(word)
        name, equals, _ = text.partition("=")
        is_option = text.startswith(("-", "+"))
        if (is_code and not is_option) or (equals and option.fullmatch(name)):
            return next((part for part in word if isinstance(part, Slot)), None)
        if option.fullmatch(text):
            is_code = True
        elif not is_code and not is_option and not is_late and before not in _WITH_VALUE:
            return None  # a file of its own: what follows are its arguments
        before = text
    return None


def _program_name(word: Element) -> str:
    return _literal(word).rsplit("/", 1)[-1]


def _literal(element: Element) -> str:
    return "".join(part for part in element if isinstance(part, str))


def find_bare_numbers(template: Template, properties: Mapping[str, Any]) -> list[str]:
    """Numbers that, below zero, would look like an option: neither behind `--` nor behind `=`."""
    bare: list[str] = []
    for element in template.elements():
        if element == ("--",):
            break
        first = element[0]
        if isinstance(first, Slot) and first.flag is None:
            rule = properties[first.name]
            if (
                isinstance(rule, dict)
                and rule.get("type") in {"integer", "number"}
                and not rule.get("minimum", -1) >= 0
            ):
                bare.append(first.name)
    return bare


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
            alone = "'-' alone means standard input to many programs, which is empty here"
            option = "a value that starts with '-' could be read as an option"
            raise refuse(name, alone if text == "-" else option, text)
        if "\0" in text:
            raise refuse(name, "a command line cannot hold a NUL character", value)
        if (size := len(text.encode())) > LONGEST_ELEMENT_BYTES:
            raise refuse_size(name, size, LONGEST_ELEMENT_BYTES)
    return texts
