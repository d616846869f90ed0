"""Random values of a shape, biased to what breaks code: bounds, constants of the source, near misses."""

from __future__ import annotations

import ast
import calendar
import copy
import datetime as dt
import decimal
import fractions
import math
import random
import re
import string
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from .shapes import Shape


_LIMIT = 200
_REPEAT_LIMIT = 3


@dataclass
class Constants:
    ints: list[int] = field(default_factory=list)
    floats: list[float] = field(default_factory=list)
    strings: list[str] = field(default_factory=list)
    bytes: list[bytes] = field(default_factory=list)
    patterns: list[Any] = field(default_factory=list)


def mine(tree: ast.AST, docstring_too: str = "") -> Constants:
    """Every literal, and contract clauses too: their bounds matter as much as the body's."""
    found = Constants()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            _add(found, node.value)
        elif isinstance(node, ast.Call):
            _add_pattern(found, node)
        elif isinstance(node, ast.BinOp | ast.UnaryOp):
            _add(found, _fold(node))
    for number in re.findall(r"(?<![\w.])-?\d+(?![\w.])", docstring_too):
        _add(found, int(number))
    for text in re.findall(r"'([^'\n]{1,40})'|\"([^\"\n]{1,40})\"", docstring_too):
        _add(found, text[0] or text[1])
    mined: tuple[list[Any], ...] = (found.ints, found.floats, found.strings, found.bytes)
    for values in mined:
        values[:] = list(dict.fromkeys(values))[:_LIMIT]
    return found


def _fold(node: ast.BinOp | ast.UnaryOp) -> Any:
    """`2 ** 31 - 1` and `-5` are constants too; sizes are kept small."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Constant):
            if not isinstance(inner.value, int | float) or abs(inner.value) > 1 << 70:
                return None
        elif not isinstance(inner, ast.BinOp | ast.UnaryOp | ast.operator | ast.unaryop):
            return None
    if any(isinstance(inner, ast.LShift | ast.Pow) for inner in ast.walk(node)) and _has_large_exponent(node):
        return None
    try:
        return eval(compile(ast.Expression(node), "<constant>", "eval"))  # noqa: S307 - numbers and operators only
    except (ArithmeticError, ValueError, TypeError):
        return None


def _has_large_exponent(node: ast.AST) -> bool:
    limit = 128
    numbers = [inner.value for inner in ast.walk(node) if isinstance(inner, ast.Constant)]
    return sum(isinstance(number, int | float) and abs(number) > limit for number in numbers) > 1 or any(
        isinstance(inner, ast.BinOp)
        and isinstance(inner.op, ast.LShift | ast.Pow)
        and not (
            isinstance(inner.right, ast.Constant)
            and isinstance(inner.right.value, int)
            and inner.right.value <= limit
        )
        for inner in ast.walk(node)
    )


def _add(found: Constants, value: object) -> None:
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, int):
        found.ints.append(value)
    elif isinstance(value, float):
        found.floats.append(value)
        if value == value and abs(value) < 1 << 60:  # noqa: PLR0124 - nan
            found.ints.append(int(value))
    elif isinstance(value, str) and len(value) < _LIMIT:
        found.strings.append(value)
    elif isinstance(value, bytes) and len(value) < _LIMIT:
        found.bytes.append(value)


def _add_pattern(found: Constants, node: ast.Call) -> None:
    is_re = (
        isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
    )
    first = node.args[0] if node.args else None
    if is_re and isinstance(first, ast.Constant) and isinstance(first.value, str):
        try:
            found.patterns.append(re._parser.parse(first.value))  # noqa: SLF001 - the only parser there is
        except re.error:
            return


def _write_match(pattern: Any, rng: random.Random) -> str:
    """A string the pattern probably matches; it is only an input to try."""
    return "".join(_write(token, rng) for token in pattern)


def _write(token: Any, rng: random.Random) -> str:
    name, value = str(token[0]), token[1]
    if name == "LITERAL":
        return chr(value)
    if name == "NOT_LITERAL":
        return rng.choice([c for c in "ax0 -" if ord(c) != value])
    if name == "ANY":
        return rng.choice("aZ0 _-")
    if name == "IN":
        return _write_set(value, rng)
    if name == "CATEGORY":
        return _write_category(str(value), rng)
    if name in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}:
        low, high, inner = value
        count = rng.randint(low, max(low, min(int(high), low + _REPEAT_LIMIT)))
        return "".join(_write_match(inner, rng) for _ in range(count))
    if name == "SUBPATTERN":
        return _write_match(value[3], rng)
    if name == "BRANCH":
        return _write_match(rng.choice(value[1]), rng)
    return ""


def _write_set(items: Any, rng: random.Random) -> str:
    if str(items[0][0]) == "NEGATE":
        return rng.choice("a0 _-.Z")
    name, value = rng.choice(items)
    if str(name) == "RANGE":
        return chr(rng.choice([value[0], value[1], rng.randint(*value)]))
    return _write((name, value), rng)


def _write_category(name: str, rng: random.Random) -> str:
    if "NOT" in name:
        return rng.choice("-. a")
    if "DIGIT" in name:
        return rng.choice("0123456789٣")
    return rng.choice(" \t\n") if "SPACE" in name else rng.choice("abzAZ09_é")


_EDGES = [2**k + d for k in (7, 8, 15, 16, 31, 32, 53, 63, 64) for d in (-1, 0, 1)]
_FLOATS = [0.0, -0.0, 1.0, -1.0, 0.1, 0.5, 1e-9, 1e16, 1e308, 5e-324, 2.5, 3.0, math.inf, -math.inf, math.nan]
_LETTERS = string.ascii_letters + string.digits + " _-.,:/@()[]{}\n\t"
_ODD_LETTERS = "éßİıǅﬁΣς٣²Ⅷ\u0301\u200b\u00a0\x00\x1c\U0001f600\ud800'\"\\"
_CHANCE_EMPTY = 0.12
_SHORT_TEXT = 12


class Unbuildable(Exception):  # noqa: N818 - not a failure of ours: a constructor refused
    """The constructor of a user class refused the values drawn for it."""


class Generator:
    def __init__(self, rng: random.Random, constants: Constants) -> None:
        self._rng = rng
        self._constants = constants
        short = [text for text in constants.strings if len(text) <= _SHORT_TEXT]
        self._own_letters = "".join(dict.fromkeys("".join(short)))
        self._letters = self._own_letters * 2 + _LETTERS
        self._makers: dict[str, Callable[[Shape, int], Any]] = {
            "int": lambda _s, _n: self.integer(),
            "bool": lambda _s, _n: rng.random() < 0.5,
            "float": lambda _s, _n: self.real(),
            "complex": lambda _s, _n: complex(self.real(), self.real()),
            "str": lambda _s, _n: self.text(),
            "identifier": lambda _s, _n: "k" + rng.choice("abcde"),
            "bytes": lambda _s, _n: self.octets(),
            "bytearray": lambda _s, _n: bytearray(self.octets()),
            "none": lambda _s, _n: None,
            "choice": lambda s, _n: rng.choice(s.values),
            "union": lambda s, n: self.value(rng.choice(s.parts), n),
            "list": lambda s, n: self._items(s.parts[0], n),
            "vartuple": lambda s, n: tuple(self._items(s.parts[0], n)),
            "tuple": lambda s, n: tuple(self.value(part, n - 1) for part in s.parts),
            "set": lambda s, n: set(self._items(s.parts[0], n)),
            "frozenset": lambda s, n: frozenset(self._items(s.parts[0], n)),
            "dict": lambda s, n: {key: self.value(s.parts[1], n - 1) for key in self._items(s.parts[0], n)},
            "typeddict": self._typed_dict,
            "class": lambda s, n: build(s, [self.value(part, n - 1) for part in s.parts]),
            "date": lambda _s, _n: self.moment().date(),
            "datetime": lambda _s, _n: self.moment(),
            "time": lambda _s, _n: self.moment().time(),
            "timedelta": lambda _s, _n: self.span(),
            "decimal": lambda _s, _n: self.decimal(),
            "fraction": lambda _s, _n: fractions.Fraction(self.integer(), rng.choice([1, 2, 3, 7, 10, 100])),
        }

    def value(self, shape: Shape, size: int = 3) -> Any:
        return self._makers[shape.kind](shape, size)

    def integer(self) -> int:
        rng = self._rng
        roll = rng.random()
        if roll < 0.4:
            return rng.randint(-3, 10) if roll < 0.25 else rng.randint(-20, 100)
        if roll < 0.7 and self._constants.ints:
            return self._near_constant()
        if roll < 0.8:
            return rng.choice(_EDGES) * rng.choice([1, -1])
        return rng.randint(0, 10 ** rng.randint(1, 12)) * rng.choice([1, -1])

    def _near_constant(self) -> int:
        rng, ints = self._rng, self._constants.ints
        value = rng.choice(ints)
        roll = rng.random()
        if roll < 0.3:
            value += rng.choice([-1, 1])
        elif roll < 0.45:
            other = rng.choice(ints)
            value = rng.choice([value + other, value - other, value * other])
        elif roll < 0.55:
            value *= rng.randint(2, 12)
        elif roll < 0.6:
            value = math.isqrt(abs(value))
        return -value if rng.random() < 0.15 else value

    def real(self) -> float:
        rng = self._rng
        roll = rng.random()
        if roll < 0.3:
            return rng.choice(_FLOATS)
        if roll < 0.5 and self._constants.floats:
            value = rng.choice(self._constants.floats)
            return rng.choice(
                [value, math.nextafter(value, math.inf), math.nextafter(value, -math.inf), -value]
            )
        if roll < 0.75:
            return float(max(-(10**300), min(10**300, self.integer())))
        return rng.uniform(-1, 1) * float(10 ** rng.randint(0, 9)) / 1000

    def decimal(self) -> decimal.Decimal:
        roll = self._rng.random()
        if roll < 0.05:
            return decimal.Decimal(self._rng.choice(["NaN", "Infinity", "-Infinity", "-0", "1E+50"]))
        return decimal.Decimal(self.integer()).scaleb(-self._rng.randint(0, 4))

    def text(self) -> str:
        rng, known = self._rng, self._constants
        roll = rng.random()
        if roll < 0.25 and known.patterns:
            text = _write_match(rng.choice(known.patterns), rng)
            return text if rng.random() < 0.6 else self.edit(text)
        if roll < 0.4 and known.strings:
            return self._from_constants()
        if roll < 0.47:
            return str(self.integer())
        count = 0 if roll < 0.51 else min(int(rng.expovariate(0.35)), 30)
        letters = self._letters if rng.random() < 0.8 else self._letters + _ODD_LETTERS * 3
        if rng.random() < 0.3:
            letters = "".join(rng.choice(letters) for _ in range(2))
        elif self._own_letters and rng.random() < 0.35:
            letters = self._own_letters
        text = "".join(rng.choice(letters) for _ in range(count))
        return text + text[::-1] if rng.random() < 0.08 else text

    def _from_constants(self) -> str:
        rng, strings = self._rng, self._constants.strings
        text = rng.choice(strings)
        roll = rng.random()
        if roll < 0.35:
            return text
        if roll < 0.6:
            return (
                text + rng.choice(["", " ", rng.choice(strings), str(self.integer())]) + rng.choice(strings)
            )
        if roll < 0.75:
            return rng.choice([text.upper(), text.lower(), text.swapcase(), text[::-1], f" {text} "])
        return self.edit(text)

    def edit(self, text: str) -> str:
        rng = self._rng
        at = rng.randint(0, len(text))
        letter = rng.choice(self._letters)
        return rng.choice(
            [text[:at] + letter + text[at:], text[:at] + text[at + 1 :], text[:at] + letter + text[at + 1 :]]
        )

    def octets(self) -> bytes:
        rng = self._rng
        if self._constants.bytes and rng.random() < 0.3:
            return rng.choice(self._constants.bytes)
        return bytes(rng.choice([0, 1, 65, 127, 128, 255, rng.randrange(256)]) for _ in range(self._count(6)))

    def moment(self) -> dt.datetime:
        rng = self._rng
        year = rng.choice([1, 1900, 1970, 1999, 2000, 2023, 2024, 2100, 9999, rng.randint(1, 9999)])
        near = [n for n in self._constants.ints if 1 <= n <= 9999]
        if near and rng.random() < 0.3:
            year = rng.choice(near)
        month, day = rng.choice(
            [(1, 1), (2, 28), (2, 29), (12, 31), (rng.randint(1, 12), rng.randint(1, 31))]
        )
        day = min(day, calendar.monthrange(year, month)[1])
        base = dt.datetime(year, month, day)  # noqa: DTZ001 - naive; aware moments are not tried
        if rng.random() < 0.5:
            return base
        return base.replace(
            hour=rng.randint(0, 23), minute=rng.randint(0, 59), second=rng.choice([0, 30, 59])
        )

    def span(self) -> dt.timedelta:
        seconds = max(-(10**12), min(10**12, self.integer()))
        return dt.timedelta(days=self._rng.choice([0, 0, 1, -1, 7, 365]), seconds=seconds)

    def _count(self, most: int) -> int:
        if self._rng.random() < _CHANCE_EMPTY:
            return 0
        return min(1 + int(self._rng.expovariate(0.5)), most)

    def _items(self, part: Shape, size: int) -> list[Any]:
        count = self._count(3 if size <= 1 else 9)
        items = [self.value(part, size - 1) for _ in range(count)]
        roll = self._rng.random()
        if len(items) > 1 and roll < 0.25:
            items[self._rng.randrange(len(items))] = copy.deepcopy(self._rng.choice(items))
        elif roll < 0.35 and part.kind in {"int", "str", "float", "decimal"}:
            items.sort()
        return items

    def _typed_dict(self, shape: Shape, size: int) -> dict[str, Any]:
        pairs = zip(shape.names, shape.parts, strict=True)
        kept = [(n, p) for n, p in pairs if n not in shape.optional or self._rng.random() < 0.5]
        return {name: self.value(part, size - 1) for name, part in kept}


def build(shape: Shape, values: list[Any]) -> Any:
    try:
        return shape.python(**dict(zip(shape.names, values, strict=True)))
    except Exception as error:
        # A user constructor may raise anything; such values are no inputs.
        raise Unbuildable from error
