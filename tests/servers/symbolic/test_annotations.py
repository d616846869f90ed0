"""Every annotation the server promises: values of it are tried, written down, and read back."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.servers.symbolic.conftest import Ask

HEADER = """
import dataclasses, datetime, decimal, enum, fractions
from typing import Literal, NamedTuple, NewType, Optional, TypedDict, Union

class Colour(enum.Enum):
    RED = 1
    BLUE = 2

@dataclasses.dataclass
class Point:
    x: int
    y: int = 0

class Pair(NamedTuple):
    left: int
    right: str

class Person(TypedDict, total=False):
    name: str
    age: int

class Account:
    def __init__(self, balance: int) -> None:
        self._balance = balance
    def spend(self, amount: int) -> int:
        if self._balance == 77 and amount == 7:
            raise RuntimeError("reached")
        return self._balance - amount

Identifier = NewType("Identifier", int)
"""
REACHED = {
    "int": "x == 4242",
    "bool": "x",
    "float": "x == 2.5",
    "complex": "x.imag == 1.0",
    "str": "x == 'password'",
    "bytes": "x == b'key'",
    "list[int]": "len(x) == 2 and x[0] > x[1]",
    "list[list[int]]": "any(len(row) == 2 for row in x)",
    "dict[str, int]": "x.get('k') == 3",
    "set[int]": "5 in x",
    "frozenset[str]": "'a' in x",
    "tuple[int, str]": "x[0] == 9 and x[1] == 'b'",
    "tuple[int, ...]": "len(x) == 3",
    "Optional[int]": "x is None",
    "Union[int, str]": "isinstance(x, str)",
    "int | str | None": "x is None",
    "Literal['a', 'b', 3]": "x == 3",
    "Colour": "x is Colour.BLUE",
    "list[Colour]": "len(x) == 2 and x[0] != x[1]",
    "Point": "x.x == 3 and x.y == x.x + 1",
    "Pair": "x.left == 5 and x.right == 'r'",
    "Person": "x.get('age') == 18",
    "datetime.date": "x.month == 2 and x.day == 29",
    "datetime.datetime": "x.hour == 12",
    "datetime.timedelta": "x.days == 7",
    "decimal.Decimal": "x == decimal.Decimal('0.5')",
    "fractions.Fraction": "x == fractions.Fraction(1, 3)",
    "Identifier": "x == 31337",
    "Account": "x._balance == 12",
    "dict": "x == {1: 1}",
}


def fails(code: str, reproduction: str) -> bool:
    name = reproduction.split("def ")[1].split("(", maxsplit=1)[0]
    program = f"{code}\n\n{reproduction}\n\n{name}()\n"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode != 0 and "reached" in done.stderr


# The rest differ only in how a value is built and written, which the worker's own tests cover too.
ALWAYS = ("float", "dict[str, int]", "tuple[int, str]", "Literal['a', 'b', 3]", "Point", "datetime.date")
ALL = [pytest.param(name, marks=() if name in ALWAYS else pytest.mark.heavy) for name in REACHED]


@pytest.mark.parametrize("annotation", ALL)
def test_a_value_of_the_annotation_is_found_and_reproduced(annotation: str, ask: Ask) -> None:
    body = f"def f(x: {annotation}) -> int:\n    if {REACHED[annotation]}:\n        raise RuntimeError('reached')\n    return 0\n"
    code = f"{HEADER}\n{body}"
    answer = ask(
        "find_path_to_exception",
        code=code,
        function_name="f",
        exception_type="RuntimeError",
        timeout_seconds=15,
    )
    assert answer["status"] == "found", answer
    assert fails(code, answer["triggering_inputs"][0]["reproduction"])


def test_a_method_is_called_on_objects_its_constructor_makes(ask: Ask) -> None:
    answer = ask(
        "find_path_to_exception",
        code=HEADER,
        function_name="Account.spend",
        exception_type="RuntimeError",
        timeout_seconds=15,
    )
    assert answer["status"] == "found", answer
    assert answer["triggering_inputs"][0]["args"] == ["Account(balance=77)", "7"]
    assert fails(HEADER, answer["triggering_inputs"][0]["reproduction"])


@pytest.mark.parametrize(
    ("body", "taken_as"),
    [
        ("return x % 2", "int"),
        ("return x.upper()", "str"),
        ("return [i for i in x]", "list[int]"),
        ("return x['k']", "dict[str, int]"),
        ("return x == 2.5", "float"),
        ("return 0 if x is None else x % 2", "int | None"),
        ("return x", "int"),
    ],
)
def test_a_missing_annotation_is_inferred_or_said_to_be_assumed(body: str, taken_as: str, ask: Ask) -> None:
    answer = ask("symbolic_check", code=f"def f(x):\n    {body}\n", function_name="f", timeout_seconds=4)
    assert any(f"x is taken as {taken_as} " in note for note in answer["assumptions"]), answer["assumptions"]


@pytest.mark.parametrize(
    ("signature", "call"),
    [
        ("*x: int", "x == (4, 4)"),
        ("*, x: int = 3", "x == 3"),
        ("**x: int", "len(x) == 1"),
        ("x: int = 8", "x == 8"),
    ],
)
def test_every_kind_of_parameter_is_called(signature: str, call: str, ask: Ask) -> None:
    code = (
        f"def f({signature}) -> int:\n    if {call}:\n        raise RuntimeError('reached')\n    return 0\n"
    )
    answer = ask(
        "find_path_to_exception",
        code=code,
        function_name="f",
        exception_type="RuntimeError",
        timeout_seconds=15,
    )
    assert answer["status"] == "found", answer
    assert fails(code, answer["triggering_inputs"][0]["reproduction"])
