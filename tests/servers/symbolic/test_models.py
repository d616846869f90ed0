"""Every row of the list of operations, held by CrossHair's outcome against CPython's over extreme operands."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from faultless.servers.symbolic.worker.faultless_symbolic_worker.checked import MODELS, read_rows

PROGRAM = Path(__file__).parent / "models.py"
SECONDS = 600
QUICK = {("a + b", ("int", "int")), ("a < b", ("int", "int")), ("not a", ("bool",))}


def _compare(operation: str, kinds: tuple[str, ...]) -> dict[str, Any]:
    """In a process of its own: a solver that hangs is killed with it."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM), operation, *kinds],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _every_row() -> list[Any]:
    found = []
    for operation, choices in read_rows(MODELS):
        for kinds in itertools.product(*choices):
            if set(kinds) != {"None"}:
                marks = () if (operation, kinds) in QUICK else pytest.mark.heavy
                found.append(pytest.param(operation, kinds, id=f"{operation} {kinds}", marks=marks))
    return found


@pytest.mark.parametrize(("operation", "kinds"), _every_row())
def test_the_model_does_what_cpython_does(operation: str, kinds: tuple[str, ...]) -> None:
    found = _compare(operation, kinds)
    assert found["deviations"] == []
    assert found["agreed"] > 0


@pytest.mark.parametrize(("operation", "kind"), [("+a", "bool"), ("float(a)", "int"), ("chr(a)", "int")])
def test_a_model_that_is_wrong_is_noticed(operation: str, kind: str) -> None:
    assert _compare(operation, (kind,))["deviations"] != []
    listed = [choices for name, choices in read_rows(MODELS) if name == operation]
    assert all((kind,) not in itertools.product(*choices) for choices in listed)
