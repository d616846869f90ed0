"""Code rewritten so that each operation tells what it is and what it works on.

Only function bodies are rewritten: what runs while the module loads is never symbolic. The hooks are those of
`operations.Ledger`; each gets the line first. What cannot be rewritten faithfully tells so when it runs.
"""

from __future__ import annotations

import ast
from typing import TypeVar

from .branches import PREFIX

_OPERATORS: dict[type, str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitOr: "|",
    ast.BitAnd: "&",
    ast.BitXor: "^",
    ast.MatMult: "@",
    ast.USub: "-",
    ast.UAdd: "+",
    ast.Invert: "~",
    ast.Not: "not ",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
_PLAIN_PATTERNS = (ast.MatchValue, ast.MatchSingleton, ast.MatchAs, ast.MatchOr)
_Comprehension = TypeVar("_Comprehension", ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def trace_module(tree: ast.Module) -> None:
    """In place."""
    _Module().visit(tree)
    ast.fix_missing_locations(tree)


def trace_expression(tree: ast.Expression, line: int) -> None:
    """In place; a clause of a contract, which stands in `line`."""
    tracer = _Tracer(line - 1)
    tree.body = tracer.truth(tree.body)
    ast.fix_missing_locations(tree)


class _Module(ast.NodeTransformer):
    """Finds the function bodies; annotations, defaults and decorators are left as they are."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.decorator_list = [self.visit(item) for item in node.decorator_list]
        node.body = _Tracer().block(node.body)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        node.body = _Tracer().visit(node.body)
        return node


class _Tracer(ast.NodeTransformer):
    def __init__(self, offset: int = 0) -> None:
        self._offset = offset

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        traced: list[ast.stmt] = []
        for node in body:
            found = self.visit(node)
            traced.extend(found if isinstance(found, list) else [found])
        return traced

    def _call(self, place: ast.AST, hook: str, *arguments: ast.expr | str | bool | None) -> ast.Call:
        line = getattr(place, "lineno", 1) + self._offset
        given: list[ast.expr] = [ast.Constant(line)]
        given += [item if isinstance(item, ast.expr) else ast.Constant(item) for item in arguments]
        return ast.copy_location(ast.Call(ast.Name(PREFIX + hook, ast.Load()), given, []), place)

    def truth(self, node: ast.expr) -> ast.expr:
        return self._call(node, "truth", self.visit(node))

    def _iterated(self, node: ast.expr, target: ast.expr | None = None) -> ast.expr:
        return self._call(node, "iterate", self.visit(node), isinstance(target, ast.Tuple | ast.List))

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.stmt | ast.expr) and not isinstance(node, _KNOWN):
            raise TypeError(f"no rule for {type(node).__name__}")
        return super().generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> list[ast.stmt]:
        note = ast.copy_location(ast.Expr(self._call(node, "unknown", "decorating a function")), node)
        node.body = self.block(node.body)
        return [note, node] if node.decorator_list else [node]

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        node.body = self.visit(node.body)
        return node

    def _unknown(self, node: ast.stmt) -> list[ast.stmt]:
        what = f"the statement {type(node).__name__.lower()}"
        return [ast.copy_location(ast.Expr(self._call(node, "unknown", what)), node), node]

    visit_ClassDef = visit_Import = visit_ImportFrom = visit_With = visit_Global = visit_Nonlocal = _unknown  # noqa: N815 - names that ast looks for
    visit_Delete = visit_TryStar = visit_AsyncFunctionDef = visit_AsyncFor = visit_AsyncWith = _unknown  # noqa: N815 - names that ast looks for

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        operator = _OPERATORS[type(node.op)]
        literal = isinstance(node.right, ast.Constant) and type(node.right.value) is int
        return self._call(node, "binary", operator, literal, self.visit(node.left), self.visit(node.right))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if isinstance(node.operand, ast.Constant) and isinstance(node.op, ast.USub):
            return node
        return self._call(node, "unary", _OPERATORS[type(node.op)], self.visit(node.operand))

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.BoolOp:
        *first, last = node.values
        node.values = [*(self.truth(value) for value in first), self.visit(last)]
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """A chain's later operands are given as functions: they run only if the earlier ones hold."""
        operators = [ast.Constant(_OPERATORS[type(item)]) for item in node.ops]
        first, *later = [self.visit(item) for item in node.comparators]
        if later and any(isinstance(inner, ast.NamedExpr | ast.Yield) for inner in ast.walk(node)):
            return self._call(node, "given", "a chained comparison that binds a name", node)
        nothing = ast.arguments([], [], None, [], [], None, [])
        thunks: list[ast.expr] = [ast.Lambda(nothing, item) for item in later]
        return self._call(
            node,
            "compare",
            ast.Tuple(list(operators), ast.Load()),
            self.visit(node.left),
            first,
            ast.Tuple(thunks, ast.Load()),
        )

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Name) and node.func.id == "super":
            return self._call(node, "given", "super()", node)
        arguments: list[ast.expr] = [
            ast.Starred(self._call(node, "given", "a call with *", self.visit(item.value)), ast.Load())
            if isinstance(item, ast.Starred)
            else self.visit(item)
            for item in node.args
        ]
        keywords = [ast.keyword(item.arg, self.visit(item.value)) for item in node.keywords]
        for keyword in keywords:
            if keyword.arg is None:
                keyword.value = self._call(node, "given", "a call with **", keyword.value)
        call = self._call(node, "call", self.visit(node.func), *arguments)
        call.keywords = keywords
        return call

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """The access itself stays in place, so that private names keep their meaning."""
        hook = "attribute" if isinstance(node.ctx, ast.Load) else "attribute_target"
        node.value = self._call(node, hook, self.visit(node.value), node.attr)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if isinstance(node.ctx, ast.Load):
            return self._call(node, "item", self.visit(node.value), self._key(node.slice))
        node.value = self._call(node, "item_target", self.visit(node.value))
        node.slice = self._call(node, "key", self._key(node.slice))
        return node

    def _key(self, node: ast.expr) -> ast.expr:
        if not isinstance(node, ast.Slice):
            plain: ast.expr = self.visit(node)
            return plain
        parts = [
            self.visit(part) if part else ast.Constant(None) for part in (node.lower, node.upper, node.step)
        ]
        return ast.Call(ast.Name(f"{PREFIX}slice", ast.Load()), parts, [])

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        node.value = self.visit(node.value)
        if any(isinstance(target, ast.Tuple | ast.List) for target in node.targets):
            node.value = self._call(node, "unpack", node.value)
        node.targets = [self.visit(target) for target in node.targets]
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
        node.value = self.visit(node.value) if node.value else None
        node.target = self.visit(node.target)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        operator, value, target = f"{_OPERATORS[type(node.op)]}=", self.visit(node.value), node.target
        if isinstance(target, ast.Name):
            made = self._call(node, "augment", operator, ast.Name(target.id, ast.Load()), value)
            return ast.copy_location(ast.Assign([target], made), node)
        if isinstance(target, ast.Attribute):
            made = self._call(
                node, "augment_attribute", operator, self.visit(target.value), target.attr, value
            )
        else:
            made = self._call(
                node, "augment_item", operator, self.visit(target.value), self._key(target.slice), value
            )
        return ast.copy_location(ast.Expr(made), node)

    def visit_If(self, node: ast.If) -> ast.If:
        node.test = self.truth(node.test)
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return node

    def visit_While(self, node: ast.While) -> ast.While:
        node.test = self.truth(node.test)
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.IfExp:
        node.test = self.truth(node.test)
        node.body, node.orelse = self.visit(node.body), self.visit(node.orelse)
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        node.test = self.truth(node.test)
        node.msg = self.visit(node.msg) if node.msg else None
        return node

    def visit_For(self, node: ast.For) -> ast.For:
        node.iter = self._iterated(node.iter, node.target)
        node.target = self.visit(node.target)
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        node.iter = self._iterated(node.iter, node.target)
        node.ifs = [self.truth(test) for test in node.ifs]
        return node

    def _comprehended(self, node: _Comprehension) -> ast.expr:
        """Elements first: nothing here depends on the order of rewriting."""
        super().generic_visit(node)
        if isinstance(node, ast.SetComp | ast.DictComp):
            return self._call(node, "made", node)
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehended  # noqa: N815 - names that ast looks for

    def _displayed(self, node: ast.Set | ast.Dict) -> ast.expr:
        super().generic_visit(node)
        if isinstance(node, ast.Dict) and None in node.keys:
            return self._call(node, "given", "a dict display with **", node)
        return self._call(node, "made", node)

    visit_Set = visit_Dict = _displayed  # noqa: N815 - names that ast looks for

    def visit_Starred(self, node: ast.Starred) -> ast.Starred:
        if isinstance(node.ctx, ast.Load):
            node.value = self._iterated(node.value)
        else:
            node.value = self.visit(node.value)
        return node

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.FormattedValue:
        spec = ast.unparse(node.format_spec)[2:-1] if node.format_spec else ""
        conversion = f"!{chr(node.conversion)}" if node.conversion > 0 else ""
        text = f"{conversion}:{spec}" if spec else conversion
        node.value = self._call(node, "formatted", self.visit(node.value), text)
        if node.format_spec:
            node.format_spec = self.visit(node.format_spec)
        return node

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.YieldFrom:
        node.value = self._iterated(node.value)
        return node

    def visit_Match(self, node: ast.Match) -> ast.Match:
        patterns = [
            inner for case in node.cases for inner in ast.walk(case.pattern) if isinstance(inner, ast.pattern)
        ]
        plain = all(isinstance(pattern, _PLAIN_PATTERNS) for pattern in patterns)
        values = [item.value for item in patterns if isinstance(item, ast.MatchValue)]
        node.subject = self._call(
            node, "match", self.visit(node.subject), plain, ast.Tuple(list(values), ast.Load())
        )
        for case in node.cases:
            if case.guard:
                case.guard = self.truth(case.guard)
            case.body = self.block(case.body)
        return node


_KNOWN = (
    *(ast.Return, ast.Raise, ast.Try, ast.Expr, ast.Pass, ast.Break, ast.Continue, ast.JoinedStr),
    *(ast.Constant, ast.Name, ast.Tuple, ast.List, ast.NamedExpr, ast.Yield, ast.Await, ast.Slice),
)
