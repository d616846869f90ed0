"""Runs in a warm parent: load the engine and use it once, so that every fork finds its caches filled.

A script, where the worker is a top-level package on PYTHONPATH; its modules are checked where they lie.
"""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import contextlib
import importlib
import sys

from faultless_symbolic_worker import job, sandbox  # noqa: F401 - what a run imports
from faultless_symbolic_worker.explore import Exploration
from faultless_symbolic_worker.loading import publish
from faultless_symbolic_worker.prepare import prepare
from faultless_symbolic_worker.protocol import CHECK, Question
from faultless_symbolic_worker.provable import engine_attributes
from faultless_symbolic_worker.sealed import hidden_modules
from faultless_symbolic_worker.shapes import USER_MODULE
from faultless_symbolic_worker.source import ALLOWED_MODULES, read_source

SPECIMEN = '''
def f(x: int, y: int) -> int:
    """
    pre: x < y
    post: _ > x
    """
    return y if x > 3 else x + 1
'''
_SECONDS = 10.0


def fill_tables() -> None:
    engine_attributes()
    hidden_modules()
    sandbox.readable_paths()
    for name in sorted(ALLOWED_MODULES):
        with contextlib.suppress(ImportError):
            publish(importlib.import_module(name))


def prewarm() -> None:
    """Our own code, never the user's."""
    prepared = prepare(read_source(SPECIMEN), Question(CHECK, "f"))
    Exploration(prepared, lambda _event: None, _SECONDS).run()
    del sys.modules[USER_MODULE]


if __name__ == "faultless_warm_up":
    fill_tables()
    prewarm()
