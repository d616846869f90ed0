"""The provable language: code about which a symbolic engine's claim can be a proof.

Provable code is sealed and also keeps nothing between calls, depends on its arguments alone, and swallows
no exception the engine uses for itself. Only provable code can be called verified, unreachable or equivalent.
"""

from __future__ import annotations

import ast
import builtins
import collections
import datetime as dt
import decimal
import dis
import fractions
import re
import sys
from dataclasses import dataclass, field
from functools import cache

from .sealed import hidden_code, is_dunder, require_sealed
from .source import Source, split_names

_PROVABLE_MODULES = split_names(
    """
    __future__ abc annotated_types bisect collections dataclasses datetime deal decimal enum fractions
    functools heapq icontract itertools math numbers operator re string typing typing_extensions
    """
)
_UNPROVABLE_NAMES = {
    "id": "depends on where objects lie in memory",
    "type": "asks for exact types, which symbolic values only imitate",
    "callable": "asks about kinds of values, which symbolic values only imitate",
    "hash": "depends on the hash seed",
    "print": "writes output",
    "object": "compares by identity",
    "super": "reaches through the class",
    "getattr": "reads attributes by name",
    "hasattr": "reads attributes by name",
    "lru_cache": "keeps results between calls",
    "cache": "keeps results between calls",
    "cached_property": "keeps results between calls",
    "singledispatch": "keeps state between calls",
}
_UNPROVABLE_METHODS = split_names("__enter__ __exit__ __getattr__ __format__ __index__ __new__")
_CATCHABLE = split_names(
    """
    ArithmeticError AssertionError FloatingPointError IndexError KeyError LookupError OverflowError
    StopIteration UnicodeDecodeError UnicodeEncodeError UnicodeError ValueError ZeroDivisionError
    InvalidOperation
    """
)


@dataclass
class Language:
    """What was found, with lines; empty `doubts` means provable."""

    doubts: list[str] = field(default_factory=list)

    def doubt(self, line: int, why: str) -> None:
        text = f"line {line} {why}"
        if text not in self.doubts:
            self.doubts.append(text)


def read_language(source: Source) -> Language:
    """Raises a refusal where the code is not sealed."""
    require_sealed(source.tree)
    language = Language()
    own = _own_exceptions(source.tree) | _own_enums(source.tree)
    guards = _main_guards(source.tree)
    for tree, offset in [(source.tree, 0), *hidden_code(source.tree)]:
        for node in ast.walk(tree):
            if id(node) not in guards:
                _look_for_doubts(node, getattr(node, "lineno", 1) + offset, language, own)
    _look_at_state(source.tree, language)
    return language


def _main_guards(tree: ast.Module) -> set[int]:
    """`if __name__ == "__main__"`: the code is loaded as a module, as it is by all who call a function."""
    tests = [node.test for node in tree.body if isinstance(node, ast.If)]
    return {id(inner) for test in tests for inner in ast.walk(test) if getattr(inner, "id", "") == "__name__"}


def _look_for_doubts(  # noqa: C901, PLR0912 - one row a kind of node
    node: ast.AST, line: int, language: Language, own: frozenset[str]
) -> None:
    match node:
        case ast.Import() | ast.ImportFrom():
            names = (
                [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            )
            for name in names:
                if name.partition(".")[0] not in _PROVABLE_MODULES:
                    language.doubt(line, f"imports {name}, whose functions are not known to be pure")
        case ast.ExceptHandler():
            _look_at_handler(node, line, language, own)
        case ast.Try() if any(
            isinstance(inner, ast.Return | ast.Break | ast.Continue)
            for part in node.finalbody
            for inner in ast.walk(part)
        ):
            language.doubt(line, "leaves a finally block early")
        case ast.Try() if any(isinstance(inner, ast.Yield | ast.YieldFrom) for inner in ast.walk(node)):
            language.doubt(line, "yields inside try, where closing the generator early may do something else")
        case ast.Name(id=name, ctx=ast.Load()) if is_dunder(name) and name not in {"__old__", "__return__"}:
            language.doubt(line, f"reads {name}, which depends on how the code is run")
        case (
            ast.With()
            | ast.AsyncWith()
            | ast.Await()
            | ast.AsyncFor()
            | ast.Global()
            | ast.Nonlocal()
            | ast.Delete()
        ):
            language.doubt(line, f"uses {type(node).__name__.lower()}")
        case ast.TryStar():
            language.doubt(line, "uses except*")
        case ast.Name(id=name) if name in _UNPROVABLE_NAMES:
            language.doubt(line, _UNPROVABLE_NAMES[name])
        case ast.Attribute(attr=name):
            _look_at_attribute(name, line, language)
        case ast.FunctionDef(name=name) if name in _UNPROVABLE_METHODS:
            language.doubt(line, f"defines {name}")
        case ast.Call(func=ast.Attribute(attr="format", value=receiver)) if not isinstance(
            receiver, ast.Constant
        ):
            language.doubt(line, "formats with a computed text")
        case ast.Call(func=ast.Name(id="len"), args=[ast.Call(func=ast.Name(id="range"))]):
            language.doubt(line, "asks for the length of a range, which may overflow")
        case ast.Compare() if any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops):
            _look_at_identity(node, line, language, own)


def _look_at_identity(node: ast.Compare, line: int, language: Language, own: frozenset[str]) -> None:
    """None, True, False and members of the code's own enums exist once, so their identity is their value."""
    for side in [node.left, *node.comparators]:
        if isinstance(side, ast.Constant) and side.value in (None, True, False):
            return
        if isinstance(side, ast.Attribute) and isinstance(side.value, ast.Name) and side.value.id in own:
            return
    language.doubt(line, "compares identities")


def _look_at_handler(node: ast.ExceptHandler, line: int, language: Language, own: frozenset[str]) -> None:
    kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    for kind in kinds:
        name = kind.attr if isinstance(kind, ast.Attribute) else getattr(kind, "id", "")
        if name not in _CATCHABLE | own:
            language.doubt(line, f"catches {name or 'everything'}, which the engine may raise for itself")


def _look_at_attribute(name: str, line: int, language: Language) -> None:
    if name in _UNPROVABLE_NAMES and name not in {"type", "print", "id"}:
        language.doubt(line, _UNPROVABLE_NAMES[name])
    if name in {
        "now",
        "today",
        "utcnow",
        "getcontext",
        "localcontext",
        "setcontext",
        "cache_info",
        "cache_clear",
        "format_map",
    }:
        language.doubt(line, f"uses {name}, which depends on more than the arguments")
    if name in engine_attributes():
        language.doubt(line, f"uses the attribute {name}, which symbolic values have for themselves")


@cache
def engine_attributes() -> frozenset[str]:
    """Attributes CrossHair's stand-ins have and the real values do not; by them code could tell the two
    apart.
    """
    stored: set[str] = set()
    for module in [module for name, module in sys.modules.items() if name.startswith("crosshair.libimpl.")]:
        for value in vars(module).values():
            if isinstance(value, type) and value.__module__ == module.__name__:
                stored.update(dir(value))
                stored.update(name for member in vars(value).values() for name in _stored_attributes(member))
    kinds = [*vars(builtins).values(), *_REAL_TYPES]
    real = {name for kind in kinds if isinstance(kind, type) for name in dir(kind)}
    return frozenset(name for name in stored if not is_dunder(name)) - real


_REAL_TYPES = (
    *(dt.datetime, dt.time, dt.timedelta, decimal.Decimal, fractions.Fraction, re.Match, re.Pattern),
    *(collections.deque, collections.OrderedDict, collections.Counter),
)


def _stored_attributes(member: object) -> list[str]:
    code = getattr(member, "__code__", None)
    return [step.argval for step in dis.get_instructions(code) if step.opname == "STORE_ATTR"] if code else []


def _own_exceptions(tree: ast.Module) -> frozenset[str]:
    """Classes the code derives from an exception that is safe to catch, or from plain Exception."""
    known = set(_CATCHABLE) | {"Exception"}
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and any(
            isinstance(base, ast.Name) and base.id in known for base in node.bases
        ):
            known.add(node.name)
            found.add(node.name)
    return frozenset(found)


def _own_enums(tree: ast.Module) -> frozenset[str]:
    return frozenset(
        node.name
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        and any(
            (getattr(base, "attr", "") or getattr(base, "id", "")).endswith("Enum") for base in node.bases
        )
    )


def _look_at_state(tree: ast.Module, language: Language) -> None:
    """Module variables, class variables and defaults must be constants: nothing may survive a call."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
                _require_constant(default, language, "has a default that can change")
        elif isinstance(node, ast.ClassDef):
            for item in node.body:
                if isinstance(item, ast.Assign | ast.AnnAssign) and item.value is not None:
                    _require_constant(item.value, language, "has a class variable that can change")
    _look_at_top(tree.body, language)


def _look_at_top(body: list[ast.stmt], language: Language) -> None:
    for statement in body:
        match statement:
            case ast.Assign(value=ast.expr() as value) | ast.AnnAssign(value=ast.expr() as value):
                _require_constant(value, language, "has a module variable that can change")
            case ast.If():
                _require_constant(statement.test, language, "decides something at the top of the module")
                _look_at_top([*statement.body, *statement.orelse], language)
            case ast.Try():
                handled = [inner for handler in statement.handlers for inner in handler.body]
                parts = [*statement.body, *handled, *statement.orelse, *statement.finalbody]
                _look_at_top(parts, language)
            case (
                ast.FunctionDef()
                | ast.ClassDef()
                | ast.Import()
                | ast.ImportFrom()
                | ast.AnnAssign()
                | ast.Pass()
                | ast.Expr(value=ast.Constant())
            ):
                pass
            case _:
                language.doubt(statement.lineno, "computes at the top of the module")


_CONSTANT_CALLS = split_names(
    """
    frozenset tuple Decimal Fraction NewType TypeVar compile field date datetime time timedelta
    namedtuple int float str bytes auto
    """
)


def _require_constant(node: ast.expr, language: Language, why: str) -> None:
    if not _is_constant(node):
        language.doubt(node.lineno, why)


def _is_constant(node: ast.expr) -> bool:
    if isinstance(node, ast.Compare):
        return all(map(_is_constant, [node.left, *node.comparators]))
    if isinstance(node, ast.Constant | ast.Name | ast.Attribute | ast.Lambda | ast.Subscript):
        # A name stands for a class, a function or another constant; a subscript for a type such as list[int].
        return True
    if isinstance(node, ast.UnaryOp):
        return _is_constant(node.operand)
    if isinstance(node, ast.BinOp):
        return _is_constant(node.left) and _is_constant(node.right)
    if isinstance(node, ast.Tuple):
        return all(_is_constant(item) for item in node.elts)
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        return name in _CONSTANT_CALLS and all(
            isinstance(a, ast.List | ast.Set) or _is_constant(a) for a in arguments
        )
    return False
