"""Contracts: what a function promises, read from its docstring, its asserts, icontract or deal."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import sys
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from .protocol import Refusal
from .tracing import trace_expression

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .source import Function


_CLAUSE = re.compile(r"^\s*:?([Pp]re|PRE|[Pp]ost|POST|raises|inv)(?:\[([\w\s,]*)\])?:(?!:)\s*(.*)$")
_RAISES_SECTION = re.compile(r"^\s*Raises:?\s*$")
_RAISES_ENTRY = re.compile(r"^\s+([A-Za-z_][\w.]*)\s*(?::|$)")
_RAISES_FIELD = re.compile(r"^\s*:raises?\s+([\w.,\s]+?)\s*:")
_RESULT_NAMES = ("_", "__return__")


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
    doubts: tuple[str, ...] = ()
    """Why nothing can be proved with it."""

    @property
    def is_implicit(self) -> bool:
        return self.style == "implicit"


def read_docstring(function: Callable[..., Any], node: Function, *, traced: bool = False) -> Contract | None:
    """PEP 316 clauses; a `raises` section in the usual docstring styles counts as a declaration too.

    `traced` clauses tell their operations to the ledger the function's module has.
    """
    text, first_line = _docstring(node)
    contract = Contract("pep316")
    namespace: dict[str, Any] = getattr(inspect.unwrap(function), "__globals__", {})
    names = [argument.arg for argument in _arguments(node)]
    for offset, line in enumerate(text.splitlines()):
        clause = _CLAUSE.match(line)
        if clause is None:
            continue
        word, _mutated, body = clause.groups()
        word = word.lower()
        number = first_line + offset
        if word == "raises":
            if not line.strip().startswith(":"):
                contract.raises += tuple(_exception(name, namespace, number) for name in _split(body))
        elif word == "inv":
            raise Refusal(
                "unsupported", f"A class invariant stands in the docstring of a function (line {number})"
            )
        else:
            condition = _compile(
                body,
                number,
                namespace,
                [*names, *(_RESULT_NAMES if word == "post" else ())],
                traced=traced,
            )
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


def _compile(
    text: str, line: int, namespace: Mapping[str, Any], names: Sequence[str], *, traced: bool
) -> Condition:
    try:
        tree = ast.parse(text.strip(), mode="eval")
        code = compile(tree, "<contract>", "eval", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        reason = getattr(error, "msg", str(error))
        raise Refusal(
            "parse_error",
            f"The contract in line {line} cannot be parsed: {reason}: {text.strip()!r}",
            hint="a clause is one Python expression on one line, such as `post: _ >= 0`",
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
                hint="use the parameters, `_` or `__return__` for the result, `__old__.x` for an argument "
                "before",
                line=line,
            )
    if traced:
        trace_expression(tree, line)
        code = compile(tree, "<contract>", "eval", dont_inherit=True)
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


def read_foreign(function: Callable[..., Any]) -> tuple[Contract, Callable[..., Any]] | None:
    """The contract and the bare function below its decorators, or nothing."""
    if hasattr(function, "__preconditions__") or hasattr(function, "__postconditions__"):
        return _read_icontract(function)
    if "deal" in sys.modules:
        return _read_deal(function)
    return None


def _read_icontract(function: Any) -> tuple[Contract, Callable[..., Any]]:
    contract = Contract("icontract")
    groups = getattr(function, "__preconditions__", [])
    if len(groups) > 1:
        raise Refusal("unsupported", "Preconditions weakened by inheritance are not supported")
    for group in groups:
        contract.pre.extend(_from_icontract(item) for item in group)
    contract.post.extend(_from_icontract(item) for item in getattr(function, "__postconditions__", []))
    snapshots = getattr(function, "__postcondition_snapshots__", [])
    if snapshots:
        contract.post = [_with_snapshots(condition, snapshots) for condition in contract.post]
    contract.needs_old = bool(snapshots)
    return contract, _unwrap(function)


def _from_icontract(item: Any) -> Condition:
    names = list(item.condition_args)

    def holds(scope: Mapping[str, Any]) -> Any:
        known = {**scope, "result": scope.get("_")}
        return item.condition(**{name: known[name] for name in names})

    return Condition(_describe(item), getattr(item.location, "lineno", 0) if item.location else 0, holds)


def _with_snapshots(condition: Condition, snapshots: list[Any]) -> Condition:
    def holds(scope: Mapping[str, Any]) -> Any:
        before = vars(scope["__old__"])
        taken = {item.name: item.capture(**{name: before[name] for name in item.args}) for item in snapshots}
        return condition.holds({**scope, "OLD": SimpleNamespace(**taken)})

    return Condition(condition.text, condition.line, holds)


def _describe(item: Any) -> str:
    if item.description:
        return str(item.description)
    code = item.condition.__code__
    return f"{code.co_name} in line {code.co_firstlineno}"


def _unwrap(function: Any) -> Any:
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def _read_deal(function: Any) -> tuple[Contract, Callable[..., Any]] | None:
    introspection = sys.modules["deal"].introspection
    found = list(introspection.get_contracts(function))
    if not found:
        return None
    contract = Contract(
        "deal", doubts=("deal judges with code of its own, whose operations are not watched",)
    )
    for item in found:
        if hasattr(item, "init"):
            item.init()
        if isinstance(item, introspection.Pre):
            contract.pre.append(_from_deal(item, with_result=False))
        elif isinstance(item, introspection.Ensure | introspection.Example):
            contract.post.append(_from_deal(item, with_result=True))
        elif isinstance(item, introspection.Post):
            contract.post.append(_from_deal_post(item))
        elif isinstance(item, introspection.Raises):
            contract.raises += tuple(item.exceptions)
        elif not isinstance(item, introspection.Has):
            raise Refusal("unsupported", f"The deal contract {type(item).__name__} is not supported")
    return contract, introspection.unwrap(function)


def _from_deal(item: Any, *, with_result: bool) -> Condition:
    error = sys.modules["deal"].ContractError

    def holds(scope: Mapping[str, Any]) -> bool:
        arguments = {name: value for name, value in scope.items() if not name.startswith("_")}
        if with_result:
            arguments["result"] = scope["_"]
        return _validates(lambda: item.validate(**arguments), error)

    return Condition(_deal_text(item), 0, holds)


def _from_deal_post(item: Any) -> Condition:
    error = sys.modules["deal"].ContractError
    return Condition(_deal_text(item), 0, lambda scope: _validates(lambda: item.validate(scope["_"]), error))


def _validates(check: Callable[[], object], error: type[BaseException]) -> bool:
    try:
        check()
    except error:
        return False
    return True


def _deal_text(item: Any) -> str:
    return str(getattr(item, "source", "") or type(item).__name__.lower())
