"""Constants mined from the source: values the code compares with are the inputs most likely to matter."""

from __future__ import annotations

import ast
import random
import re
from dataclasses import dataclass, field
from typing import Any

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
    for values in (found.ints, found.floats, found.strings, found.bytes):
        _deduplicate(values)
    return found


def _deduplicate(values: list[Any]) -> None:
    values[:] = list(dict.fromkeys(values))[:_LIMIT]


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


def write_match(pattern: Any, rng: random.Random) -> str:
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
        return "".join(write_match(inner, rng) for _ in range(count))
    if name == "SUBPATTERN":
        return write_match(value[3], rng)
    if name == "BRANCH":
        return write_match(rng.choice(value[1]), rng)
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
