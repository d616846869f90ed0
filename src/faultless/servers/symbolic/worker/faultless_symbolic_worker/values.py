"""Values as Python expressions that give the same value back, and equality that does not trust `==`."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import inspect
import math
import re
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


_DEPTH_LIMIT = 60
TEXT_LIMIT = 4000
_ATOMIC = (int, str, bytes, bool, type(None))
_DATES = (dt.datetime, dt.date, dt.time, dt.timedelta, dt.timezone)
# Asked for first: a symbolic int or str has attributes, and must still be compared by value.
_VALUE_TYPES = (int, bool, str, bytes, bytearray, range, fractions.Fraction, *_DATES)
_CONTAINERS = (list, tuple, set, frozenset, dict)


class NotRenderableError(Exception):
    """No expression gives this value back."""


class IncomparableError(Exception):
    """Neither equal nor different can be said: functions, classes made on the fly, bare objects."""


class Renderer:
    """Writes expressions for the namespace of the user's code; `imports` are the modules they need
    besides.
    """

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self._namespace = namespace
        self.imports: set[str] = set()

    def render(self, value: Any) -> str:
        """The expression, checked by evaluating it."""
        text = self._write(value, 0)
        if len(text) > TEXT_LIMIT:
            raise NotRenderableError("the expression is too long")
        try:
            back = evaluate(text, self._namespace)
        except Exception as error:
            # User constructors run here and may raise anything.
            raise NotRenderableError(f"{text} raises {type(error).__name__}") from error
        if not same(value, back):
            raise NotRenderableError(f"{text} gives another value")
        return text

    def _write(self, value: Any, depth: int) -> str:  # noqa: C901, PLR0912 - one row a type
        if depth > _DEPTH_LIMIT:
            raise NotRenderableError("the value nests too deeply")
        kind = type(value)
        if kind is float:
            return _write_float(value)
        if kind is complex:
            return f"complex({_write_float(value.real)}, {_write_float(value.imag)})"
        if kind in _ATOMIC:
            return repr(value)
        if isinstance(value, enum.Enum):
            return self._write_enum(value)
        if kind in _CONTAINERS:
            return self._write_container(value, depth)
        if kind is bytearray:
            return f"bytearray({bytes(value)!r})"
        if kind in _DATES:
            return self._write_datetime(value)
        if kind is decimal.Decimal:
            return f"{self._name(kind)}({str(value)!r})"
        if kind is fractions.Fraction:
            return f"{self._name(kind)}({value.numerator}, {value.denominator})"
        if isinstance(value, type):
            return self._name(value)
        if isinstance(value, range):
            return repr(value)
        if isinstance(value, types.FunctionType | types.BuiltinFunctionType | types.ModuleType):
            raise NotRenderableError(f"a {kind.__name__} has no expression")
        return self._write_object(value, depth)

    def _write_container(self, value: Any, depth: int) -> str:
        if isinstance(value, dict):
            pairs = (f"{self._write(k, depth + 1)}: {self._write(v, depth + 1)}" for k, v in value.items())
            return "{" + ", ".join(pairs) + "}"
        items = [self._write(item, depth + 1) for item in value]
        if isinstance(value, list):
            return f"[{', '.join(items)}]"
        if isinstance(value, tuple):
            return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
        inner = "{" + ", ".join(sorted(items)) + "}" if items else ""
        if isinstance(value, frozenset):
            return f"frozenset({inner})"
        return inner or "set()"

    def _write_enum(self, value: enum.Enum) -> str:
        if value.name and value.name.isidentifier():
            return f"{self._name(type(value))}.{value.name}"
        return f"{self._name(type(value))}({value.value!r})"

    def _write_datetime(self, value: Any) -> str:
        # repr writes `datetime.x(...)` and nests such calls for time zones.
        text = repr(value)
        prefix = self._name(dt.datetime).removesuffix(".datetime")
        if self._namespace.get("datetime") is dt.datetime:
            self.imports.add("datetime as datetime_module")
            return re.sub(r"\bdatetime\.(?=[a-z]+[(.])", "datetime_module.", text)
        return text if prefix == "datetime" else text.replace("datetime.", f"{prefix}.")

    def _name(self, cls: type) -> str:
        """The name the class has in the user's code, else its module's, imported."""
        if self._namespace.get(cls.__name__) is cls or cls.__module__ == "builtins":
            return cls.__name__
        if self._owner_is_user(cls):
            return cls.__qualname__
        module = cls.__module__.lstrip("_")
        bound = self._namespace.get(module)
        if bound is None or isinstance(bound, types.ModuleType):
            self.imports.add(module)
            return f"{module}.{cls.__qualname__}"
        self.imports.add(f"{module} as {module}_module")
        return f"{module}_module.{cls.__qualname__}"

    def _owner_is_user(self, cls: type) -> bool:
        return cls.__module__ == self._namespace.get("__name__") and "<locals>" not in cls.__qualname__

    def _write_object(self, value: Any, depth: int) -> str:
        """A call of the constructor with the attributes that carry its parameters' names."""
        cls = type(value)
        if not self._owner_is_user(cls):
            raise NotRenderableError(f"{cls.__name__} has no expression")
        try:
            parameters = inspect.signature(cls).parameters.values()
        except (ValueError, TypeError) as error:
            raise NotRenderableError(f"{cls.__name__} has no readable constructor") from error
        written = []
        for parameter in parameters:
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            inner = _find_attribute(value, parameter.name)
            text = self._write(inner, depth + 1)
            positional = parameter.kind is parameter.POSITIONAL_ONLY
            written.append(text if positional else f"{parameter.name}={text}")
        return f"{self._name(cls)}({', '.join(written)})"


def _find_attribute(value: Any, name: str) -> Any:
    for candidate in (name, f"_{name}", f"_{type(value).__name__.lstrip('_')}__{name}"):
        try:
            return getattr(value, candidate)
        except AttributeError:
            continue
    raise NotRenderableError(f"{type(value).__name__} does not keep {name}")


def evaluate(text: str, namespace: Mapping[str, Any]) -> Any:
    """Evaluate a rendered expression beside the user's code; runs in a sandboxed child only."""
    scope = {**_BARE_MODULES, **namespace, **_MODULES}
    return eval(text, scope)  # noqa: S307 - our own expressions, in a process that may run user code anyway


_MODULES = {
    "datetime_module": dt,
    "decimal_module": decimal,
    "fractions_module": fractions,
}
# What the reproduction imports, unless the user's code has given the name another meaning.
_BARE_MODULES = {"datetime": dt, "decimal": decimal, "fractions": fractions}


def _write_float(value: float) -> str:
    return repr(value) if math.isfinite(value) else f"float({str(value)!r})"


def same(left: Any, right: Any, *, strict: bool = True, depth: int = 0) -> bool:  # noqa: C901, PLR0912 - one row a type
    """Equal in type and structure: 1 is not True, nan is nan, objects compare by their attributes.

    `strict` also tells 0.0 from -0.0 and sees the order of a dict, which Python's `==` does not.
    """
    if left is right:
        return True
    if type(left) is not type(right):
        if "<locals>" in type(left).__qualname__ and type(left).__qualname__ == type(right).__qualname__:
            raise IncomparableError
        return False
    if type(left) in _VALUE_TYPES:
        return bool(left == right)
    if depth > _DEPTH_LIMIT:
        raise IncomparableError

    def inner(one: Any, other: Any) -> bool:
        return same(one, other, strict=strict, depth=depth + 1)

    if isinstance(left, float):
        return _same_floats(left, right, strict=strict)
    if isinstance(left, complex):
        return inner(left.real, right.real) and inner(left.imag, right.imag)
    if isinstance(left, decimal.Decimal):
        return str(left) == str(right) if strict or left.is_nan() else bool(left == right)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(inner(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, dict):
        if len(left) != len(right):
            return False
        if strict:
            return all(inner(a, b) for a, b in zip(left.items(), right.items(), strict=True))
        return all(key in right and inner(value, right[key]) for key, value in left.items())
    if isinstance(left, set | frozenset):
        return _same_sets(left, right, strict=strict)
    if isinstance(left, BaseException):
        return inner(left.args, right.args)
    if _compares_by_attributes(left):
        return _same_objects(left, right, inner)
    return bool(left == right)


def _same_floats(left: float, right: float, *, strict: bool) -> bool:
    if left != left or right != right:  # noqa: PLR0124 - nan
        return left != left and right != right  # noqa: PLR0124 - nan
    return left == right and (not strict or left != 0 or math.copysign(1, left) == math.copysign(1, right))


def _same_sets(left: Any, right: Any, *, strict: bool) -> bool:
    if len(left) != len(right) or left != right:
        return False
    others = list(right)
    for item in left:
        found = next((i for i, other in enumerate(others) if same(item, other, strict=strict)), None)
        if found is None:
            return False
        del others[found]
    return True


def _has_no_equality(value: Any) -> bool:
    inherited: Any = object.__eq__
    return type(value).__eq__ is inherited


def _compares_by_attributes(value: Any) -> bool:
    return dataclasses.is_dataclass(value) or hasattr(value, "__dict__") or _has_no_equality(value)


def _same_objects(left: Any, right: Any, inner: Callable[[Any, Any], bool]) -> bool:
    if isinstance(left, enum.Enum):
        return False
    if isinstance(left, type | types.FunctionType | types.MethodType | types.ModuleType):
        raise IncomparableError
    mine, yours = _attributes(left), _attributes(right)
    if not mine and not yours:
        if _has_no_equality(left):
            raise IncomparableError
        return bool(left == right)
    return mine.keys() == yours.keys() and all(inner(mine[name], yours[name]) for name in mine)


def _attributes(value: Any) -> dict[str, Any]:
    slots = [name for cls in type(value).__mro__ for name in getattr(cls, "__slots__", ())]
    return {**getattr(value, "__dict__", {}), **{name: getattr(value, name, None) for name in slots}}
