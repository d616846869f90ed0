"""Tells the server what pytest does, as it does it: JSON lines on a private descriptor. PYTEST_DONT_REWRITE

Runs name this package in PYTEST_PLUGINS, not in `-p`: xdist hands its workers every argument, and they
must not report. Every trace of it is taken out of the environment again.

Standard library and pytest >= 7 only, Python >= 3.8: it runs in the project's interpreter.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import pytest

from .recorder import Recorder

_SETTINGS_VARIABLE = "FAULTLESS_PYTEST_WORKER"
_HOLD_VARIABLE = "FAULTLESS_PYTEST_HOLD"
_PATH_VARIABLE = "FAULTLESS_PYTEST_PATH"
watch: Any = None
"""Given by `faultless_pytest_start` to a run that began before it was asked."""
can_be_held = False
"""Whether runs with this interpreter begin there at all."""


def _take_settings() -> dict[str, Any] | None:
    """The server's settings, removed from what tests can see."""
    text = os.environ.pop(_SETTINGS_VARIABLE, None)
    if text is None:
        return None
    if _HOLD_VARIABLE in os.environ:  # a pytest that we did not begin would not be held
        os._exit(1)
    settings: dict[str, Any] = json.loads(text)
    return settings


_settings = _take_settings()


def _restore_environment(variables: dict[str, str | None]) -> None:
    """Now that pytest has read it."""
    for name, value in variables.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
    os.environ.pop(_PATH_VARIABLE, None)
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != folder]


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    if _settings is not None:
        _restore_environment(_settings["environment"])
        pluginmanager.register(Recorder(_settings, watch, can_be_held), "faultless-recorder")
