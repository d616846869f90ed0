"""Runs in a warm parent: load the engine and use it once, so that every fork finds its caches filled."""

from __future__ import annotations

import contextlib
import importlib
import sys

from faultless.servers.symbolic.worker import __main__, sandbox  # noqa: F401 - what a run imports
from faultless.servers.symbolic.worker.explore import Exploration
from faultless.servers.symbolic.worker.modules import publish
from faultless.servers.symbolic.worker.prepare import CHECK, Question, prepare
from faultless.servers.symbolic.worker.provable import engine_attributes
from faultless.servers.symbolic.worker.sealed import hidden_modules
from faultless.servers.symbolic.worker.shapes import USER_MODULE
from faultless.servers.symbolic.worker.source import ALLOWED_MODULES, read_source

REHEARSAL = '''
def f(x: int, y: int) -> int:
    """
    pre: x < y
    post: _ > x
    """
    return y if x > 3 else x + 1
'''
_REHEARSAL_SECONDS = 10.0


def fill_tables() -> None:
    engine_attributes()
    hidden_modules()
    sandbox.readable_paths()
    for name in sorted(ALLOWED_MODULES):
        with contextlib.suppress(ImportError):
            publish(importlib.import_module(name))


def prewarm() -> None:
    """Our own code, never the user's; for `Recipe.warm_up`."""
    prepared = prepare(read_source(REHEARSAL), Question(CHECK, "f"))
    Exploration(prepared, lambda _event: None, _REHEARSAL_SECONDS).run()
    del sys.modules[USER_MODULE]


if __name__ == "faultless_warm_up":
    fill_tables()
    prewarm()
