"""One project as the tools see it: its folder, its interpreter, its limits."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from faultless import process
from faultless.contract import Fault, FaultKind, clean
from faultless.servers.pytest.environment import make_variables
from faultless.servers.pytest.interpreter import Interpreter, Surroundings, find_interpreter

if TYPE_CHECKING:
    from faultless.kit.root import Root
    from faultless.kit.toolset import Call
    from faultless.process.warm import Pool

DEFAULT_TIMEOUT_SECONDS = 300
MAX_TIMEOUT_SECONDS = 3600
OLDEST_PYTHON, OLDEST_PYTEST = (3, 8), 7
PROBE_SECONDS = 30.0
META_KEY = "faultless/interpreter"
START_KEY = "faultless/start"
PROBE = """
import json, sys
found = {"python": list(sys.version_info[:3]), "pytest": None, "error": None}
try:
    import pytest
    found["pytest"] = pytest.__version__
except BaseException as error:
    found["error"] = type(error).__name__ + ": " + str(error)
print(json.dumps(found))
"""


@dataclass(frozen=True, kw_only=True)
class Project:
    root: Root
    python: Path | None = None
    timeout_seconds: int = DEFAULT_TIMEOUT_SECONDS
    max_timeout_seconds: int = MAX_TIMEOUT_SECONDS
    pool: Pool | None = None
    surroundings: Surroundings = field(default_factory=Surroundings.of_this_process)

    def find_interpreter(self, call: Call) -> Interpreter:
        """Looked up at every call: an environment made meanwhile counts at once."""
        found = find_interpreter(self.root.path, self.python, self.surroundings)
        call.meta[META_KEY] = found.describe()
        return found

    def choose_timeout(self, asked: int | None) -> int:
        return min(self.timeout_seconds, self.max_timeout_seconds) if asked is None else asked


async def explain_interpreter(project: Project, interpreter: Interpreter) -> Fault | None:
    """Why this interpreter cannot run pytest for us; None if it can."""
    spec = process.Spec(
        command=[str(interpreter.path), "-c", PROBE],
        cwd=project.root.path,
        env=make_variables(interpreter, project.surroundings),
        deadline_seconds=PROBE_SECONDS,
    )
    try:
        finished = await process.run(spec)
        found = json.loads(finished.stdout.text.strip().splitlines()[-1])
    except (Fault, ValueError, IndexError) as error:
        said = error.message if isinstance(error, Fault) else "it does not run Python code"
        return _unavailable(
            interpreter, said, "recreate the environment, or start the server with --python PATH"
        )
    version = ".".join(map(str, found["python"]))
    if tuple(found["python"]) < OLDEST_PYTHON:
        return _unavailable(interpreter, f"it is Python {version}", "use Python 3.8 or later")
    if found["pytest"] is None:
        fix = f"{interpreter.path} -m pip install pytest"
        said = clean(found["error"], 300)
        return _unavailable(interpreter, f"pytest cannot be imported there ({said})", fix)
    if int(found["pytest"].split(".")[0]) < OLDEST_PYTEST:
        fix = f"{interpreter.path} -m pip install --upgrade pytest"
        return _unavailable(interpreter, f"it has pytest {found['pytest']}, and 7 or later is needed", fix)
    return None


def _unavailable(interpreter: Interpreter, problem: str, fix: str) -> Fault:
    return Fault(
        FaultKind.UNAVAILABLE,
        f"Failed to spawn pytest subprocess: {interpreter.path} ({interpreter.reason}): {problem}",
        hint=fix,
        details={"interpreter": interpreter.describe()},
    )
