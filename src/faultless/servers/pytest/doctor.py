"""What `faultless doctor` says about running this project's tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from faultless.contract import Fault
from faultless.kit.command import Check
from faultless.kit.root import Root
from faultless.servers.pytest.early import TOO_MANY_FILES, find_obstacle
from faultless.servers.pytest.interpreter import (
    Surroundings,
    find_interpreter,
    find_problem,
    make_variables,
)
from faultless.servers.pytest.session import Job
from faultless.servers.pytest.snapshot import take_snapshot

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from faultless.servers.pytest.interpreter import Interpreter

_NAME = "pytest: interpreter"


def _check_early(folder: Path, interpreter: Interpreter, variables: Mapping[str, str]) -> Check:
    """That they do not is no fault: answers are the same, only later."""
    job = Job(root=folder, interpreter=interpreter, variables=variables, deadline_seconds=1.0)
    obstacle = find_obstacle(job) or (None if take_snapshot(folder, variables) else TOO_MANY_FILES)
    found = "yes, from the second call on" if obstacle is None else f"no: {obstacle}"
    return Check("pytest: runs begin before they are asked", ok=True, found=found)


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
        return [Check(_NAME, ok=True, found=found), _check_early(folder, interpreter, variables)]
    return [Check(_NAME, ok=False, found=f"{found}: {problem.text}", fix=problem.fix)]
