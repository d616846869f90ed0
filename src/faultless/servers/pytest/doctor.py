"""What `faultless doctor` says about running this project's tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from faultless.contract import Fault
from faultless.kit.command import Check
from faultless.kit.root import Root
from faultless.kit.toolset import Call
from faultless.servers.pytest.project import Project, explain_interpreter

if TYPE_CHECKING:
    from pathlib import Path


def diagnose(root: Path) -> list[Check]:
    project = Project(root=Root(root))
    try:
        interpreter = project.find_interpreter(Call())
    except Fault as fault:
        return [Check("pytest: interpreter", ok=False, found=fault.message, fix=fault.hint or "")]
    found = f"{interpreter.path} ({interpreter.reason})"
    problem = anyio.run(explain_interpreter, project, interpreter)
    if problem is None:
        return [Check("pytest: interpreter", ok=True, found=found)]
    return [Check("pytest: interpreter", ok=False, found=problem.message, fix=problem.hint or "")]
