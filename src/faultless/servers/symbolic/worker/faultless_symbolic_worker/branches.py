"""The branches of one function: which there are, which sides a run takes, which lines no run can reach."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .source import Function


PREFIX = "_faultless_"
_TRACE_LIMIT = 400


@dataclass(frozen=True)
class Branch:
    line: int
    column: int
    kind: str
    condition: str
    constant: bool | None = None


@dataclass
class Recorder:
    """Which sides were taken (`taken`) and in which order (`trace`, bounded); reset before each run."""

    taken: set[tuple[int, bool]] = field(default_factory=set)
    trace: list[tuple[int, bool]] = field(default_factory=list)
    _tries: list[set[int]] = field(default_factory=list)

    def reset(self) -> None:
        self.taken.clear()
        self.trace.clear()
        self._tries.clear()

    def note(self, branch: int, side: bool) -> None:
        self.taken.add((branch, side))
        if len(self.trace) < _TRACE_LIMIT:
            self.trace.append((branch, side))

    def test(self, branch: int, value: object) -> bool:
        """A test whose truth alone matters."""
        side = bool(value)
        self.note(branch, side)
        return side

    def operand(self, branch: int, value: Any) -> Any:
        """An operand of `and` or `or`, whose value matters too."""
        self.note(branch, bool(value))
        return value

    def loop(self, branch: int, items: Iterable[Any]) -> Iterator[Any]:
        for item in items:
            self.note(branch, True)
            yield item
        self.note(branch, False)

    def enter(self) -> None:
        self._tries.append(set())

    def handle(self, branch: int) -> None:
        self._tries[-1].add(branch)
        self.note(branch, True)

    def leave(self, *branches: int) -> None:
        entered = self._tries.pop()
        for branch in branches:
            if branch not in entered:
                self.note(branch, False)

    def case(self, branch: int, *earlier: int) -> None:
        for missed in earlier:
            self.note(missed, False)
        if branch >= 0:
            self.note(branch, True)

    def hooks(self) -> dict[str, Callable[..., Any]]:
        names = ("test", "operand", "loop", "enter", "handle", "leave", "case")
        return {PREFIX + name: getattr(self, name) for name in names}


def instrument(function: Function, branches: list[Branch]) -> None:
    """Rewrite `function` in place to call a `Recorder`'s hooks; adds to `branches`, whose positions are the
    numbers.
    """
    function.body = _Rewriter(branches).block(function.body)
    ast.fix_missing_locations(function)


def list_branches(function: Function) -> list[Branch]:
    found: list[Branch] = []
    instrument(copy.deepcopy(function), found)
    return found


def count_complexity(function: Function) -> int:
    """McCabe's number as radon counts it: boolean operators, comprehensions, asserts and closures
    included.
    """
    total = 1
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            total += count_complexity(node)
        elif isinstance(node, ast.ClassDef):
            continue
        elif isinstance(node, ast.Assert):
            total += 1
        else:
            total += _decisions(node)
            waiting.extend(ast.iter_child_nodes(node))
    return total


def _decisions(node: ast.AST) -> int:
    match node:
        case ast.Try():
            return len(node.handlers) + bool(node.orelse)
        case ast.BoolOp():
            return len(node.values) - 1
        case ast.If() | ast.IfExp():
            return 1
        case ast.Match():
            wild = any(getattr(case.pattern, "pattern", False) is None for case in node.cases)
            return max(0, len(node.cases) - wild)
        case ast.For() | ast.While() | ast.AsyncFor():
            return bool(node.orelse) + 1
        case ast.comprehension():
            return len(node.ifs) + 1
    return 0


class _Rewriter(ast.NodeTransformer):
    def __init__(self, branches: list[Branch]) -> None:
        self.branches = branches

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        return [self.visit(node) for node in body]

    def _add(self, node: ast.expr | ast.stmt | ast.ExceptHandler | ast.pattern, kind: str, text: str) -> int:
        constant = None
        if isinstance(node, ast.Constant):
            constant = bool(node.value)
        self.branches.append(Branch(node.lineno, node.col_offset, kind, text, constant))
        return len(self.branches) - 1

    def _test(self, node: ast.expr, kind: str) -> ast.expr:
        branch = self._add(node, kind, ast.unparse(node))
        return _call(node, "test", branch, self.visit(node))

    def visit_If(self, node: ast.If) -> ast.If:
        node.test = self._test(node.test, "if")
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return node

    def visit_While(self, node: ast.While) -> ast.While:
        node.test = self._test(node.test, "while")
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.IfExp:
        node.test = self._test(node.test, "ternary")
        node.body, node.orelse = self.visit(node.body), self.visit(node.orelse)
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        node.test = self._test(node.test, "assert")
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.BoolOp:
        word = "and" if isinstance(node.op, ast.And) else "or"
        *first, last = node.values
        wrapped = []
        for value in first:
            branch = self._add(value, word, ast.unparse(value))
            wrapped.append(_call(value, "operand", branch, self.visit(value)))
        node.values = [*wrapped, self.visit(last)]
        return node

    def visit_For(self, node: ast.For) -> ast.For:
        text = f"for {ast.unparse(node.target)} in {ast.unparse(node.iter)}"
        branch = self._add(node, "for", text)
        node.iter = _call(node.iter, "loop", branch, self.visit(node.iter))
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        if not node.is_async:
            text = f"for {ast.unparse(node.target)} in {ast.unparse(node.iter)}"
            branch = self._add(node.iter, "comprehension", text)
            node.iter = _call(node.iter, "loop", branch, self.visit(node.iter))
        node.ifs = [self._test(test, "comprehension if") for test in node.ifs]
        return node

    def visit_Try(self, node: ast.Try) -> ast.Try:
        numbers = []
        for handler in node.handlers:
            text = f"except {ast.unparse(handler.type)}" if handler.type else "except"
            numbers.append(self._add(handler, "except", text))
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        node.finalbody = self.block(node.finalbody)
        for branch, handler in zip(numbers, node.handlers, strict=True):
            handler.body = [_statement(handler, "handle", branch), *self.block(handler.body)]
        if numbers:
            node.body.insert(0, _statement(node, "enter"))
            node.finalbody.insert(0, _statement(node, "leave", *numbers))
        return node

    def visit_Match(self, node: ast.Match) -> ast.Match:
        node.subject = self.visit(node.subject)
        numbers: list[int] = []
        for case in node.cases:
            text = f"case {ast.unparse(case.pattern)}"
            if case.guard:
                text += f" if {ast.unparse(case.guard)}"
                case.guard = self.visit(case.guard)
            branch = self._add(case.pattern, "case", text)
            case.body = [_statement(case.pattern, "case", branch, *numbers), *self.block(case.body)]
            numbers.append(branch)
        last = node.cases[-1]
        if last.guard or not _matches_all(last.pattern):
            body: list[ast.stmt] = [_statement(last.pattern, "case", -1, *numbers)]
            anything = ast.copy_location(ast.MatchAs(), last.pattern)
            node.cases.append(ast.match_case(pattern=anything, body=body))
        return node


def _matches_all(pattern: ast.pattern) -> bool:
    if isinstance(pattern, ast.MatchOr):
        return _matches_all(pattern.patterns[-1])
    return isinstance(pattern, ast.MatchAs) and (pattern.pattern is None or _matches_all(pattern.pattern))


def _call(place: ast.AST, hook: str, branch: int, value: ast.expr) -> ast.Call:
    call = ast.Call(ast.Name(PREFIX + hook, ast.Load()), [ast.Constant(branch), value], [])
    for node in (call, call.func, call.args[0]):
        ast.copy_location(node, place)
    return call


def _statement(place: ast.AST, hook: str, *numbers: int) -> ast.Expr:
    call = ast.Call(ast.Name(PREFIX + hook, ast.Load()), [ast.Constant(number) for number in numbers], [])
    statement = ast.copy_location(ast.Expr(call), place)
    for node in ast.walk(statement):
        ast.copy_location(node, place)
    return statement


_LEAVING = (ast.Return, ast.Raise, ast.Break, ast.Continue)


def find_dead_lines(function: Function) -> list[int]:
    dead: set[int] = set()
    _collect_dead(function.body, dead)
    return sorted(dead)


def _collect_dead(body: list[ast.stmt], dead: set[int]) -> None:
    for index, statement in enumerate(body):
        _collect_dead_inside(statement, dead)
        if _never_falls_through(statement):
            for later in body[index + 1 :]:
                dead.update(_lines(later))
            return


def _collect_dead_inside(statement: ast.stmt, dead: set[int]) -> None:
    if isinstance(statement, ast.If | ast.While) and isinstance(statement.test, ast.Constant):
        unreached = statement.orelse if statement.test.value else statement.body
        if isinstance(statement, ast.If) or not statement.test.value:
            for later in unreached:
                dead.update(_lines(later))
    for part in ("body", "orelse", "finalbody"):
        inner = getattr(statement, part, None)
        if isinstance(inner, list):
            _collect_dead(inner, dead)
    for holder in [*getattr(statement, "handlers", []), *getattr(statement, "cases", [])]:
        _collect_dead(holder.body, dead)


def _never_falls_through(statement: ast.stmt) -> bool:
    if isinstance(statement, _LEAVING):
        return True
    if isinstance(statement, ast.If):
        return bool(statement.orelse) and _ends(statement.body) and _ends(statement.orelse)
    if isinstance(statement, ast.While):
        endless = isinstance(statement.test, ast.Constant) and bool(statement.test.value)
        return endless and not any(_breaks(inner) for inner in statement.body)
    return False


def _ends(body: list[ast.stmt]) -> bool:
    return any(_never_falls_through(statement) for statement in body)


def _breaks(statement: ast.AST) -> bool:
    """A break of this loop: those of loops inside do not count."""
    if isinstance(statement, ast.Break):
        return True
    if isinstance(statement, ast.For | ast.While | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return any(_breaks(inner) for inner in getattr(statement, "orelse", []))
    return any(
        _breaks(inner)
        for inner in ast.iter_child_nodes(statement)
        if isinstance(inner, ast.stmt | ast.ExceptHandler | ast.match_case)
    )


def _lines(statement: ast.stmt) -> set[int]:
    return {node.lineno for node in ast.walk(statement) if isinstance(node, ast.stmt)}
