"""The worker's parts that need no process: values, shapes, branches, contracts, languages."""

from __future__ import annotations

import ast
import contextlib
import math
import os
import subprocess
import sys
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from radon.complexity import cc_visit  # type: ignore[import-untyped]  # it has no stubs

from faultless.servers.symbolic.worker.faultless_symbolic_worker import sandbox
from faultless.servers.symbolic.worker.faultless_symbolic_worker.branches import (
    Recorder,
    count_complexity,
    find_dead_lines,
    instrument,
    list_branches,
)
from faultless.servers.symbolic.worker.faultless_symbolic_worker.children import Children, Limits
from faultless.servers.symbolic.worker.faultless_symbolic_worker.events import Finished
from faultless.servers.symbolic.worker.faultless_symbolic_worker.parameters import Parameter, Parameters
from faultless.servers.symbolic.worker.faultless_symbolic_worker.protocol import Refusal
from faultless.servers.symbolic.worker.faultless_symbolic_worker.provable import read_language
from faultless.servers.symbolic.worker.faultless_symbolic_worker.shapes import conforms, read_shape
from faultless.servers.symbolic.worker.faultless_symbolic_worker.shrink import shrink, simpler
from faultless.servers.symbolic.worker.faultless_symbolic_worker.source import read_source
from faultless.servers.symbolic.worker.faultless_symbolic_worker.values import (
    IncomparableError,
    Renderer,
    same,
)

ATOMS = st.one_of(
    st.integers(), st.booleans(), st.floats(), st.text(), st.binary(), st.none(), st.decimals(), st.fractions(),
    st.dates(), st.datetimes(), st.times(), st.timedeltas(), st.complex_numbers(),
)  # fmt: skip
VALUES = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=60)
@given(VALUES)
def test_a_value_comes_back_from_its_expression(value: object) -> None:
    renderer = Renderer({})
    assert same(eval(renderer.render(value), _scope(renderer)), value)


def _scope(renderer: Renderer) -> dict[str, Any]:
    scope: dict[str, Any] = {}
    for name in renderer.imports:
        exec(f"import {name}", scope)
    return scope


@pytest.mark.parametrize(
    ("left", "right"),
    [(1, True), (1, 1.0), (0.0, -0.0), ({1: 1, 2: 2}, {2: 2, 1: 1}), ([1], (1,)), ("1", b"1")],
)
def test_values_that_python_calls_equal_are_told_apart(left: object, right: object) -> None:
    assert not same(left, right)
    assert same(left, left)


def test_equality_on_pythons_terms_forgives_zero_and_order() -> None:
    assert same(0.0, -0.0, strict=False)
    assert same({1: 1, 2: 2}, {2: 2, 1: 1}, strict=False)
    assert same(math.nan, float("nan"))
    assert not same(1, True, strict=False)


def test_functions_are_neither_the_same_nor_different() -> None:
    with pytest.raises(IncomparableError):
        same(lambda: 1, lambda: 1)


@settings(max_examples=30)
@given(st.lists(st.integers(), max_size=6), st.tuples(st.integers(), st.text(max_size=4)))
def test_simpler_values_keep_their_shape(items: list[int], pair: tuple[int, str]) -> None:
    assert all(conforms(value, list[int]) for value in simpler(items, read_shape(list[int])))
    assert all(conforms(value, tuple[int, str]) for value in simpler(pair, read_shape(tuple[int, str])))


def test_shrinking_ends_at_the_smallest_that_still_shows_it() -> None:
    parameters = Parameters((Parameter("x", read_shape(list[int]), None),))
    small = shrink([[9, 40, 3, 77]], parameters, lambda values: sum(values[0]) > 10, time.monotonic() + 60)
    assert small == [[11]]


SPECIMEN = """
def f(x, items):
    total = 0
    for item in items:
        if item > x and item != 7:
            total += item
        elif item == 7:
            break
    else:
        total -= 1
    while total > 50:
        total //= 2
    try:
        total += 10 // x
    except ZeroDivisionError:
        total = -1
    match total:
        case 0:
            return "none"
        case int(n) if n < 0:
            return "negative"
    return [y for y in items if y] or (total if total > 3 else "small")
"""


@settings(max_examples=60)
@given(st.integers(-5, 9), st.lists(st.integers(-3, 60), max_size=5))
def test_a_recording_function_does_what_the_plain_one_does(x: int, items: list[int]) -> None:
    plain: dict[str, Any] = {}
    exec(SPECIMEN, plain)
    tree = ast.parse(SPECIMEN)
    recorder = Recorder()
    instrument(tree.body[0], [])  # type: ignore[arg-type]  # the specimen is one function
    recording: dict[str, Any] = recorder.hooks()
    exec(compile(tree, "<specimen>", "exec"), recording)
    assert recording["f"](x, list(items)) == plain["f"](x, list(items))
    assert recorder.taken


def test_every_kind_of_branch_is_listed() -> None:
    function = read_source(SPECIMEN).find_function("f")
    kinds = {branch.kind for branch in list_branches(function)}
    assert kinds == {
        "for", "if", "and", "or", "while", "except", "case", "comprehension", "comprehension if", "ternary",
    }  # fmt: skip
    (block,) = cc_visit(SPECIMEN)
    assert count_complexity(function) == block.complexity


def test_dead_lines_are_those_no_run_can_reach() -> None:
    code = "def f(x):\n    if False:\n        x = 1\n    while True:\n        return x\n        x = 2\n    return 3\n"
    assert find_dead_lines(read_source(code).find_function("f")) == [3, 6, 7]
    alive = "def f(x):\n    while True:\n        if x:\n            break\n    return 3\n"
    assert find_dead_lines(read_source(alive).find_function("f")) == []


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("try:\n        return 1 // x\n    except Exception:\n        return 0", "catches Exception"),
        ("try:\n        return x\n    except:\n        return 0", "catches everything"),
        ("try:\n        x = 1\n    finally:\n        return x", "finally"),
        ("return id(x)", "memory"),
        ("return type(x) is int", "exact types"),
        ("return x is f", "identities"),
        ("global y\n    y = x", "global"),
        ("with x:\n        pass", "with"),
        ("return x.var", "symbolic values"),
    ],
)
def test_code_outside_the_provable_language_is_told_why(code: str, told: str) -> None:
    pytest.importorskip("crosshair.core_and_libs")
    language = read_language(read_source(f"def f(x: int) -> int:\n    {code}\n"))
    assert any(told in doubt for doubt in language.doubts), language.doubts


def test_plain_code_is_provable() -> None:
    code = "import math\nLIMIT = 3\n\ndef f(x: int) -> int:\n    return max(x, LIMIT) + math.gcd(x, 4)\n"
    assert read_language(read_source(code)).doubts == []


@pytest.mark.parametrize(
    "code", ["import os", "from subprocess import run", "import numpy", "from . import x"]
)
def test_imports_off_the_list_are_refused_with_their_line(code: str) -> None:
    with pytest.raises(Refusal) as refused:
        read_source(f"x = 1\n{code}\n")
    assert refused.value.kind == "permission_denied"
    assert refused.value.details["line"] == 2


def test_an_allowed_import_is_allowed() -> None:
    assert read_source("import numpy\n", frozenset({"numpy"})).text


@pytest.mark.parametrize(
    "annotation", [set[list[int]], dict[bytearray, int], frozenset[tuple[list[int], int]]]
)
def test_what_cannot_be_hashed_is_unsupported(annotation: object) -> None:
    with pytest.raises(Refusal, match="cannot be hashed"):
        read_shape(annotation)


def test_a_child_below_the_required_isolation_never_runs_its_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "enter", lambda *_, **__: ["limits", "landlock"])
    children = Children(lambda _task, emit: emit(Finished()), Limits(2048, 5, requires_strict=True))
    children.start(None)  # type: ignore[arg-type]  # the task must not be looked at
    try:
        with pytest.raises(Refusal, match="namespaces, seccomp missing"):
            hear_all(children)
    finally:
        children.stop_all()
        children.reap()


@pytest.mark.parametrize("noise", [b"garbage\n", b'{"event": "explored"}\n', b"x" * (2 << 20)])
def test_bytes_that_are_no_report_are_noticed(noise: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "enter", lambda *_, **__: ["limits"])

    def write_blindly(_task: object, _emit: object) -> None:
        for number in range(3, 64):
            with contextlib.suppress(OSError):
                os.write(number, noise)

    children = Children(write_blindly, Limits(2048, 5, requires_strict=False))
    children.start(None)  # type: ignore[arg-type]  # as above
    try:
        with pytest.raises(Refusal, match="interfered with the channel"):
            hear_all(children)
    finally:
        children.stop_all()
        children.reap()


def hear_all(children: Children) -> None:
    deadline = time.monotonic() + 60
    while children.alive and time.monotonic() < deadline:
        children.hear(1.0)


AUDITED = """
from crosshair.util import renamed_function
from faultless.servers.symbolic.worker.faultless_symbolic_worker import sandbox
from faultless.servers.symbolic.worker.faultless_symbolic_worker.protocol import KERNEL_LAYERS

def f(): return 1

assert sandbox.enter(1 << 31, 30, without=KERNEL_LAYERS) == ["audit"]
assert renamed_function(f, "g")() == 1
try:
    f.__code__.replace(co_name="g")
except BaseException as error:
    assert "code.__new__" in str(error)
else:
    raise SystemExit("let through")
"""


def test_the_engine_may_make_code_below_the_audit_hook_and_nobody_else() -> None:
    done = subprocess.run(
        [sys.executable, "-c", AUDITED], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
