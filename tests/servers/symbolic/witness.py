"""Whether an input shows what a case says of it, found without anything of the server: the code is run.

As a program it reads a case and a call's arguments as JSON and prints `true` or `false`; what does not end is
for the caller to stop.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import dataclasses
import datetime as dt
import decimal
import fractions
import json
import signal
import sys
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any

if __name__ == "__main__":
    from truth_set import Case  # type: ignore[import-not-found]  # beside this file, when it is a program
else:
    from tests.servers.symbolic.truth_set import Case

ENDLESS_SECONDS = 0.5
_KNOWN = {"datetime": dt, "decimal": decimal, "fractions": fractions}
_NUMBERS = {"nan": float("nan"), "inf": float("inf")}


class EndlessError(BaseException):
    """Of no kind that a specimen catches."""


def shows(case: Case, call: str) -> bool:
    """`call` is what stands between the brackets of a call."""
    namespace = load(case.code)
    if case.truth in {"different", "equivalent"}:
        return observe(namespace["a"], namespace, call) != observe(namespace["b"], namespace, call)
    if case.exception:
        wanted = eval(case.exception, {**_KNOWN, **namespace})
        raised = observe(namespace["f"], namespace, call)
        return raised[0] == "raises" and issubclass(raised[1], wanted)
    return violates(namespace["f"], namespace, call)


def load(code: str) -> dict[str, Any]:
    module = types.ModuleType("specimen")
    sys.modules["specimen"] = module
    module.__dict__["source_"] = code
    exec(code, module.__dict__)
    return module.__dict__


def read(call: str, namespace: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    def collect(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:  # noqa: ANN401 - any input
        return args, kwargs

    scope = {**_NUMBERS, **_KNOWN, "specimen": sys.modules["specimen"], **namespace, "collect_": collect}
    found: tuple[tuple[Any, ...], dict[str, Any]] = eval(f"collect_({call})", scope)
    return found


@contextlib.contextmanager
def limit() -> Iterator[None]:
    def ring(_number: int, _frame: types.FrameType | None) -> None:
        raise EndlessError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, ENDLESS_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def observe(function: Callable[..., Any], namespace: dict[str, Any], call: str) -> tuple[Any, ...]:
    """How a call ends, and what it leaves in its arguments."""
    args, kwargs = read(call, namespace)
    given = [*args, *kwargs.values()]
    try:
        with limit():
            result = function(*args, **kwargs)
            shown = repr(list(result) if hasattr(result, "__next__") else result)
            return "returns", type(result), shown, repr(given)
    except EndlessError:
        return ("endless",)
    except Exception as error:  # noqa: BLE001 - the outcome of the specimen
        return "raises", type(error), repr(given)


def violates(function: Callable[..., Any], namespace: dict[str, Any], call: str) -> bool:
    """The precondition holds, and then the function raises, breaks a postcondition or returns another type.

    An assert at the top of a body that goes on is a precondition.
    """
    args, kwargs = read(call, namespace)
    names = list(typing.get_type_hints(function))
    before = {**dict(zip(names, args, strict=False)), **kwargs}
    scope = {**namespace, **before, "__old__": types.SimpleNamespace(**copy.deepcopy(before))}
    if not all(eval(clause, scope) for clause in clauses(function, "pre")):
        return False
    try:
        with limit():
            result = function(*args, **kwargs)
    except AssertionError as error:
        return _line_of(error) not in _precondition_lines(namespace, function)
    except Exception:  # noqa: BLE001 - nothing in the set declares one
        return True
    scope["_"] = scope["__return__"] = result
    kept = all(eval(clause, scope) for clause in clauses(function, "post"))
    return not kept or not _is_of(result, typing.get_type_hints(function)["return"])


def clauses(function: Callable[..., Any], word: str) -> list[str]:
    lines = [line.strip() for line in (function.__doc__ or "").splitlines()]
    return [line.partition(":")[2].strip() for line in lines if line.startswith(f"{word}:")]


def _precondition_lines(namespace: dict[str, Any], function: Callable[..., Any]) -> set[int]:
    body = next(
        node.body
        for node in ast.parse(namespace["source_"]).body
        if isinstance(node, ast.FunctionDef) and node.name == function.__name__
    )
    leading = [node for node in body if not isinstance(node, ast.Expr)]
    first = next((i for i, node in enumerate(leading) if not isinstance(node, ast.Assert)), len(leading))
    return {node.lineno for node in leading[:first]} if first < len(leading) else set()


def _line_of(error: BaseException) -> int:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_lineno if trace else 0


def _is_of(value: object, annotation: Any) -> bool:  # noqa: ANN401 - a type as typing sees it
    """Only the outermost type: no case is false by an inner one."""
    plain = typing.get_origin(annotation) or annotation
    if plain is typing.Any or typing.is_typeddict(plain):
        return True
    if plain in (typing.Union, types.UnionType):
        return any(_is_of(value, part) for part in typing.get_args(annotation))
    if plain is typing.Literal:
        return value in typing.get_args(annotation)
    plain = type(None) if plain is None else plain
    return isinstance(value, (plain, int) if plain is float else plain)


def main() -> None:
    told = json.load(sys.stdin)
    sys.stdout.write(json.dumps(shows(Case(**told["case"]), told["call"])))


def tell(case: Case, call: str) -> str:
    """What `main` reads."""
    return json.dumps({"case": dataclasses.asdict(case), "call": call})


if __name__ == "__main__":
    main()
