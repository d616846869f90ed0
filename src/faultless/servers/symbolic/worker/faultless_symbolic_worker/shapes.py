"""Annotations: read into shapes, which both engines make values from, and held against values."""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import inspect
import types
import typing
from dataclasses import dataclass
from typing import Any

from .calls import Drained
from .protocol import Refusal

ATOMS: dict[object, str] = {
    int: "int",
    bool: "bool",
    float: "float",
    complex: "complex",
    str: "str",
    bytes: "bytes",
    bytearray: "bytearray",
    type(None): "none",
    None: "none",
    dt.datetime: "datetime",
    dt.date: "date",
    dt.time: "time",
    dt.timedelta: "timedelta",
    decimal.Decimal: "decimal",
    fractions.Fraction: "fraction",
}
_SEQUENCES = (list, collections.abc.Sequence, collections.abc.MutableSequence, collections.abc.Iterable,
              collections.abc.Collection, collections.abc.Iterator, collections.abc.Reversible)  # fmt: skip
_MAPPINGS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
_SETS = (set, collections.abc.MutableSet)
_FROZEN = (frozenset, collections.abc.Set)
ANY = "any"
_MUTABLE = frozenset({"list", "dict", "set", "bytearray", "class", "typeddict"})
_NEST_LIMIT = 6


@dataclass(frozen=True)
class Shape:
    """`python` is the class for constructed kinds and the plain annotation CrossHair understands for the
    others.
    """

    kind: str
    python: Any = None
    parts: tuple[Shape, ...] = ()
    names: tuple[str, ...] = ()
    values: tuple[Any, ...] = ()
    optional: frozenset[str] = frozenset()

    def walk(self) -> list[Shape]:
        return [self, *(inner for part in self.parts for inner in part.walk())]

    @property
    def is_mutable(self) -> bool:
        return any(shape.kind in _MUTABLE for shape in self.walk())

    def describe(self) -> str:
        if self.kind in {"class", "typeddict", "choice"} and isinstance(self.python, type):
            return self.python.__name__
        if self.kind == "choice":
            return f"Literal[{', '.join(map(repr, self.values))}]"
        if self.kind == "union":
            return " | ".join(part.describe() for part in self.parts)
        if self.kind == "vartuple":
            return f"tuple[{self.parts[0].describe()}, ...]"
        if self.parts:
            return f"{self.kind}[{', '.join(part.describe() for part in self.parts)}]"
        return "None" if self.kind == "none" else self.kind


INT = Shape("int", int)
UNKNOWN = Shape(ANY)


def read_shape(annotation: Any, depth: int = 0) -> Shape:
    """Raises a refusal where a value of the annotation could only be guessed."""
    if depth > _NEST_LIMIT:
        raise _unsupported(annotation, "nests too deeply (or is recursive)")
    if annotation in (Any, object, inspect.Parameter.empty):
        return UNKNOWN
    if isinstance(annotation, collections.abc.Hashable) and annotation in ATOMS:
        return Shape(ATOMS[annotation], type(None) if annotation is None else annotation)
    if isinstance(annotation, typing.NewType):
        return read_shape(annotation.__supertype__, depth)
    if isinstance(annotation, typing.TypeVar):
        return _read_typevar(annotation, depth)
    if hasattr(annotation, "__value__") and type(annotation).__name__ == "TypeAliasType":
        return read_shape(annotation.__value__, depth + 1)
    if typing.get_origin(annotation) is not None:
        return _read_generic(annotation, depth)
    if isinstance(annotation, type):
        return _read_class(annotation, depth)
    raise _unsupported(annotation)


def _read_typevar(variable: typing.TypeVar, depth: int) -> Shape:
    if variable.__constraints__:
        raise _unsupported(variable, "has constraints")
    return read_shape(variable.__bound__, depth + 1) if variable.__bound__ else UNKNOWN


def _read_generic(annotation: Any, depth: int) -> Shape:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return _choice(_flat_literals(arguments), annotation)
    if origin in (typing.Union, types.UnionType):
        return _union(tuple(read_shape(part, depth + 1) for part in arguments), annotation)
    if origin in (typing.Annotated, typing.Final, typing.ClassVar, typing.Required, typing.NotRequired):
        return read_shape(arguments[0], depth)
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:  # noqa: PLR2004 - tuple[X, ...]
            return Shape("vartuple", annotation, (read_shape(arguments[0], depth + 1),))
        parts = tuple(read_shape(part, depth + 1) for part in arguments if part != ())
        return Shape("tuple", annotation, parts)
    return _read_collection(annotation, depth)


def _read_collection(annotation: Any, depth: int) -> Shape:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin not in (*_SEQUENCES, *_MAPPINGS, *_SETS, *_FROZEN):
        raise _unsupported(annotation)
    parts = tuple(read_shape(part, depth + 1) for part in arguments)
    if origin in (*_MAPPINGS, *_SETS, *_FROZEN) and parts and _is_unhashable(parts[0]):
        raise _unsupported(annotation, f"would hold {parts[0].describe()}, which cannot be hashed")
    for kind, origins in (("list", _SEQUENCES), ("dict", _MAPPINGS), ("set", _SETS), ("frozenset", _FROZEN)):
        if origin in origins:
            if kind == "list" and origin is not list and parts and parts[0].kind == ANY:
                return UNKNOWN
            return Shape(kind, annotation, parts)
    raise _unsupported(annotation)


def _is_unhashable(shape: Shape) -> bool:
    if shape.kind == "class":
        return shape.python.__hash__ is None
    return shape.kind in _MUTABLE or any(_is_unhashable(part) for part in shape.parts)


def _flat_literals(values: tuple[Any, ...]) -> tuple[Any, ...]:
    flat: list[Any] = []
    for value in values:
        flat.extend(_flat_literals(typing.get_args(value)) if typing.get_origin(value) else [value])
    return tuple(flat)


def _choice(values: tuple[Any, ...], annotation: Any) -> Shape:
    if not values:
        raise _unsupported(annotation, "has no values")
    return Shape("choice", annotation, values=values)


def _union(parts: tuple[Shape, ...], annotation: Any) -> Shape:
    flat: list[Shape] = []
    for part in parts:
        flat.extend(inner for inner in (part.parts if part.kind == "union" else (part,)) if inner not in flat)
    return flat[0] if len(flat) == 1 else Shape("union", annotation, tuple(flat))


_BARE = {
    list: ("list", 1), dict: ("dict", 2), set: ("set", 1), frozenset: ("frozenset", 1), tuple: ("vartuple", 1)
}  # fmt: skip


def _read_class(cls: type, depth: int) -> Shape:
    if cls in _BARE:
        kind, count = _BARE[cls]
        # `list` says nothing about its items; integers are tried, and said to be assumed.
        arguments = (int, ...) if cls is tuple else (int,) * count
        return Shape(kind, types.GenericAlias(cls, arguments), (INT,) * count)
    if issubclass(cls, enum.Enum):
        return _choice(tuple(cls), cls)
    if typing.is_typeddict(cls):
        hints = typing.get_type_hints(cls)
        parts = tuple(read_shape(hint, depth + 1) for hint in hints.values())
        return Shape("typeddict", cls, parts, tuple(hints), optional=frozenset(cls.__optional_keys__))  # type: ignore[attr-defined]  # every TypedDict has it
    if cls.__module__ != USER_MODULE:
        raise _unsupported(cls, "is not a type this server can build values of")
    if inspect.isabstract(cls) or getattr(cls, "_is_protocol", False):
        raise _unsupported(cls, "is abstract")
    return _constructed(cls, depth)


USER_MODULE = "user_code"


def _constructed(cls: type, depth: int) -> Shape:
    """A user class is built by calling it: its values are those its constructor makes."""
    try:
        signature = inspect.signature(cls)
        hints = _constructor_hints(cls)
    except (ValueError, TypeError, NameError) as error:
        raise _unsupported(cls, f"has a constructor that cannot be read ({error})") from None
    names, parts = [], []
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        annotation = hints.get(parameter.name, parameter.annotation)
        if isinstance(annotation, dataclasses.InitVar):
            annotation = annotation.type
        shape = read_shape(annotation, depth + 1)
        if shape.kind == ANY:
            raise _unsupported(cls, f"takes {parameter.name!r}, which has no annotation")
        names.append(parameter.name)
        parts.append(shape)
    return Shape("class", cls, tuple(parts), tuple(names))


def _constructor_hints(cls: type) -> dict[str, Any]:
    maker = cls.__init__ if cls.__init__ is not object.__init__ else cls.__new__  # type: ignore[misc]  # read, not called
    if issubclass(cls, tuple) or dataclasses.is_dataclass(cls):
        return typing.get_type_hints(cls)
    return typing.get_type_hints(maker) if inspect.isfunction(maker) else {}


def _unsupported(annotation: Any, why: str = "is not supported") -> Refusal:
    return Refusal(
        "unsupported",
        f"The annotation {_name_of(annotation)} {why}",
        hint="use int, bool, float, str, bytes, list, dict, set, tuple, Optional, Union, Literal, "
        "dataclasses, Enum, NamedTuple, TypedDict, datetime, Decimal, Fraction, or a class with an annotated "
        "constructor",
    )


def doubt_inputs(shapes: list[Shape]) -> list[str]:
    """Where an annotation admits more values than were tried, so that no proof speaks of all of them."""
    inner = [shape for outer in shapes for shape in outer.walk()]
    return list(dict.fromkeys(doubt for shape in inner for doubt in _doubt_shape(shape)))


def _doubt_shape(shape: Shape) -> list[str]:
    found: list[str] = []
    cls = typing.get_origin(shape.python) or shape.python
    name = shape.describe()
    if shape.kind in {"float", "complex"}:
        found.append(f"a parameter annotated {name} may be given an int too")
    if shape.kind in _COLLECTIONS and cls is not _COLLECTIONS[shape.kind]:
        found.append(f"{_name_of(shape.python)} was tried as {shape.kind} only")
    if isinstance(cls, type) and shape.kind != "none":
        own = _own_subclasses(cls)
        if own:
            found.append(f"{name} has a subclass in the code ({own[0].__name__}), which was not tried")
    if shape.kind == "class" and _may_be_changed(shape.python):
        found.append(f"a {name} may be changed after its constructor has checked it")
    if shape.kind == "choice" and isinstance(cls, type):
        if issubclass(cls, enum.Flag):
            found.append(f"{name} is a flag, whose combinations are values too")
        if any("_missing_" in vars(base) for base in cls.__mro__ if base.__module__ == USER_MODULE):
            found.append(f"{name} makes members when it is asked for them")
    return found


_COLLECTIONS = {"list": list, "dict": dict, "set": set, "frozenset": frozenset, "vartuple": tuple}


def _own_subclasses(cls: type) -> list[type]:
    if cls is object:
        return []
    direct: list[type] = type.__subclasses__(cls)
    own = [sub for sub in direct if sub.__module__ == USER_MODULE and not issubclass(sub, enum.Enum)]
    return own or [
        deeper for sub in direct if sub.__module__ == USER_MODULE for deeper in _own_subclasses(sub)
    ]


def _may_be_changed(cls: type) -> bool:
    """A constructor of its own, or a check after it, and attributes that can be set later."""
    if issubclass(cls, tuple):
        return False
    if not dataclasses.is_dataclass(cls):
        return bool(inspect.signature(cls).parameters)
    is_frozen = cls.__dataclass_params__.frozen  # type: ignore[attr-defined]  # every dataclass has it
    own_init = "__init__" in vars(cls) and not cls.__dataclass_params__.init  # type: ignore[attr-defined]  # as above
    return not is_frozen and (own_init or hasattr(cls, "__post_init__"))


def _name_of(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation).replace("typing.", "")


_TOWER: dict[type, tuple[type, ...]] = {float: (float, int), complex: (complex, float, int)}


def conforms(value: Any, annotation: Any) -> bool:  # noqa: C901 - one row a form of annotation
    """An annotation that says nothing checkable (a type variable, a protocol) admits everything."""
    if annotation in (Any, inspect.Signature.empty, typing.NoReturn, typing.Never, object):
        return True
    if annotation is None or annotation is type(None):
        return value is None
    if isinstance(annotation, typing.NewType):
        return conforms(value, annotation.__supertype__)
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return any(conforms(value, part) for part in arguments)
    if origin is typing.Literal:
        return any(type(value) is type(choice) and value == choice for choice in arguments)
    if origin is typing.Annotated:
        return conforms(value, arguments[0])
    if isinstance(value, Drained):
        return _drained_conforms(value, origin or annotation, arguments)
    if origin is not None:
        return _generic_conforms(value, origin, arguments)
    if typing.is_typeddict(annotation):
        return isinstance(value, dict)
    if isinstance(annotation, type) and not getattr(annotation, "_is_protocol", False):
        return isinstance(value, _TOWER.get(annotation, annotation))
    return True


def _drained_conforms(value: Drained, origin: Any, arguments: tuple[Any, ...]) -> bool:
    if not (isinstance(origin, type) and issubclass(collections.abc.Generator, origin)):
        return False
    return not arguments or all(conforms(item, arguments[0]) for item in value.items)


def _generic_conforms(value: Any, origin: Any, arguments: tuple[Any, ...]) -> bool:
    if not isinstance(origin, type):
        return True
    if not isinstance(value, origin):
        return False
    if isinstance(value, tuple) and origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:  # noqa: PLR2004 - tuple[X, ...]
            return all(conforms(item, arguments[0]) for item in value)
        return len(value) == len(arguments) and all(map(conforms, value, arguments))
    if isinstance(value, dict):
        return all(conforms(k, arguments[0]) and conforms(v, arguments[1]) for k, v in value.items())
    if isinstance(value, list | tuple | set | frozenset) and len(arguments) == 1:
        return all(conforms(item, arguments[0]) for item in value)
    return True
