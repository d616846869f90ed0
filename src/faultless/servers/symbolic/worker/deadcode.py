"""Lines no run can reach, seen by reading: after a return, under a constant condition."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from faultless.servers.symbolic.worker.source import Function

_LEAVING = (ast.Return, ast.Raise, ast.Break, ast.Continue)


def find_dead_lines(function: Function) -> list[int]:
    dead: set[int] = set()
    _look(function.body, dead)
    return sorted(dead)


def _look(body: list[ast.stmt], dead: set[int]) -> None:
    for index, statement in enumerate(body):
        _look_inside(statement, dead)
        if _never_falls_through(statement):
            for later in body[index + 1 :]:
                dead.update(_lines(later))
            return


def _look_inside(statement: ast.stmt, dead: set[int]) -> None:
    if isinstance(statement, ast.If | ast.While) and isinstance(statement.test, ast.Constant):
        unreached = statement.orelse if statement.test.value else statement.body
        if isinstance(statement, ast.If) or not statement.test.value:
            for later in unreached:
                dead.update(_lines(later))
    for part in ("body", "orelse", "finalbody"):
        inner = getattr(statement, part, None)
        if isinstance(inner, list):
            _look(inner, dead)
    for holder in [*getattr(statement, "handlers", []), *getattr(statement, "cases", [])]:
        _look(holder.body, dead)


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
