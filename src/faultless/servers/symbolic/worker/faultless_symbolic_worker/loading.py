"""Running the user's module inside a sandboxed child: what it may import, and the function that is meant."""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import linecache
import sys
import types
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .branches import Branch, Recorder, instrument
from .calls import USER_FILE, BlockedError, describe_error, pass_engine_signals, raise_line
from .protocol import Refusal
from .shapes import USER_MODULE
from .source import ALLOWED_MODULES, Source, split_names
from .tracing import trace_module

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .operations import Ledger
    from .source import Function


_REMOVED = split_names(
    "eval exec compile open input breakpoint exit quit globals locals vars dir setattr delattr memoryview "
    "help"
)
_copies: dict[str, types.ModuleType] = {}


def _make_builtins() -> dict[str, Any]:
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


@dataclass
class Target:
    """One function of the user's code. `owner` is set for a method that needs an instance."""

    name: str
    function: Callable[..., Any]
    node: Function
    owner: type | None = None


class Loaded:
    """The user's module, run once: as it is, or with the named functions rewritten to record their
    branches, or with all of its code rewritten to tell its operations to a ledger.
    """

    def __init__(self, source: Source, *, record: tuple[str, ...] = (), ledger: Ledger | None = None) -> None:
        self.source = source
        self.lines = source.text.splitlines()
        tree = ast.parse(source.text) if record or ledger else source.tree
        self.recorder = Recorder()
        self.branches: list[Branch] = []
        module = types.ModuleType(USER_MODULE)
        self.namespace: dict[str, Any] = module.__dict__
        self.namespace["__builtins__"] = _make_builtins()
        if record:
            self._rewrite(tree, record)
        if ledger:
            self.namespace.update(ledger.hooks())
            trace_module(tree)
        linecache.cache[USER_FILE] = (
            len(source.text),
            None,
            source.text.splitlines(keepends=True),
            USER_FILE,
        )
        # dataclasses, typing and enum look their module up by name.
        sys.modules[USER_MODULE] = module
        self._execute(compile(tree, USER_FILE, "exec", dont_inherit=True))

    def _rewrite(self, tree: ast.Module, names: tuple[str, ...]) -> None:
        self.namespace.update(self.recorder.hooks())
        copied = Source(self.source.text, tree)
        for name in dict.fromkeys(names):
            instrument(copied.find_function(name), self.branches)

    def _execute(self, code: types.CodeType) -> None:
        try:
            exec(code, self.namespace)  # noqa: S102 - the one place user code starts, in a sandboxed child
        except ImportError as error:
            raise Refusal(
                "unavailable",
                f"A module will not load: {error} (line {raise_line(error)})",
                hint="only installed modules on the allow list can be imported",
                module=str(error.name or ""),
                line=raise_line(error),
            ) from None
        except BaseException as error:  # noqa: BLE001 - the top level of user code may raise anything
            pass_engine_signals(error)
            raise Refusal(
                "usage_error",
                f"The code fails while it is loaded: {describe_error(error)} (line {raise_line(error)})",
                hint="the module's top level must run without errors",
                line=raise_line(error),
            ) from None

    def find(self, name: str) -> Target:
        node = self.source.find_function(name)
        if isinstance(node, ast.AsyncFunctionDef):
            raise Refusal(
                "unsupported",
                f"{name} is async; async functions are not supported",
                hint="analyse its synchronous part",
            )
        owner: Any = None
        value: Any = None
        *owners, last = name.split(".")
        for part in owners:
            owner = getattr(owner, part, None) if owner else self.namespace.get(part)
        value = self.namespace.get(last) if owner is None else inspect.getattr_static(owner, last, None)
        function, needs_instance = _callable_from(value, owner, name)
        if needs_instance and _has_invariant(owner):
            raise Refusal("unsupported", f"{owner.__name__} has invariants (inv:), which are not supported")
        return Target(name, function, node, owner if needs_instance else None)


def _callable_from(value: Any, owner: Any, name: str) -> tuple[Callable[..., Any], bool]:
    if isinstance(value, staticmethod):
        return value.__func__, False
    if isinstance(value, classmethod):
        return value.__get__(None, owner), False
    if isinstance(value, property):
        if value.fget is None:
            raise Refusal("unsupported", f"{name} is a property without a getter")
        return value.fget, True
    if not callable(value):
        raise Refusal("unsupported", f"{name} is not callable once the code has run")
    return value, owner is not None


def _has_invariant(owner: type) -> bool:
    lines = (getattr(owner, "__doc__", None) or "").splitlines()
    return any(line.strip().startswith("inv:") for line in lines) or hasattr(owner, "__invariants__")
