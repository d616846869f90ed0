"""What `faultless doctor` says about running this project's tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from faultless.contract import Fault
from faultless.kit.command import Check
from faultless.kit.root import Root
from faultless.servers.pytest.interpreter import (
    Surroundings,
    find_interpreter,
    find_problem,
    make_variables,
)

if TYPE_CHECKING:
    from pathlib import Path

_NAME = "pytest: interpreter"


def diagnose(root: Path) -> list[Check]:
    folder, surroundings = Root(root).path, Surroundings.of_this_process()
    try:
        interpreter = find_interpreter(folder, None, surroundings)
    except Fault as fault:
        return [Check(_NAME, ok=False, found=fault.message, fix=fault.hint or "")]
    found = f"{interpreter.path} ({interpreter.reason})"
    variables = make_variables(interpreter, surroundings)
    problem = anyio.run(find_problem, interpreter, folder, variables)
    if problem is None:
        return [Check(_NAME, ok=True, found=found)]
    return [Check(_NAME, ok=False, found=f"{found}: {problem.text}", fix=problem.fix)]
