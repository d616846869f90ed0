"""Whether a value is of an annotated type, for the implicit contract."""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from typing import Any

from faultless.servers.symbolic.worker.calls import Drained

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
