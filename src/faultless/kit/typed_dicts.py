"""`typing.TypedDict` for pydantic, which before Python 3.12 takes only that of typing_extensions."""

from __future__ import annotations

import sys
import types
from typing import (
    Annotated,
    Any,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import typing_extensions

_IS_NEEDED = sys.version_info < (3, 12)
_PRESENCE = {Required, NotRequired}


def adapt(hint: Any, seen: frozenset[Any] = frozenset()) -> Any:  # noqa: ANN401 - types
    """The same hint, at every depth with typed dictionaries that pydantic takes."""
    if not _IS_NEEDED:
        return hint
    if is_typeddict(hint) and type(hint).__module__ == "typing" and hint not in seen:
        return _rebuild(hint, seen | {hint})
    inner = get_args(hint)
    adapted = tuple(adapt(part, seen) for part in inner)
    if adapted == inner:
        return hint
    if get_origin(hint) in {Union, types.UnionType}:
        return Union[adapted]  # noqa: UP007 - made of what is known only now
    if hasattr(hint, "__metadata__"):
        return Annotated[(adapted[0], *hint.__metadata__)]
    return get_origin(hint)[adapted]


def _rebuild(hint: Any, seen: frozenset[Any]) -> Any:  # noqa: ANN401 - types
    fields = {}
    for name, field in get_type_hints(hint, include_extras=True).items():
        presence = get_origin(field)
        is_said = presence in _PRESENCE
        is_required = presence is Required if is_said else name in hint.__required_keys__
        kind = adapt(get_args(field)[0] if is_said else field, seen)
        fields[name] = Required[kind] if is_required else NotRequired[kind]
    make: Any = typing_extensions.TypedDict  # by call, since its name and fields are known only now
    rebuilt = make(hint.__name__, fields)
    rebuilt.__doc__ = hint.__doc__
    return rebuilt
