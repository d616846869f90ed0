"""Tells the server what pytest does, as it does it: JSON lines on a private descriptor. PYTEST_DONT_REWRITE

Runs name this package in PYTEST_PLUGINS, not in `-p`: xdist hands its workers every argument, and they
must not report. Importing it takes every trace of it out of the environment again.

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


def _take_settings() -> dict[str, Any] | None:
    """The server's settings, with every trace of them removed from what tests can see."""
    text = os.environ.pop(_SETTINGS_VARIABLE, None)
    if text is None:
        return None
    settings: dict[str, Any] = json.loads(text)
    for name, value in settings["environment"].items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != folder]
    return settings


_settings = _take_settings()


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    if _settings is not None:
        pluginmanager.register(Recorder(_settings), "faultless-recorder")
