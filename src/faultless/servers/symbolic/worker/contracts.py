"""Contracts: what a function promises, read from its docstring, its asserts, icontract or deal."""

from __future__ import annotations

import ast
import builtins
import re
import types
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from faultless.servers.symbolic.worker.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from faultless.servers.symbolic.worker.source import Function

_CLAUSE = re.compile(r"^\s*:?(pre|post|raises|inv)(?:\[([\w\s,]*)\])?:(?!:)\s*(.*)$")
_RAISES_SECTION = re.compile(r"^\s*Raises:?\s*$")
_RAISES_ENTRY = re.compile(r"^\s+([A-Za-z_][\w.]*)\s*(?::|$)")
_RAISES_FIELD = re.compile(r"^\s*:raises?\s+([\w.,\s]+?)\s*:")
RESULT_NAMES = ("_", "__return__")


@dataclass(frozen=True)
class Condition:
    """`holds` gets the arguments by name, and for a postcondition also the result and the old arguments."""

    text: str
    line: int
    holds: Callable[[Mapping[str, Any]], Any]


@dataclass
class Contract:
    """`style` is pep316, asserts, icontract, deal, or implicit when the function promises nothing."""

    style: str = "implicit"
    pre: list[Condition] = field(default_factory=list)
    post: list[Condition] = field(default_factory=list)
    raises: tuple[type[BaseException], ...] = ()
    assert_lines: frozenset[int] = frozenset()
    needs_old: bool = False

    @property
    def is_implicit(self) -> bool:
        return self.style == "implicit"


def read_docstring(function: Callable[..., Any], node: Function) -> Contract | None:
    """PEP 316 clauses; a `raises` section in the usual docstring styles counts as a declaration too."""
    text, first_line = _docstring(node)
    contract = Contract("pep316")
    namespace = function.__globals__ if isinstance(function, types.FunctionType) else {}
    names = [argument.arg for argument in _arguments(node)]
    for offset, line in enumerate(text.splitlines()):
        clause = _CLAUSE.match(line)
        if clause is None:
            continue
        word, _mutated, body = clause.groups()
        number = first_line + offset
        if word == "raises":
            if not line.strip().startswith(":"):
                contract.raises += tuple(_exception(name, namespace, number) for name in _split(body))
        elif word == "inv":
            raise Refusal(
                "unsupported", f"A class invariant stands in the docstring of a function (line {number})"
            )
        else:
            condition = _compile(body, number, namespace, [*names, *(RESULT_NAMES if word == "post" else ())])
            (contract.pre if word == "pre" else contract.post).append(condition)
    contract.needs_old = any("__old__" in condition.text for condition in contract.post)
    contract.raises += declared_exceptions(text, namespace)
    return contract if contract.pre or contract.post else None


def clause_texts(node: Function | ast.ClassDef) -> list[tuple[str, int]]:
    """Each clause's expression with its line: code that stands in a docstring."""
    text, first_line = _docstring(node)
    matches = ((_CLAUSE.match(line), first_line + offset) for offset, line in enumerate(text.splitlines()))
    return [(match.group(3), line) for match, line in matches if match]


def _docstring(node: Function | ast.ClassDef) -> tuple[str, int]:
    first = node.body[0] if node.body else None
    if (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    ):
        return first.value.value, first.lineno
    return "", node.lineno


def _arguments(node: Function) -> list[ast.arg]:
    spec = node.args
    extra = [argument for argument in (spec.vararg, spec.kwarg) if argument]
    return [*spec.posonlyargs, *spec.args, *spec.kwonlyargs, *extra]


def _split(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]


def declared_exceptions(text: str, namespace: Mapping[str, Any]) -> tuple[type[BaseException], ...]:
    """Names under `Raises:` or `:raises X:`; prose that names no exception declares nothing."""
    found: list[str] = []
    inside = False
    for line in text.splitlines():
        field_match = _RAISES_FIELD.match(line)
        entry = _RAISES_ENTRY.match(line) if inside else None
        if field_match:
            found.extend(_split(field_match.group(1)))
        elif entry:
            found.append(entry.group(1))
        inside = bool(_RAISES_SECTION.match(line)) or (inside and (not line.strip() or line.startswith(" ")))
    classes = (_look_up(name, namespace) for name in found)
    return tuple(cls for cls in classes if isinstance(cls, type) and issubclass(cls, BaseException))


def _look_up(name: str, namespace: Mapping[str, Any]) -> Any:
    first, *rest = name.split(".")
    value = namespace.get(first, getattr(builtins, first, None))
    for part in rest:
        value = getattr(value, part, None)
    return value


def _exception(name: str, namespace: Mapping[str, Any], line: int) -> type[BaseException]:
    cls = _look_up(name, namespace)
    if not (isinstance(cls, type) and issubclass(cls, BaseException)):
        raise Refusal(
            "parse_error",
            f"The contract in line {line} cannot be read: {name!r} is not an exception",
            line=line,
        )
    return cls


def _compile(text: str, line: int, namespace: Mapping[str, Any], names: Sequence[str]) -> Condition:
    try:
        tree = ast.parse(text.strip(), mode="eval")
        code = compile(tree, "<contract>", "eval", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        reason = getattr(error, "msg", str(error))
        raise Refusal(
            "parse_error",
            f"The contract in line {line} cannot be parsed: {reason}: {text.strip()!r}",
            hint="A clause is one Python expression on one line, such as `post: _ >= 0`",
            line=line,
        ) from None
    known = {*names, "__old__", *namespace, *dir(builtins)}
    stored = {
        name.id
        for name in ast.walk(tree)
        if isinstance(name, ast.Name) and not isinstance(name.ctx, ast.Load)
    }
    stored |= {argument.arg for argument in ast.walk(tree) if isinstance(argument, ast.arg)}
    for name in ast.walk(tree):
        if isinstance(name, ast.Name) and name.id not in known | stored:
            raise Refusal(
                "parse_error",
                f"The contract in line {line} names {name.id!r}, which is neither a parameter nor defined",
                hint="Use the parameters, `_` or `__return__` for the result, `__old__.x` for an argument "
                "before",
                line=line,
            )
    # One scope, not globals and locals: a comprehension or lambda in the clause must see the parameters.
    return Condition(text.strip(), line, lambda scope: eval(code, {**namespace, **scope}))  # noqa: S307 - user code, in its sandbox


def read_asserts(node: Function) -> Contract | None:
    """Asserts at the top, with other statements after them, are preconditions; all others are claims."""
    body = node.body[1:] if _docstring(node)[0] else node.body
    every = frozenset(inner.lineno for inner in ast.walk(node) if isinstance(inner, ast.Assert))
    if not every:
        return None
    leading: list[int] = []
    for statement in body:
        if not isinstance(statement, ast.Assert):
            break
        leading.append(statement.lineno)
    if len(leading) == len(body):
        leading = []
    return Contract("asserts", assert_lines=frozenset(leading))
