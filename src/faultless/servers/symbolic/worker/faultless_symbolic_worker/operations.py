"""What rewritten code did: each operation written as an expression over `a`, `b`, `c` and the kinds of those.

The ledger runs in plain Python beside a replay. It also knows the objects that outlive a call, so that a
change to one of them is told as what it is.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import operator
import string
import types
from typing import TYPE_CHECKING, Any

from .branches import PREFIX
from .calls import USER_FILE, Drained
from .shapes import USER_MODULE
from .source import split_names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "|": operator.or_,
    "&": operator.and_,
    "^": operator.xor,
    "@": operator.matmul,
    "+=": operator.iadd,
    "-=": operator.isub,
    "*=": operator.imul,
    "/=": operator.itruediv,
    "//=": operator.ifloordiv,
    "%=": operator.imod,
    "**=": operator.ipow,
    "<<=": operator.ilshift,
    ">>=": operator.irshift,
    "|=": operator.ior,
    "&=": operator.iand,
    "^=": operator.ixor,
    "@=": operator.imatmul,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.is_,
    "is not": operator.is_not,
    "in": lambda one, other: one in other,
    "not in": lambda one, other: one not in other,
}
_UNARY: dict[str, Callable[[Any], Any]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "not ": operator.not_,
}
_ATOMS: dict[type, str] = {
    **{kind: kind.__name__ for kind in (int, bool, float, complex, str, bytes, range)},
    type(None): "None",
    types.GeneratorType: "generator",
}
_CHANGEABLE = (list, dict, set, bytearray, collections.abc.Iterator)
_READING = split_names("copy count index get keys values items issubset issuperset isdisjoint union")
_IMMUTABLE = (int, float, complex, str, bytes, type(None), range, type(Ellipsis), type(NotImplemented))
_DEPTH = 4
_MOST_NOTES = 2000
CHANGES_STATE = "a change to an object the module keeps"
CHANGES = "store"
"""Marks a note of an operation that changes an object."""


def kind_of(value: object, depth: int = 0) -> str:
    """The type, and those of the items; items of one list may differ, then all are named."""
    kind = type(value)
    if kind in _ATOMS:
        return _ATOMS[kind]
    if depth > _DEPTH:
        return "deeply nested"
    if kind in (list, set, frozenset, tuple):
        items: Any = value
        inner = sorted({kind_of(item, depth + 1) for item in items})
        return f"{kind.__name__}[{'|'.join(inner)}]"
    if isinstance(value, dict) and kind is dict:
        keys = sorted({kind_of(item, depth + 1) for item in value})
        values = sorted({kind_of(item, depth + 1) for item in value.values()})
        return f"dict[{'|'.join(keys)}, {'|'.join(values)}]"
    return _kind_of_object(value, kind, depth)


def _kind_of_object(value: Any, kind: type, depth: int) -> str:
    if isinstance(value, enum.Enum):
        return "enum" if type(value).__mro__[1:] == (enum.Enum, object) else f"enum {kind.__name__}"
    if isinstance(value, BaseException):
        return "exception"
    if isinstance(value, type):
        return "class"
    if isinstance(value, types.ModuleType):
        return "module"
    if is_user_function(value):
        return "function"
    if kind.__module__ == USER_MODULE and dataclasses.is_dataclass(kind) and kind.__mro__[1:] == (object,):
        fields = {kind_of(getattr(value, item.name, None), depth + 1) for item in dataclasses.fields(value)}
        return f"dataclass[{'|'.join(sorted(fields))}]"
    if kind.__module__ == USER_MODULE and kind.__mro__[1:] == (tuple, object) and hasattr(kind, "_fields"):
        return f"namedtuple[{'|'.join(sorted({kind_of(item, depth + 1) for item in value}))}]"
    if kind.__module__ == USER_MODULE:
        return "object" if kind.__mro__[1:] == (object,) else f"object {kind.__name__}"
    return f"{kind.__module__}.{kind.__qualname__}"


def is_user_function(value: object) -> bool:
    return isinstance(value, types.FunctionType) and value.__code__.co_filename == USER_FILE


class Ledger:
    """`notes` maps an operation with its kinds to the first line where it happened."""

    def __init__(self) -> None:
        self.notes: dict[tuple[str, tuple[str, ...]], int] = {}
        self._kept: dict[int, object] = {}

    def keep(self, kept: dict[int, object]) -> None:
        """Objects that outlive a call, by id."""
        self._kept = kept

    def note(self, line: int, operation: str, *operands: object) -> None:
        key = (operation, tuple(kind_of(item) for item in operands))
        if len(self.notes) > _MOST_NOTES:
            key = ("more operations than can be told", ())
        self.notes.setdefault(key, line)

    def _note_change(self, line: int, target: object) -> None:
        if id(target) in self._kept and not isinstance(target, _IMMUTABLE):
            self.note(line, CHANGES_STATE)

    def unknown(self, line: int, what: str) -> None:
        self.note(line, what)

    def given(self, line: int, what: str, value: Any) -> Any:
        self.note(line, what)
        return value

    def binary(self, line: int, sign: str, literal: bool, left: Any, right: Any) -> Any:
        if literal and sign in {"**", "<<", ">>"}:
            self.note(line, f"a {sign} {right}", left)
        else:
            self.note(line, f"a {sign} b", left, right)
        return _BINARY[sign](left, right)

    def unary(self, line: int, sign: str, value: Any) -> Any:
        self.note(line, f"{sign}a", value)
        return _UNARY[sign](value)

    def truth(self, line: int, value: Any) -> Any:
        self.note(line, "bool(a)", value)
        return value

    def compare(
        self, line: int, signs: tuple[str, ...], left: Any, right: Any, later: tuple[Callable[[], Any], ...]
    ) -> Any:
        result = self._compare(line, signs[0], left, right)
        for sign, thunk in zip(signs[1:], later, strict=True):
            self.note(line, "bool(a)", result)
            if not result:
                return result
            left, right = right, thunk()
            result = self._compare(line, sign, left, right)
        return result

    def _compare(self, line: int, sign: str, left: Any, right: Any) -> Any:
        self.note(line, f"a {sign} b", left, right)
        return _BINARY[sign](left, right)

    def iterate(self, line: int, value: Any, unpacks: bool) -> Any:
        self.note(line, "[x for x in a]", value)
        if unpacks:
            self.note(line, "[x for x, y in a]", value)
        return value

    def unpack(self, line: int, value: Any) -> Any:
        self.note(line, "unpack a", value)
        return value

    def made(self, line: int, value: Any) -> Any:
        self.note(line, f"{type(value).__name__} display", value)
        return value

    def formatted(self, line: int, value: Any, how: str) -> Any:
        self.note(line, f"f'{{a{how}}}'", value)
        return value

    def match(self, line: int, subject: Any, plain: bool, values: tuple[Any, ...]) -> Any:
        if not plain:
            self.note(line, "a pattern that looks inside", subject)
        for value in values:
            self.note(line, "a == b", subject, value)
        return subject

    def attribute(self, line: int, value: Any, name: str) -> Any:
        if isinstance(value, types.ModuleType) or callable(getattr(type(value), name, None)):
            return value  # a constant, or a method, which tells of itself when it is called
        kind = kind_of(value).partition("[")[0]
        own = kind in {"dataclass", "namedtuple", "object", "enum"} or type(value) is types.SimpleNamespace
        own = own or (isinstance(value, type) and value.__module__ == USER_MODULE)
        self.note(line, "an attribute of its own object" if own else f"a.{name}", *([] if own else [value]))
        return value

    def attribute_target(self, line: int, value: Any, _name: str) -> Any:
        own = kind_of(value).partition("[")[0] in {"dataclass", "object"}
        self.note(line, f"{CHANGES} in an attribute", *([] if own else [value]))
        self._note_change(line, value)
        return value

    def item(self, line: int, value: Any, key: Any) -> Any:
        if isinstance(key, slice):
            parts = [key.start, key.stop, key.step]
            names = iter("bcd")
            texts = ["" if part is None else next(names) for part in parts]
            text = ":".join(texts if texts[2] else texts[:2])
            self.note(line, f"a[{text}]", value, *(part for part in parts if part is not None))
        else:
            self.note(line, "a[b]", value, key)
        return value[key]

    def item_target(self, line: int, value: Any) -> Any:
        self.note(line, f"{CHANGES} in a[...]", value)
        self._note_change(line, value)
        return value

    def key(self, line: int, value: Any) -> Any:
        self.note(line, "key of a store", value)
        return value

    def augment(self, line: int, sign: str, left: Any, right: Any) -> Any:
        if isinstance(left, (*_IMMUTABLE, tuple)):
            return self.binary(line, sign[:-1], False, left, right)
        self.note(line, f"{CHANGES} by a {sign} b", left, right)
        self._note_change(line, left)
        return _BINARY[sign](left, right)

    def augment_attribute(self, line: int, sign: str, value: Any, name: str, operand: Any) -> None:
        if name.startswith("__"):
            self.note(line, "a private attribute changed in place")
        self.attribute_target(line, value, name)
        setattr(value, name, self.augment(line, sign, getattr(value, name), operand))

    def augment_item(self, line: int, sign: str, value: Any, key: Any, operand: Any) -> None:
        changed = self.augment(line, sign, self.item(line, value, key), operand)
        self.item_target(line, value)[self.key(line, key)] = changed

    def call(self, line: int, function: Any, /, *positional: Any, **named: Any) -> Any:
        self._note_call(line, function, positional, named)
        return function(*positional, **named)

    def _note_call(
        self, line: int, function: Any, positional: tuple[Any, ...], named: Mapping[str, Any]
    ) -> None:
        if isinstance(function, types.MethodType):
            function = function.__func__
        if is_user_function(function) or _makes_an_exception(function) or _is_own_class(function):
            return
        owner = getattr(function, "__self__", None)
        operands = [*positional, *named.values()]
        name = str(getattr(function, "__name__", type(function).__name__))
        if isinstance(function, type):
            text = name if function.__module__ == "builtins" else f"{function.__module__}.{name}"
        elif isinstance(owner, types.ModuleType):
            text = name if owner.__name__ == "builtins" else f"{owner.__name__}.{name}"
        elif isinstance(function, types.BuiltinMethodType) and owner is not None:
            text = f"a.{name}"
            operands.insert(0, owner)
            if isinstance(owner, _CHANGEABLE) and name not in _READING:
                self.note(line, f"{CHANGES} by a method")
                self._note_change(line, owner)
        else:
            text = f"{getattr(function, '__module__', None) or type(function).__name__}.{name}"
        if name in {"isinstance", "issubclass"} and len(positional) == 2:  # noqa: PLR2004 - its two arguments
            self._note_class_question(line, name, positional)
            return
        letters = iter(string.ascii_lowercase[text.startswith("a.") :])
        arguments = [next(letters, "z") for _ in positional]
        arguments += [f"{key}={next(letters, 'z')}" for key in named]
        self.note(line, f"{text}({', '.join(arguments)})", *operands)

    def _note_class_question(self, line: int, name: str, asked: tuple[Any, ...]) -> None:
        kinds = asked[1] if isinstance(asked[1], tuple) else (asked[1],)
        for kind in kinds:
            plain = isinstance(kind, type) and type(kind) is type
            told = kind.__name__ if plain and kind.__module__ == "builtins" else "Own"
            if not plain or (told == "Own" and kind.__module__ != USER_MODULE):
                told = "a class that answers for itself"
            self.note(line, f"{name}(a, {told})", asked[0])

    def result(self, value: object) -> None:
        """What the caller sees."""
        items: list[object] = value.items if isinstance(value, Drained) else [value]
        for item in items:
            self.note(0, "a result", item)
            if id(item) in self._kept and not isinstance(item, (*_IMMUTABLE, tuple, enum.Enum)):
                self.note(0, "a result that the module keeps too")

    def hooks(self) -> dict[str, Callable[..., Any]]:
        hooks: tuple[Callable[..., Any], ...] = (
            *(self.unknown, self.given, self.binary, self.unary, self.truth, self.compare, self.iterate),
            *(self.unpack, self.made, self.formatted, self.match, self.attribute, self.attribute_target),
            *(self.item, self.item_target, self.key, self.augment, self.augment_attribute),
            *(self.augment_item, self.call),
        )
        return {f"{PREFIX}slice": slice, **{PREFIX + hook.__name__: hook for hook in hooks}}


def _makes_an_exception(function: object) -> bool:
    """Exceptions that only keep their arguments."""
    if not (isinstance(function, type) and issubclass(function, BaseException)):
        return False
    return not issubclass(function, UnicodeError | OSError | ImportError | SyntaxError | BaseExceptionGroup)


def _is_own_class(function: object) -> bool:
    """Making a plain object of the code's own: its constructor is code that tells of itself, or generated."""
    if not (isinstance(function, type) and function.__module__ == USER_MODULE):
        return False
    if function.__mro__[1:] == (object,):
        return all(map(_makes_plain_defaults, getattr(function, "__dataclass_fields__", {}).values()))
    return function.__mro__[1:] == (tuple, object) and hasattr(function, "_fields")


def _makes_plain_defaults(item: dataclasses.Field[Any]) -> bool:
    """A factory runs unseen, so only those that make something empty, or tell of themselves, will do."""
    factory: Any = item.default_factory
    return factory in (dataclasses.MISSING, list, dict, set) or is_user_function(factory)
