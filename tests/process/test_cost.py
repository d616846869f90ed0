"""What supervision costs, beside a bare child."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from statistics import quantiles
from typing import Any

import pytest

from faultless import process

Wait = Callable[..., Any]
Specify = Callable[..., process.Spec]
ROUNDS = 300


class CountingKernel(process.Kernel):
    reads = 0

    def read(self, descriptor: int, size: int) -> bytes:
        self.reads += 1
        return super().read(descriptor, size)


def test_a_command_that_prints_by_the_character_does_not_wake_the_server_for_each(
    wait: Wait, spec: Specify
) -> None:
    kernel = CountingKernel()
    asked = spec(
        sys.executable, "-c", "import os\nfor _ in range(5_000): os.write(1, b'.'), sum(range(2_000))"
    )
    with closing(process.Launcher(kernel)) as launcher:
        finished = wait(lambda: process.run(asked, launcher=launcher))
    assert finished.stdout.text == "." * 5_000
    assert kernel.reads < 500


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
