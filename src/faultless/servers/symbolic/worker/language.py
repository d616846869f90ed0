"""Two languages inside Python, decided by reading the code.

*Sealed* code has no way to reach the machinery that judges it: no frames, no garbage collector, no module
behind a module, no attribute by a computed name. Code that is not sealed is refused, because it could forge
its own verdict.

*Provable* code is sealed and also keeps nothing between calls, depends on its arguments alone, and swallows
no exception the symbolic engine uses for itself. Only provable code can be called verified, unreachable or
equivalent.
"""

from __future__ import annotations

import ast
import builtins
import collections
import datetime as dt
import decimal
import dis
import fractions
import importlib
import re
import sys
import types
from dataclasses import dataclass, field
from functools import cache

from faultless.servers.symbolic.worker.branches import PREFIX
from faultless.servers.symbolic.worker.contracts import clause_texts
from faultless.servers.symbolic.worker.refusal import Refusal
from faultless.servers.symbolic.worker.source import ALLOWED_MODULES, Source
from faultless.servers.symbolic.worker.words import words

_SAFE_DUNDERS = words(
    """
    __name__ __doc__ __class__ __init__ __eq__ __lt__ __len__ __post_init__ __old__ __return__
    """
)
_REFLECTIVE = words(
    """
    gi_frame gi_code gi_yieldfrom cr_frame cr_code cr_await cr_origin ag_frame ag_code tb_frame tb_next
    tb_lasti f_back f_locals f_globals f_builtins f_code f_trace f_lasti co_code co_consts func_globals
    mro attrgetter methodcaller get_type_hints CodeType FunctionType LambdaType FrameType TracebackType
    ModuleType new_class get_referents get_referrers get_annotations ForwardRef evaluate_forward_ref
    make_dataclass
    """
)
_REFLECTIVE_NAMES = words(
    """
    globals locals vars dir setattr delattr memoryview help license credits copyright __builtins__
    __loader__ __spec__
    """
)
_ATTRIBUTE_CALLS = frozenset({"getattr", "hasattr"})
_PROVABLE_MODULES = words(
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
_CATCHABLE = words(
    """
    ArithmeticError AssertionError FloatingPointError IndexError KeyError LookupError OverflowError
    StopIteration UnicodeDecodeError UnicodeEncodeError UnicodeError ValueError ZeroDivisionError
    InvalidOperation
    """
)
_METHODS = words(
    """
    __init__ __post_init__ __new__ __repr__ __str__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __hash__
    __bool__ __len__ __getitem__ __setitem__ __contains__ __iter__ __next__ __add__ __sub__ __mul__
    __truediv__ __floordiv__ __mod__ __neg__ __abs__ __radd__ __rsub__ __rmul__ __call__ __or__ __and__
    __xor__ __int__ __float__
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
    language = Language()
    own = _own_exceptions(source.tree)
    enums = _own_enums(source.tree)
    for tree, offset in [(source.tree, 0), *_hidden_code(source.tree)]:
        for node in ast.walk(tree):
            line = getattr(node, "lineno", 1) + offset
            _require_sealed(node, line)
            _look_for_doubts(node, line, language, own | enums)
    _look_at_state(source.tree, language)
    return language


def _hidden_code(tree: ast.Module) -> list[tuple[ast.AST, int]]:
    """Code in strings that will be evaluated: contract clauses and annotations in quotes."""
    found: list[tuple[str, int]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.extend(clause_texts(node))
        notes = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        notes += getattr(node, "bases", []) + ([node.slice] if isinstance(node, ast.Subscript) else [])
        for note in notes:
            inner = ast.walk(note) if isinstance(note, ast.AST) else ()
            found.extend(
                (c.value, c.lineno) for c in inner if isinstance(c, ast.Constant) and isinstance(c.value, str)
            )
    parsed: list[tuple[ast.AST, int]] = []
    for text, line in found:
        try:
            parsed.append((ast.parse(text.strip(), mode="eval"), line - 1))
        except (SyntaxError, ValueError):
            continue
    return parsed


def _require_sealed(node: ast.AST, line: int) -> None:  # noqa: C901 - one row a kind of node
    if isinstance(node, ast.Attribute):
        _require_plain_attribute(node.attr, line)
    elif isinstance(node, ast.Name):
        if node.id.startswith(PREFIX) or (node.id in _REFLECTIVE_NAMES):
            raise _reflects(node.id, line)
        if _is_dunder(node.id) and node.id not in _SAFE_DUNDERS and not isinstance(node.ctx, ast.Store):
            raise _reflects(node.id, line)
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            _require_plain_attribute(alias.name, line)
    elif isinstance(node, ast.MatchClass):
        for name in node.kwd_attrs:
            _require_plain_attribute(name, line)
    elif isinstance(node, ast.Call):
        _require_plain_call(node, line)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        _require_plain_format(node.value, line)


def _require_plain_attribute(name: str, line: int) -> None:
    if _is_dunder(name) and name not in _SAFE_DUNDERS | _METHODS:
        raise _reflects(name, line)
    if (
        name in _REFLECTIVE
        or name in hidden_modules()
        or name in _REFLECTIVE_NAMES
        or name.startswith(PREFIX)
    ):
        raise _reflects(name, line)


def _require_plain_call(node: ast.Call, line: int) -> None:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name in _ATTRIBUTE_CALLS:
        key = node.args[1] if len(node.args) > 1 else None
        if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
            raise _reflects(f"{name} with a computed name", line)
        _require_plain_attribute(key.value, line)
    if name == "type" and len(node.args) > 1:
        raise _reflects("type with three arguments", line)


def _require_plain_format(text: str, line: int) -> None:
    """`"{0.__globals__}".format(f)` reads attributes too."""
    if "{" in text and "__" in text and any(part.split("}")[0].count("__") for part in text.split("{")[1:]):
        raise _reflects("a format string that reads attributes", line)


def _is_dunder(name: str) -> bool:
    return name.startswith("__")


def _reflects(what: str, line: int) -> Refusal:
    return Refusal(
        "permission_denied",
        f"Blocked reflection: {what} (line {line})",
        hint="Code that can inspect its interpreter could forge its own verdict; analyse it without "
        "reflection",
        line=line,
    )


@cache
def hidden_modules() -> frozenset[str]:
    """Names under which an allowed module holds a module that is not allowed, such as `random._os`."""
    names: set[str] = set()
    waiting = [_import(name) for name in sorted(ALLOWED_MODULES)]
    seen: set[str] = set()
    while waiting:
        module = waiting.pop()
        if module is None or module.__name__ in seen:
            continue
        seen.add(module.__name__)
        for name, value in list(vars(module).items()):
            if isinstance(value, types.ModuleType):
                if value.__name__.partition(".")[0] in ALLOWED_MODULES:
                    waiting.append(value)
                else:
                    names.add(name)
    return frozenset(names) - set(dir(str)) - set(dir(list)) - set(dir(dict))


def _import(name: str) -> types.ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _look_for_doubts(  # noqa: C901 - one row a kind of node
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
        case ast.FunctionDef(name=name) if _is_dunder(name) and name not in _METHODS:
            language.doubt(line, f"defines {name}")
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
    return frozenset(name for name in stored if not _is_dunder(name)) - real


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
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            _require_constant(statement.value, language, "has a module variable that can change")
        elif isinstance(statement, ast.AugAssign | ast.For | ast.While | ast.Delete):
            language.doubt(statement.lineno, "computes at the top of the module")


_CONSTANT_CALLS = words(
    """
    frozenset tuple Decimal Fraction NewType TypeVar compile field date datetime time timedelta
    namedtuple int float str bytes auto
    """
)


def _require_constant(node: ast.expr, language: Language, why: str) -> None:
    if not _is_constant(node):
        language.doubt(node.lineno, why)


def _is_constant(node: ast.expr) -> bool:
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
