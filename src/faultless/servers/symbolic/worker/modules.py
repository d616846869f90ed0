"""What user code gets when it imports: copies of modules with their public names and nothing behind them."""

from __future__ import annotations

import builtins
import importlib
import types
from typing import TYPE_CHECKING, Any

from faultless.servers.symbolic.worker.calls import BlockedError
from faultless.servers.symbolic.worker.source import ALLOWED_MODULES
from faultless.servers.symbolic.worker.words import words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_REMOVED = words(
    "eval exec compile open input breakpoint exit quit globals locals vars dir setattr delattr memoryview "
    "help"
)
_copies: dict[str, types.ModuleType] = {}


def make_builtins() -> dict[str, Any]:
    """The builtins of user code: no way to run text, to open files, or to set attributes by name."""
    kept = {name: value for name, value in vars(builtins).items() if name not in _REMOVED}
    return {**kept, "__import__": _import}


def _import(
    name: str,
    _globals: Mapping[str, Any] | None = None,
    _locals: Mapping[str, Any] | None = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> types.ModuleType:
    if level:
        raise ImportError("relative imports have no package here", name=name)
    module = importlib.import_module(name)
    top = name.partition(".")[0]
    if top not in ALLOWED_MODULES:
        # The operator has allowed it by name, and answers for it.
        return module if fromlist else importlib.import_module(top)
    return publish(module) if fromlist else _publish_path(name)


def _publish_path(name: str) -> types.ModuleType:
    """`import a.b` binds `a`, through which `b` must be reachable."""
    top, *rest = name.split(".")
    first = parent = publish(importlib.import_module(top))
    path = top
    for part in rest:
        path = f"{path}.{part}"
        child = publish(importlib.import_module(path))
        setattr(parent, part, child)
        parent = child
    return first


class _Published(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        """What the real module has and this one does not is refused, not missing: the code would work
        outside.
        """
        if not name.startswith("__") and hasattr(importlib.import_module(self.__name__), name):
            raise BlockedError(f"uses {self.__name__}.{name}")
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


def publish(module: types.ModuleType) -> types.ModuleType:
    """The same functions and classes in a module object that holds no other module."""
    known = _copies.get(module.__name__)
    if known is not None:
        return known
    copy = _Published(module.__name__, module.__doc__)
    for name, value in vars(module).items():
        if not name.startswith("_") and not isinstance(value, types.ModuleType):
            setattr(copy, name, value)
    _copies[module.__name__] = copy
    return copy
