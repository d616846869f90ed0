r"""Marker and keyword expressions, read before pytest starts: a broken one is refused with its position.

expression  or-part
or-part     and-part ("or" and-part)*
and-part    not-part ("and" not-part)*
not-part    "not" not-part | "(" or-part ")" | name | name "(" key=value ("," key=value)* ")"
name        letters, digits and _ : + - . [ ] \ /
value       'text' | "text" | whole number | True | False | None

Arguments after a name are for markers only, from pytest 8.3 on; an older pytest refuses them itself.
"""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass

_NESTING_AT_MOST = 100
_CONSTANTS = frozenset({"True", "False", "None"})
_NUMBER = re.compile(r"-?\d+")
_TOKEN = re.compile(
    r"""(?P<space>[ \t]+)|(?P<mark>[()=,])|(?P<string>'[^']*'|"[^"]*")|(?P<name>[\w:+\-.\[\]\\/]+)"""
)
_END = "end of the expression"


class ExpressionError(ValueError):
    """What is wrong and where; positions count from 1."""

    def __init__(self, problem: str, position: int) -> None:
        super().__init__(f"{problem} at position {position}")
        self.problem = problem
        self.position = position


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # name, string, end, or the word or mark itself
    text: str
    position: int

    def __str__(self) -> str:
        return _END if self.kind == "end" else f"'{self.text}'"


def check_expression(text: str, *, allows_arguments: bool) -> str:
    """The text itself, or ExpressionError unless pytest would accept it; markers may have arguments."""
    parser = _Parser(_split(text), allows_arguments=allows_arguments)
    if parser.current.kind != "end":
        parser.read_or()
        parser.expect("end")
    return text


def _split(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            unclosed = text[place] in "'\""
            raise ExpressionError("unclosed quote" if unclosed else f"unexpected '{text[place]}'", place + 1)
        kind, found = str(match.lastgroup), match.group()
        if kind == "string" and "\\" in found:
            position = place + 1 + found.index("\\")
            raise ExpressionError("a backslash in quotes is not supported", position)
        if kind != "space":
            is_word = kind == "mark" or found in {"and", "or", "not"}
            tokens.append(_Token(found if is_word else kind, found, place + 1))
        place = match.end()
    return [*tokens, _Token("end", "", len(text) + 1)]


class _Parser:
    def __init__(self, tokens: list[_Token], *, allows_arguments: bool) -> None:
        self._tokens = iter(tokens)
        self._allows_arguments = allows_arguments
        self._depth = 0
        self.current = next(self._tokens)

    def take(self, kind: str) -> _Token | None:
        token = self.current
        if token.kind != kind:
            return None
        if kind != "end":
            self.current = next(self._tokens)
        return token

    def expect(self, kind: str) -> _Token:
        token = self.take(kind)
        if token is None:
            wanted = _END if kind == "end" else kind if kind in {"name", "string"} else f"'{kind}'"
            raise ExpressionError(f"expected {wanted}, got {self.current}", self.current.position)
        return token

    def read_or(self) -> None:
        self.read_and()
        while self.take("or"):
            self.read_and()

    def read_and(self) -> None:
        self.read_not()
        while self.take("and"):
            self.read_not()

    def read_not(self) -> None:
        self._depth += 1
        if self._depth > _NESTING_AT_MOST:
            raise ExpressionError(f"nested deeper than {_NESTING_AT_MOST}", self.current.position)
        if self.take("not"):
            self.read_not()
        elif self.take("("):
            self.read_or()
            self.expect(")")
        elif self.take("name"):
            self.read_arguments()
        else:
            raise ExpressionError(f"expected a name, 'not' or '(', got {self.current}", self.current.position)
        self._depth -= 1

    def read_arguments(self) -> None:
        if not self._allows_arguments or not self.take("("):
            return
        self.read_argument()
        while self.take(","):
            self.read_argument()
        self.expect(")")

    def read_argument(self) -> None:
        key = self.expect("name")
        if not key.text.isidentifier() or keyword.iskeyword(key.text):
            raise ExpressionError(f"'{key.text}' cannot name an argument", key.position)
        self.expect("=")
        if self.take("string"):
            return
        value = self.expect("name")
        if value.text not in _CONSTANTS and not _NUMBER.fullmatch(value.text):
            raise ExpressionError(
                f"expected quoted text, a number, True, False or None, got {value}", value.position
            )
