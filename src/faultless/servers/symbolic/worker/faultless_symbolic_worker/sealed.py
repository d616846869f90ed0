"""The sealed language: code that has no way to reach the machinery that judges it.

No frames, no garbage collector, no module behind a module, no attribute by a computed name, no class made at
run time. Code that is not sealed is refused, because it could forge its own verdict. The rules hold together:
each closes a way round another (a positional class pattern reads the attributes named in `__match_args__`, so
that name may not be set; a class made by calling `type` could set it, so `type` may only be compared).
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import string
import types
from functools import cache

from .branches import PREFIX
from .contracts import clause_texts
from .protocol import Refusal
from .source import ALLOWED_MODULES, BLOCKED_CALLS, split_names

_READABLE_DUNDERS = split_names(
    """
    __name__ __qualname__ __doc__ __init__ __post_init__ __eq__ __lt__ __len__ __old__ __return__ __version__
    __debug__ __repr__ __str__ __hash__ __iter__ __next__ __contains__ __getitem__ __add__ __enter__ __exit__
    """
)
_ASSIGNABLE_DUNDERS = split_names("__slots__ __hash__ __all__ __version__ __author__ __doc__ __test__")
_METHODS = split_names(
    """
    __init__ __post_init__ __new__ __repr__ __str__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __hash__
    __bool__ __len__ __getitem__ __setitem__ __delitem__ __contains__ __iter__ __next__ __reversed__ __call__
    __add__ __sub__ __mul__ __truediv__ __floordiv__ __mod__ __pow__ __neg__ __pos__ __abs__ __invert__
    __radd__ __rsub__ __rmul__ __rtruediv__ __iadd__ __isub__ __imul__ __or__ __and__ __xor__ __lshift__
    __rshift__ __int__ __float__ __index__ __format__ __enter__ __exit__ __getattr__ __round__ __divmod__
    """
)
_REFLECTIVE = split_names(
    """
    gi_frame gi_code gi_yieldfrom cr_frame cr_code cr_await cr_origin ag_frame ag_code tb_frame tb_next
    tb_lasti f_back f_locals f_globals f_builtins f_code f_trace f_lasti co_code co_consts func_globals
    mro attrgetter methodcaller get_type_hints CodeType FunctionType LambdaType FrameType TracebackType
    ModuleType new_class prepare_class get_annotations ForwardRef evaluate_forward_ref make_dataclass
    update_wrapper WRAPPER_ASSIGNMENTS Formatter get_field ABCMeta EnumMeta EnumType NamedTupleMeta
    """
)
_FORMATTING = split_names("format format_map vformat")
_REFLECTIVE_NAMES = BLOCKED_CALLS | split_names(
    """
    globals locals vars dir setattr delattr memoryview help license credits copyright __builtins__
    __loader__ __spec__
    """
)
# Harmless where `_allowed_uses` finds them, a way round the rules anywhere else.
_ONLY_IN_PLACE = split_names("type getattr hasattr wraps ABCMeta")
_PLAIN_CLASSES = split_names(
    "int bool float str bytes list dict set frozenset tuple complex bytearray object"
)


def require_sealed(tree: ast.Module) -> None:
    classes = _single_classes(tree)
    for part, offset in [(tree, 0), *hidden_code(tree)]:
        allowed = _allowed_uses(part)
        for node in ast.walk(part):
            _look(node, getattr(node, "lineno", 1) + offset, allowed, classes)


def hidden_code(tree: ast.Module) -> list[tuple[ast.AST, int]]:
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


def _allowed_uses(tree: ast.AST) -> set[int]:  # noqa: C901 - one row a use
    """Nodes that may stand where they stand, though their name alone would be refused."""
    allowed: set[int] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="getattr" | "hasattr"), args=[_, ast.Constant(value=str()), *_]):
                allowed.add(id(node.func))
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, kinds]):
                allowed.update(id(inner) for inner in ast.walk(kinds) if _is_type_name(inner))
            case ast.Compare():
                for side in [node.left, *node.comparators]:
                    allowed.update(_type_question(side))
            case ast.Attribute(attr="__name__" | "__qualname__", value=value):
                allowed.update(_type_question(value))
            case ast.FormattedValue(value=value):
                allowed.update(_type_question(value))
            case ast.ClassDef(keywords=keywords):
                allowed.update(id(keyword.value) for keyword in keywords if keyword.arg == "metaclass")
            case ast.arg(annotation=ast.expr() as note) | ast.AnnAssign(annotation=note):
                allowed.update(id(inner) for inner in ast.walk(note) if _is_type_name(inner))
            case ast.Call(func=ast.Attribute(attr="format", value=ast.Constant(value=str() as text))):
                if _has_plain_fields(text):
                    allowed.add(id(node.func))
            case ast.Call(func=ast.Name(id="wraps") | ast.Attribute(attr="wraps"), args=[_], keywords=[]):
                allowed.add(id(node.func))
    return allowed


def _is_type_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "type"


def _type_question(node: ast.expr) -> set[int]:
    """`type(x)` and `x.__class__`, and the names in them."""
    if isinstance(node, ast.Call) and _is_type_name(node.func) and len(node.args) == 1 and not node.keywords:
        return {id(node.func)}
    if isinstance(node, ast.Attribute) and node.attr == "__class__":
        return {id(node)}
    return {id(node)} if _is_type_name(node) else set()


def _look(node: ast.AST, line: int, allowed: set[int], classes: frozenset[str]) -> None:  # noqa: C901 - one row a kind of node
    if id(node) in allowed:
        return
    match node:
        case ast.Attribute(attr=name):
            _require_plain_attribute(name, line)
        case ast.Name(id=name):
            _require_plain_name(node, name, line)
        case ast.ImportFrom():
            for alias in node.names:
                if alias.name not in {"wraps", "ABCMeta"}:
                    _require_plain_attribute(alias.name, line)
                elif alias.asname:
                    raise _reflects(f"{alias.name} by another name", line)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if is_dunder(name):
            if name not in _METHODS:
                raise _reflects(f"defining {name}", line)
        case ast.MatchClass():
            _require_plain_pattern(node, line, classes)
        case ast.Call(
            func=ast.Name(id="getattr" | "hasattr"), args=[_, ast.Constant(value=str() as name), *_]
        ):
            _require_plain_attribute(name, line)
        case ast.Constant(value=str() as text):
            _require_plain_format(text, line)


def _require_plain_attribute(name: str, line: int) -> None:
    if is_dunder(name) and name not in _READABLE_DUNDERS:
        raise _reflects(name, line)
    if name in _FORMATTING:
        # A format string that is made at run time reads any attribute of what it is given.
        raise _reflects(f"{name} on anything but a literal with plain fields", line)
    if name in _REFLECTIVE | hidden_modules() or name.startswith(PREFIX) or name == "wraps":
        raise _reflects(name, line)


def _has_plain_fields(text: str) -> bool:
    """No field of the format string, nor of a format inside it, looks into its argument."""
    try:
        fields = [(name, inner) for _, name, inner, _ in string.Formatter().parse(text) if name is not None]
    except ValueError:
        return False
    return all(not set(".[") & set(name) and _has_plain_fields(inner or "") for name, inner in fields)


def _require_plain_name(node: ast.Name, name: str, line: int) -> None:
    if name.startswith(PREFIX) or name in _REFLECTIVE_NAMES | _ONLY_IN_PLACE:
        raise _reflects(name, line)
    known = _READABLE_DUNDERS if isinstance(node.ctx, ast.Load) else _ASSIGNABLE_DUNDERS
    if is_dunder(name) and name not in known:
        raise _reflects(name, line)


def _require_plain_pattern(node: ast.MatchClass, line: int, classes: frozenset[str]) -> None:
    for name in node.kwd_attrs:
        _require_plain_attribute(name, line)
    if node.patterns and not (isinstance(node.cls, ast.Name) and node.cls.id in _PLAIN_CLASSES | classes):
        raise _reflects("a positional pattern of a class that is not plainly the code's own", line)


def _require_plain_format(text: str, line: int) -> None:
    """`"{0.__globals__}".format(f)` reads attributes too."""
    if any("__" in part.split("}")[0] for part in text.split("{")[1:]):
        raise _reflects("a format string that reads attributes", line)


def _single_classes(tree: ast.Module) -> frozenset[str]:
    """Classes of the code whose name is bound once: what the name means is what stands there."""
    bound: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            bound.append(node.name)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound.append(node.id)
        elif isinstance(node, ast.arg):
            bound.append(node.arg)
        elif isinstance(node, ast.alias):
            bound.append(node.asname or node.name)
    return frozenset(
        node.name for node in tree.body if isinstance(node, ast.ClassDef) and bound.count(node.name) == 1
    )


def is_dunder(name: str) -> bool:
    return name.startswith("__")


@cache
def hidden_modules() -> frozenset[str]:
    """Names under which an allowed module holds one that is not allowed, such as `random._os`.

    User code gets copies without them; asking for one is refused here with its line.
    """
    names: set[str] = set()
    for name in sorted(ALLOWED_MODULES):
        with contextlib.suppress(ImportError):
            held = vars(importlib.import_module(name)).items()
            names.update(
                key for key, value in held if isinstance(value, types.ModuleType) and not _is_allowed(value)
            )
    return frozenset(names) - set(dir(str)) - set(dir(list)) - set(dir(dict))


def _is_allowed(module: types.ModuleType) -> bool:
    return module.__name__.partition(".")[0] in ALLOWED_MODULES


def _reflects(what: str, line: int) -> Refusal:
    return Refusal(
        "permission_denied",
        f"Blocked reflection: {what} (line {line})",
        hint="code that can inspect its interpreter could forge its own verdict; analyse it without "
        "reflection",
        line=line,
    )
