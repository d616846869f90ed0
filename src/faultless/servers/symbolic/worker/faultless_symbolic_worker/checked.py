"""The list of operations on whose models a proof may rest, and the judge that holds a trace against it.

A row is `operation | kinds of its operands`; kinds after one another are alternatives. Every row is held by a
differential test: the operands symbolic or concrete, pinned to extreme values, CrossHair's outcome against
CPython's on each path's own witness. A row whose test fails leaves the list. The domain of every row is its
whole kind: an operation that is only right on a part of it (`int / int` up to 2**53, `str(int)` up to 4300
digits) is not here. Rows of `_LANGUAGE` have no model: they choose, name or move objects, which CPython does
in the engine too.
"""

from __future__ import annotations

import itertools
import platform
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING

from .operations import CHANGES
from .source import split_names

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .events import Operations

CHECKED_WITH = {"crosshair-tool": "0.0.112", "z3-solver": "5.3.1.0", "python": "3.11"}
MODELS = """
a + b | int bool | int bool
a - b | int bool | int bool
a * b | int bool | int bool
a // b | int bool | int bool
a % b | int bool | int bool
a ** 2 | int bool
a ** 3 | int bool
a & b | int bool | int bool
a | b | int bool | int bool
a ^ b | int bool | int bool
a << 1 | int
a << 2 | int
a << 3 | int
a >> 1 | int
a >> 2 | int
-a | int bool
+a | int
~a | int bool
not a | int bool str None list[int] list[str] list[bool]
bool(a) | int bool str None list[int] list[str] list[bool]
a == b | int bool | int bool
a != b | int bool | int bool
a < b | int bool | int bool
a <= b | int bool | int bool
a > b | int bool | int bool
a >= b | int bool | int bool
a == b | str | str
a != b | str | str
a < b | str | str
a <= b | str | str
a > b | str | str
a >= b | str | str
a == b | str None int bool | None
a == b | None | str int bool
a is b | int str bool None list[int] list[str] | None
a is not b | int str bool None list[int] list[str] | None
abs(a) | int bool
int(a) | int bool
bool(a) | int
divmod(a, b) | int bool | int bool
min(a, b) | int | int
max(a, b) | int | int
min(a, b, c) | int | int | int
max(a, b, c) | int | int | int
isinstance(a, int) | int str None float bool
isinstance(a, str) | int str None float bool
a + b | str | str
len(a) | str list[int] list[str] list[bool]
a[b] | str list[int] list[str] list[bool] | int
a[b:] | str list[int] list[str] | int
a[:b] | str list[int] list[str] | int
f'{a}' | str
a in b | int | tuple[int] list[int]
a in b | str | tuple[str]
a not in b | int | tuple[int]
a not in b | str | tuple[str]
a == b | tuple[int] | tuple[int]
a == b | tuple[bool] | tuple[bool]
a + b | list[int] | list[int]
a.pop() | list[int]
sum(a) | tuple[int] list[int]
sorted(a) | tuple[int] list[int]
range(a) | int
range(a, b) | int | int
[x for x in a] | tuple[int] list[int]
a.startswith(b) | str | str
"""
_LANGUAGE = """
an attribute of its own object
store in an attribute
store by a method
a == b | enum | enum
a != b | enum | enum
a is b | enum bool None | enum bool None
a is not b | enum bool None | enum bool None
[x for x in a] | generator range
"""
_ATOMS = ("int", "bool", "str", "None", "float", "enum", "bytes")


def object_to(operations: Operations | None, *, may_alias: bool, ran_all: bool) -> list[str]:
    """Everything that speaks against a proof resting on these operations; empty is permission."""
    if operations is None:
        return ["the operations of the proof were not told"]
    notes = [(operation, tuple(kinds), line) for operation, kinds, line in operations.notes]
    objection = _find_objection(notes, operations.items, ran_all=ran_all)
    found = [*operations.doubts, *([objection] if objection else [])]
    if may_alias and any(CHANGES in operation for operation, _, _ in notes):
        found.append("arguments may share an object, and the code changes one")
    return found


def _find_objection(
    notes: Iterable[tuple[str, tuple[str, ...], int]], items: Iterable[str], *, ran_all: bool
) -> str | None:
    """Why these operations do not carry a proof. `items` are the kinds that lists of the inputs may hold.

    `ran_all`: every input was run in CPython, so no model is needed, only that a run says the same each time.
    """
    told = list(notes)
    unlike = _unlike_versions()
    if unlike and not ran_all:
        return unlike
    kinds = sorted({*items, *(kind for _, operands, _ in told for kind in operands if kind in _ATOMS)})
    for operation, operands, line in told:
        if ran_all and not _depends_on_more(operation, operands):
            continue
        for filled in itertools.product(*(_fill(kind, kinds) for kind in operands)):
            if not _is_checked(operation, filled):
                return _describe(operation, filled, line)
    return None


def _describe(operation: str, operands: tuple[str, ...], line: int) -> str:
    of = f" of {', '.join(operands)}" if operands else ""
    where = f"line {line}: " if line else ""
    return f"{where}{operation}{of} is not on the list of operations whose model was checked"


def _fill(kind: str, items: list[str]) -> list[str]:
    """An empty list in one run stands for lists of anything the inputs may hold."""
    empty = next((name for name in ("list", "set", "frozenset") if kind == f"{name}[]"), None)
    return [f"{empty}[{item}]" for item in items] or [kind] if empty else [kind]


def _is_checked(operation: str, operands: tuple[str, ...]) -> bool:
    if operation == "a result":
        return _is_plain(operands[0])
    if operation == "the same result":
        return _is_plain(operands[0]) and _is_comparable(operands[0])
    if operation in {"unpack a", "a[b]", "len(a)"} and operands[0].startswith(("tuple[", "namedtuple[")):
        return operands[1:] in ((), ("int",))
    operands = tuple(kind.removeprefix("named") for kind in operands)
    return any(
        len(row) == len(operands) and all(kind in choice for kind, choice in zip(operands, row, strict=True))
        for row in _permitted().get(operation, ())
    )


def _inner(kind: str) -> list[str]:
    """The kinds inside brackets, at the outermost level."""
    _, bracket, rest = kind.partition("[")
    if not bracket:
        return []
    parts, depth, text = [], 0, ""
    for letter in rest[:-1]:
        depth += (letter == "[") - (letter == "]")
        if letter in "|," and not depth:
            parts.append(text.strip())
            text = ""
        else:
            text += letter
    return [*parts, text.strip()] if text else parts


def _is_plain(kind: str) -> bool:
    """A value that holds no code, no iterator and nothing that looks different from inside."""
    head = kind.partition("[")[0]
    return kind in _ATOMS or (head in _HOLDERS and all(map(_is_plain, _inner(kind))))


def _is_comparable(kind: str) -> bool:
    head = kind.partition("[")[0]
    if head in {"tuple", "list", "dataclass", "namedtuple"}:
        return all(map(_is_comparable, _inner(kind)))
    return kind in {"int", "bool", "str", "None", "enum"}


_HOLDERS = ("list", "tuple", "dict", "set", "frozenset", "dataclass", "namedtuple")


def _depends_on_more(operation: str, operands: tuple[str, ...]) -> bool:
    """Order by hash, changed state, and calls into libraries: what may differ from run to run."""
    if operation in {"a result", "the same result"}:
        return not _is_checked("a result", operands)
    if CHANGES in operation or not operands:
        return not _is_checked(operation, operands)
    if any(word in kind for kind in operands for word in ("set", "object", ".", "generator", "class")):
        return True
    is_method = operation.startswith("a.")
    return "(" in operation and not is_method and operation.partition("(")[0] not in _SAME_EACH_TIME


_SAME_EACH_TIME = split_names(
    "bool abs int float str len min max sum divmod round ord chr sorted isinstance all any tuple list"
)


@cache
def _permitted() -> dict[str, list[tuple[tuple[str, ...], ...]]]:
    found: dict[str, list[tuple[tuple[str, ...], ...]]] = {}
    for operation, operands in read_rows(MODELS + _LANGUAGE):
        found.setdefault(operation, []).append(operands)
    return found


def read_rows(table: str) -> list[tuple[str, tuple[tuple[str, ...], ...]]]:
    """Each operation with the kinds its operands may have; `|` is an operation too."""
    found = []
    for line in filter(None, table.splitlines()):
        operation, *operands = line.replace("a | b |", "a or b |").split(" | ")
        kinds = tuple(tuple(item.split()) for item in operands)
        found.append((operation.replace("a or b", "a | b"), kinds))
    return found


@cache
def _unlike_versions() -> str | None:
    here = {name: version(name) for name in ("crosshair-tool", "z3-solver")}
    here["python"] = ".".join(platform.python_version_tuple()[:2])
    for name, wanted in CHECKED_WITH.items():
        if here[name] != wanted:
            return f"the models were checked with {name} {wanted}, and this is {here[name]}"
    return None
