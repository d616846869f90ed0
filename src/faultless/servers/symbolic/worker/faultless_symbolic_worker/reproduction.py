"""A counterexample as a pytest test that fails, ready to paste below the code."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .contracts import clause_texts
from .protocol import COMPARE
from .termination import ENDLESS

if TYPE_CHECKING:
    from .arguments import Written
    from .events import ShownCall, ShownOutcome
    from .protocol import Question
    from .source import Source


def write_test(source: Source, question: Question, failure: ShownCall) -> str:
    written = failure.input
    body = _body(source, question, written, failure)
    imports = [f"import {name}" for name in _imports(written, body)]
    name = "_".join(part.replace(".", "_") for part in question.names)
    lines = [
        *imports,
        *([""] * 2 if imports else []),
        f"def test_{name}():",
        *(f"    {line}" for line in body),
    ]
    return "\n".join(lines) + "\n"


def _imports(written: Written, body: list[str]) -> list[str]:
    names = list(written.imports)
    text = "\n".join(body)
    names += [
        module for module in ("copy", "types", "pytest") if f"{module}." in text and module not in names
    ]
    return sorted(names)


def _body(source: Source, question: Question, written: Written, failure: ShownCall) -> list[str]:
    if question.tool == COMPARE:
        return _compare(source, question, written, failure)
    call = call_text(question.function, written)
    outcome = failure.outcomes[0]
    if outcome.error:
        call = _to_the_end(source, question.function, call)
        return [f"{call}  # {outcome.text.splitlines()[0]}"]
    if failure.label == "wrong type":
        return [f"result = {call}", f'pytest.fail(f"{{result!r}}: {failure.violation}")']
    return _postcondition(source, question, written, failure, call)


def call_text(name: str, written: Written) -> str:
    return f"{name}({written.call_text})"


def _postcondition(
    source: Source, question: Question, written: Written, failure: ShownCall, call: str
) -> list[str]:
    """Docstring clauses are nobody's code at run time, so the test states the broken one; libraries check
    themselves.
    """
    node = source.find_function(question.function)
    broken = next(
        (text for text, _ in clause_texts(node) if text.strip() and text.strip() in failure.violation),
        None,
    )
    if broken is None:
        return [call]
    names = [argument.arg for argument in [*node.args.posonlyargs, *node.args.args]]
    rest = written.args[len(names) :]
    bound = list(zip(names, written.args, strict=False)) + list(written.kwargs.items())
    lines = [f"{name} = {text}" for name, text in bound]
    defaults = _defaults(node, {name for name, _ in bound})
    lines += [f"{name} = {text}" for name, text in defaults.items()]
    everything = [name for name, _ in bound] + list(defaults)
    if "__old__" in broken:
        kept = ", ".join(f"{name}=copy.deepcopy({name})" for name in everything)
        lines.append(f"__old__ = types.SimpleNamespace({kept})")
    if node.args.vararg:
        lines.append(f"{node.args.vararg.arg} = ({''.join(f'{text}, ' for text in rest)})")
    passed = [name for name, _ in bound if name not in written.kwargs]
    passed += [f"*{node.args.vararg.arg}"] if node.args.vararg else []
    passed += [f"{name}={name}" for name in written.kwargs]
    lines.append(f"_ = __return__ = {question.function}({', '.join(passed)})")
    lines.append(f"assert {broken.strip()}")
    return lines


def _defaults(node: ast.FunctionDef | ast.AsyncFunctionDef, bound: set[str]) -> dict[str, str]:
    spec = node.args
    positional = [*spec.posonlyargs, *spec.args]
    pairs = list(zip(positional[len(positional) - len(spec.defaults) :], spec.defaults, strict=True))
    pairs += [(name, value) for name, value in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if value]
    return {argument.arg: ast.unparse(value) for argument, value in pairs if argument.arg not in bound}


def _to_the_end(source: Source, name: str, call: str) -> str:
    """A generator does nothing until its items are asked for."""
    inner = ast.walk(source.find_function(name))
    return f"list({call})" if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in inner) else call


def _compare(source: Source, question: Question, written: Written, failure: ShownCall) -> list[str]:
    first, second = (call_text(name, written) for name in question.names)
    if failure.label == ENDLESS:
        return [f"assert {first} == {second}  # one side never returns"]
    if failure.mutated:
        arguments = "lambda *args, **kwargs: (args, kwargs)"
        return [
            f"first = ({arguments})({written.call_text})",
            f"second = ({arguments})({written.call_text})",
            f"{question.function}(*first[0], **first[1])",
            f"{question.other}(*second[0], **second[1])",
            "assert first == second",
        ]
    kinds = {outcome.type for outcome in failure.outcomes}
    raised = any(outcome.error for outcome in failure.outcomes)
    if raised:
        calls = [_to_the_end(source, *pair) for pair in zip(question.names, (first, second), strict=True)]
        sides = zip(calls, failure.outcomes, ("first", "second"), strict=True)
        return [*(line for side in sides for line in _expect(*side)), "assert first == second"]
    if "Drained" in kinds:
        return [f"assert list({first}) == list({second})"]
    if len(kinds) > 1:
        return [f"first, second = {first}, {second}", "assert (type(first), first) == (type(second), second)"]
    return [f"assert {first} == {second}"]


def _expect(call: str, outcome: ShownOutcome, name: str) -> list[str]:
    """Both raise, but differently: each side's exception is its result."""
    if outcome.error is None:
        return [f"{name} = {call}"]
    return ["try:", f"    {name} = {call}", "except BaseException as error:", f"    {name} = type(error)"]
