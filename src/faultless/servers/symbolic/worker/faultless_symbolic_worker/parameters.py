"""The parameters of the function under analysis: their shapes, annotated, inferred from use, or assumed."""

from __future__ import annotations

import ast
import enum
import inspect
import types
import typing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .protocol import Refusal
from .shapes import ANY, INT, Shape, read_shape

if TYPE_CHECKING:
    from collections.abc import Callable

    from .source import Function

_STR = Shape("str", str)
_LIST = Shape("list", list[int], (INT,))
_DICT = Shape("dict", dict[str, int], (_STR, INT))
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_STR_METHODS = frozenset(name for name in dir(str) if name[0] != "_") - set(dir(list)) - set(dir(dict))
_LIST_METHODS = frozenset({"append", "extend", "insert", "sort", "reverse", "remove"})
_DICT_METHODS = frozenset({"items", "keys", "values", "get", "setdefault"})


@dataclass(frozen=True)
class Parameter:
    name: str
    shape: Shape
    kind: Any
    has_default: bool = False


class _Omitted(enum.Enum):
    """An enum, because its one member survives every kind of copying."""

    OMITTED = "left at its default"


OMITTED = _Omitted.OMITTED


@dataclass(frozen=True)
class Parameters:
    items: tuple[Parameter, ...]
    assumptions: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    """Why nothing can be proved about all inputs."""

    def bind(self, values: list[Any]) -> tuple[list[Any], dict[str, Any]]:
        """Arguments in calling order: positional ones first, keyword-only ones by name."""
        positional: list[Any] = []
        named: dict[str, Any] = {}
        for item, value in zip(self.items, values, strict=True):
            if value is OMITTED:
                continue
            if item.kind is inspect.Parameter.VAR_POSITIONAL:
                positional.extend(value)
            elif item.kind is inspect.Parameter.VAR_KEYWORD:
                named.update(value)
            elif item.kind is inspect.Parameter.KEYWORD_ONLY:
                named[item.name] = value
            else:
                positional.append(value)
        return positional, named

    def omittable(self) -> list[int]:
        """Positions that may be left at their default, in the order in which they may be: from the last
        back.
        """
        positional = [i for i, item in enumerate(self.items) if item.kind in _POSITIONAL]
        trailing: list[int] = []
        has_variadic = any(item.kind is inspect.Parameter.VAR_POSITIONAL for item in self.items)
        for index in reversed([] if has_variadic else positional):
            if not self.items[index].has_default:
                break
            trailing.append(index)
        return trailing

    def free(self) -> list[int]:
        """Positions that may be left at their default independently: keyword-only ones."""
        keyword_only = inspect.Parameter.KEYWORD_ONLY
        return [i for i, item in enumerate(self.items) if item.kind is keyword_only and item.has_default]


def read_parameters(function: Callable[..., Any], node: Function, owner: type | None = None) -> Parameters:
    try:
        hints = typing.get_type_hints(function)
    except NameError as error:
        raise Refusal(
            "not_found", f"An annotation of {node.name} names {error.name!r}, which the code does not define"
        ) from None
    except (TypeError, SyntaxError) as error:
        raise Refusal("unsupported", f"The annotations of {node.name} cannot be read: {error}") from None
    found: list[Parameter] = []
    assumptions: list[str] = []
    for position, parameter in enumerate(inspect.signature(function).parameters.values()):
        annotation = hints.get(parameter.name, parameter.annotation)
        if owner is not None and position == 0:
            annotation = owner
        shape, assumption = _read(parameter, annotation, node)
        if assumption:
            assumptions.append(assumption)
        found.append(
            Parameter(parameter.name, shape, parameter.kind, parameter.default is not parameter.empty)
        )
    return Parameters(tuple(found), tuple(assumptions))


def _read(parameter: inspect.Parameter, annotation: Any, node: Function) -> tuple[Shape, str | None]:
    shape = read_shape(annotation)
    assumption = None
    if annotation in (list, dict, set, frozenset, tuple):
        assumption = (
            f"parameter {parameter.name}: {annotation.__name__} of int, as nothing says what it holds"
        )
    if any(inner.kind == ANY for inner in shape.walk()):
        if shape.kind != ANY:
            raise Refusal("unsupported", f"The annotation of {parameter.name} holds Any: say which type")
        shape, reason = _infer(parameter, node)
        assumption = f"parameter {parameter.name} is taken as {shape.describe()} ({reason})"
    if parameter.kind is parameter.VAR_POSITIONAL:
        shape = Shape("vartuple", types.GenericAlias(tuple, (shape.python, ...)), (shape,))
    elif parameter.kind is parameter.VAR_KEYWORD:
        annotation = types.GenericAlias(dict, (str, shape.python))
        shape = Shape("dict", annotation, (Shape("identifier", str), shape))
    return shape, assumption


def _infer(parameter: inspect.Parameter, node: Function) -> tuple[Shape, str]:
    """The first use that settles a type, else int."""
    if parameter.default is not parameter.empty and parameter.default is not None:
        try:
            return read_shape(type(parameter.default)), "from its default"
        except Refusal:
            pass
    nullable = parameter.default is None
    for inner in ast.walk(node):
        shape = _shape_from_use(inner, parameter.name)
        if shape is not None:
            line = getattr(inner, "lineno", node.lineno)
            return _nullable(shape, nullable), f"from its use in line {line}"
        nullable = nullable or _compares_with_none(inner, parameter.name)
    return _nullable(INT, nullable), "assumed; it has no annotation"


def _nullable(shape: Shape, nullable: bool) -> Shape:
    if not nullable:
        return shape
    return Shape("union", shape.python | None, (shape, Shape("none", type(None))))


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _compares_with_none(node: ast.AST, name: str) -> bool:
    return (
        isinstance(node, ast.Compare)
        and _is_name(node.left, name)
        and isinstance(node.comparators[0], ast.Constant)
        and node.comparators[0].value is None
    )


def _shape_from_use(node: ast.AST, name: str) -> Shape | None:
    if isinstance(node, ast.BinOp):
        return _shape_from_operator(node, name)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _shape_from_comparison(node, name)
    if isinstance(node, ast.Call):
        return _shape_from_call(node, name)
    if isinstance(node, ast.For | ast.comprehension) and _is_name(node.iter, name):
        return _LIST
    if isinstance(node, ast.Subscript) and _is_name(node.value, name):
        key = node.slice
        return _DICT if isinstance(key, ast.Constant) and isinstance(key.value, str) else _LIST
    return None


def _shape_from_operator(node: ast.BinOp, name: str) -> Shape | None:
    if not (_is_name(node.left, name) or _is_name(node.right, name)):
        return None
    other = node.right if _is_name(node.left, name) else node.left
    if isinstance(other, ast.Constant) and isinstance(other.value, int | float | str):
        if isinstance(other.value, str) and isinstance(node.op, ast.Mult):
            return INT
        return read_shape(type(other.value))
    return INT if not isinstance(node.op, ast.Add) else None


def _shape_from_comparison(node: ast.Compare, name: str) -> Shape | None:
    other = node.comparators[0]
    if isinstance(node.ops[0], ast.In | ast.NotIn):
        return _LIST if _is_name(other, name) and not isinstance(node.left, ast.Constant) else None
    if not _is_name(node.left, name):
        node_left, other = other, node.left
        if not _is_name(node_left, name):
            return None
    if isinstance(other, ast.UnaryOp):
        other = other.operand
    if isinstance(other, ast.Constant) and isinstance(other.value, int | float | str | bytes):
        return read_shape(type(other.value))
    return None


def _shape_from_call(node: ast.Call, name: str) -> Shape | None:
    if isinstance(node.func, ast.Attribute) and _is_name(node.func.value, name):
        for names, shape in ((_STR_METHODS, _STR), (_DICT_METHODS, _DICT), (_LIST_METHODS, _LIST)):
            if node.func.attr in names:
                return shape
    if isinstance(node.func, ast.Name) and node.args and _is_name(node.args[0], name):
        if node.func.id in {"range", "abs", "chr", "bin", "hex", "divmod", "pow"}:
            return INT
        if node.func.id in {
            "len",
            "sum",
            "sorted",
            "enumerate",
            "max",
            "min",
            "list",
            "reversed",
            "all",
            "any",
        }:
            return _LIST
        if node.func.id == "ord":
            return _STR
    return None


def join(first: Parameters, second: Parameters) -> tuple[Parameters, list[str]]:
    """One set of inputs for two functions, matched by position, keyword-only ones by name.

    What only one side takes must have a default, and is left out; that is said.
    """
    notes: list[str] = []
    doubts: list[str] = []
    shared: list[Parameter] = []
    left_over: list[Parameter] = []
    rest = list(second.items)
    for item in first.items:
        partner = next((other for other in rest if _pairs(item, other)), None)
        if partner is None:
            left_over.append(item)
        else:
            rest.remove(partner)
            shared.append(_meet(item, partner, notes, doubts))
    notes.extend(_leave_out(item) for item in [*left_over, *rest])
    assumptions = tuple(dict.fromkeys([*first.assumptions, *second.assumptions]))
    return Parameters(tuple(shared), assumptions, tuple(doubts)), notes


def _pairs(item: Parameter, other: Parameter) -> bool:
    if item.kind is inspect.Parameter.KEYWORD_ONLY:
        return other.kind is item.kind and other.name == item.name
    if item.kind in _POSITIONAL:
        return other.kind in _POSITIONAL
    return other.kind is item.kind


def _leave_out(item: Parameter) -> str:
    variadic = item.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    if not (item.has_default or variadic):
        raise Refusal(
            "invalid_params",
            f"The functions cannot be called alike: only one takes {item.name!r}, and it has no default",
            hint="compare functions with the same parameters, or give the extra one a default",
        )
    return f"{item.name} exists on one side only and is left at its default"


_NARROWER = {("bool", "int"), ("bool", "float"), ("int", "float")}


def _admits(wide: Shape, narrow: Shape) -> bool:
    return (narrow.kind, wide.kind) in _NARROWER or narrow in wide.parts


def _meet(item: Parameter, partner: Parameter, notes: list[str], doubts: list[str]) -> Parameter:
    """The inputs both annotations admit, where that is clear; else those of the first function, and no
    proof.
    """
    chosen = item.shape
    if item.shape.describe() != partner.shape.describe():
        if _admits(item.shape, partner.shape):
            chosen = partner.shape
        elif not _admits(partner.shape, item.shape):
            theirs = partner.shape.describe()
            doubts.append(f"{item.name} is {chosen.describe()} on one side and {theirs} on the other")
        notes.append(
            f"{item.name} is tried as {chosen.describe()} on both sides, though the annotations differ"
        )
    return replace(item, shape=chosen, has_default=item.has_default and partner.has_default)
