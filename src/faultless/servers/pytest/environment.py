"""The variables a test run starts with: those of an activated environment, and what loads our worker."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from faultless.servers.pytest import worker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from faultless.contract import Json
    from faultless.servers.pytest.interpreter import Interpreter, Surroundings

WORKER_MODULE = "faultless_pytest_worker"
WORKER_FOLDER = Path(worker.__file__).parent
SETTINGS_VARIABLE = "FAULTLESS_PYTEST_WORKER"

# Traces of a pytest that started this server, and of this server's own interpreter.
FOREIGN = frozenset(
    {
        "PYTEST_CURRENT_TEST",
        "PYTEST_VERSION",
        "PYTEST_XDIST_TESTRUNUID",
        "PYTEST_XDIST_WORKER",
        "PYTEST_XDIST_WORKER_COUNT",
        "PYTHONHOME",
        "VIRTUAL_ENV",
        "VIRTUAL_ENV_PROMPT",
        "__PYVENV_LAUNCHER__",
    }
)


def make_variables(interpreter: Interpreter, surroundings: Surroundings) -> dict[str, str]:
    """As a shell would have them with the interpreter's environment activated."""
    variables = {name: value for name, value in surroundings.variables.items() if name not in FOREIGN}
    entries = surroundings.variables.get("PATH", os.defpath).split(os.pathsep)
    if surroundings.own_environment is not None:
        entries = [entry for entry in entries if Path(entry) != surroundings.own_environment / "bin"]
    environment = interpreter.environment
    if environment is not None:
        variables["VIRTUAL_ENV"] = str(environment)
        entries = [str(interpreter.path.parent), *entries]
    variables["PATH"] = os.pathsep.join(entries)
    return variables


def add_worker(variables: Mapping[str, str], settings: Mapping[str, Json]) -> dict[str, str]:
    """What makes pytest load the worker; the worker puts everything back when it is imported."""
    before: dict[str, Json] = {name: variables.get(name) for name in ("PYTHONPATH", "PYTEST_PLUGINS")}
    path = os.pathsep.join(filter(None, [str(WORKER_FOLDER), variables.get("PYTHONPATH")]))
    plugins = ",".join(filter(None, [WORKER_MODULE, variables.get("PYTEST_PLUGINS")]))
    return {
        **variables,
        "PYTHONPATH": path,
        "PYTEST_PLUGINS": plugins,
        SETTINGS_VARIABLE: json.dumps({**settings, "environment": before}),
    }
