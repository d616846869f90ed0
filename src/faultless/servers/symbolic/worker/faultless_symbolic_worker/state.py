"""What outlives a call: everything reachable from the module, read so that two readings can be compared."""

from __future__ import annotations

import enum
import types
from typing import Any

from .branches import PREFIX
from .shapes import USER_MODULE

_ATOMS = (int, float, complex, str, bytes, type(None), range, type(Ellipsis), type(NotImplemented))
_LIBRARY = (
    types.ModuleType,
    types.BuiltinFunctionType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
)
_WRAPPED = {staticmethod: "__func__", classmethod: "__func__", types.MethodType: "__func__"}


class State:
    """One reading. `kept` holds every object by id; `opaque` names the first one that cannot be read."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.kept: dict[int, object] = {}
        self.opaque = ""
        names = [name for name in namespace if not name.startswith(PREFIX) and name != "__builtins__"]
        self.text = [(name, self._read(namespace[name])) for name in names]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and self.text == other.text

    __hash__ = None  # type: ignore[assignment]  # a reading is compared, never a key

    def _read(self, value: Any) -> object:
        kind = type(value)
        if kind in _ATOMS or kind is bool:
            return (kind.__name__, repr(value) if kind in (float, complex) else value)
        if id(value) in self.kept:
            return id(value)
        self.kept[id(value)] = value
        parts = self._parts(value)
        return (id(value), [self._read(part) for part in parts])

    def _parts(self, value: Any) -> list[Any]:
        kind = type(value)
        if kind in (list, tuple, set, frozenset):
            return list(value)
        if kind is dict:
            return _flat(value)
        if kind in _WRAPPED:
            return [getattr(value, _WRAPPED[kind])]
        if isinstance(value, types.FunctionType):
            return self._parts_of_function(value)
        if isinstance(value, property):
            return [value.fget, value.fset, value.fdel]
        if isinstance(value, type):
            if value.__module__ != USER_MODULE:
                return []
            return [
                part for name, part in vars(value).items() if not name.startswith("__") or _is_method(part)
            ]
        if isinstance(value, _LIBRARY) or self._is_of_a_library(value):
            return []
        if isinstance(value, enum.Enum) or kind.__module__ == USER_MODULE:
            slots = [name for cls in kind.__mro__ for name in getattr(cls, "__slots__", ())]
            return [*_flat(getattr(value, "__dict__", {})), *(getattr(value, name, None) for name in slots)]
        self.opaque = self.opaque or f"{kind.__module__}.{kind.__qualname__}"
        return []

    def _parts_of_function(self, value: types.FunctionType) -> list[Any]:
        if value.__module__ != USER_MODULE and not value.__closure__:
            return []
        cells = []
        for cell in value.__closure__ or ():
            try:
                cells.append(cell.cell_contents)
            except ValueError:
                cells.append(None)
        return [value.__defaults__, value.__kwdefaults__, *_flat(vars(value)), *cells]

    def _is_of_a_library(self, value: object) -> bool:
        """Values of the standard library that cannot change."""
        module, name = type(value).__module__, type(value).__qualname__
        return (module, name) in _UNCHANGING or module.partition(".")[0] in {"typing", "icontract"}


def _flat(pairs: dict[Any, Any]) -> list[Any]:
    return [part for pair in pairs.items() for part in pair]


def _is_method(value: object) -> bool:
    return isinstance(value, types.FunctionType | staticmethod | classmethod | property)


_UNCHANGING = {
    *(("datetime", name) for name in ("date", "datetime", "time", "timedelta", "timezone")),
    *(("decimal", "Decimal"), ("fractions", "Fraction"), ("re", "Pattern"), ("types", "GenericAlias")),
    *(("types", "UnionType"), ("__future__", "_Feature"), ("dataclasses", "_DataclassParams")),
    *(("dataclasses", "Field"), ("dataclasses", "_FIELD_BASE"), ("types", "WrapperDescriptorType")),
    *(("builtins", "wrapper_descriptor"), ("builtins", "method_descriptor"), ("builtins", "mappingproxy")),
    *(("builtins", "getset_descriptor"), ("builtins", "member_descriptor"), ("builtins", "object")),
    *(
        ("_collections", "_tuplegetter"),
        ("collections", "_tuplegetter"),
        ("abc", "_abc_data"),
        ("_abc", "_abc_data"),
    ),
}
