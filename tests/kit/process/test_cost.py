"""What supervision costs, beside a bare child."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from statistics import quantiles
from typing import Any

import pytest

from faultless.kit import process

Wait = Callable[..., Any]
Specify = Callable[..., process.Spec]
ROUNDS = 300


def run_bare() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(["/bin/true"], stdin=pipe, stdout=pipe, stderr=pipe) as child:
        child.communicate(b"")


@pytest.mark.heavy
def test_a_supervised_run_costs_little_more_than_a_bare_one(wait: Wait, spec: Specify) -> None:
    async def measure() -> tuple[list[float], list[float]]:
        asked = spec("/bin/true")
        bare, supervised = [], []
        for _round in range(ROUNDS):
            start = time.perf_counter()
            run_bare()
            between = time.perf_counter()
            await process.run(asked)
            bare.append(between - start)
            supervised.append(time.perf_counter() - between)
        return bare, supervised

    bare, supervised = (quantiles(times, n=10)[0] for times in wait(measure))
    ratio = supervised / bare
    print(f"bare {bare * 1e3:.2f} ms, supervised {supervised * 1e3:.2f} ms, ratio {ratio:.2f}")  # noqa: T201 - the figure
    assert ratio < 3  # near 1.5 on a quiet machine
