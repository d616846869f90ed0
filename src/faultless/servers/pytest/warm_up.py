"""Runs in a warm parent: load pytest and its installed plugins, and nothing of the project.

Pytest runs once on an empty folder, so that plugins are imported under its own import hook, as in a real run.
It is the project's interpreter: standard library and pytest >= 7 only, Python >= 3.8.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import sys
import sysconfig
from importlib import metadata
from typing import Any

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
NO_TESTS = os.path.join(HERE, "no_tests")
WORKER = os.path.join(HERE, "worker")
HIDDEN = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS")  # for the run to obey; they may name modules of the project


def plugins_under_development() -> list[str]:
    """Entry points whose code does not lie among installed packages: it may change between runs."""
    found: Any = metadata.entry_points()  # a mapping before Python 3.10
    group = found.select(group="pytest11") if hasattr(found, "select") else found.get("pytest11", [])
    return sorted({entry.name for entry in group if not _is_installed(entry.value.partition(":")[0])})


def _is_installed(module: str) -> bool:
    try:
        spec = importlib.util.find_spec(module.partition(".")[0])  # not the whole name: that would import
    except (ImportError, ValueError):
        return False
    places = [spec.origin or "", *(spec.submodule_search_locations or ())] if spec else []
    roots = [sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib")]
    return any(
        os.path.realpath(place).startswith(os.path.realpath(root)) for place in places for root in roots
    )


def load_pytest() -> None:
    here, hidden = os.getcwd(), {name: os.environ.pop(name, None) for name in HIDDEN}
    options = ["--quiet", "-p", "no:cacheprovider", "--noconftest", "--rootdir", NO_TESTS, "-c", os.devnull]
    for name in plugins_under_development():
        options += ["-p", f"no:{name}"]
    os.chdir(NO_TESTS)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            pytest.main(options)
    finally:
        os.chdir(here)
    os.environ.update({name: value for name, value in hidden.items() if value is not None})


prewarm = load_pytest  # see Recipe.warm_up


def load_what_every_run_loads() -> None:
    """Besides pytest and its plugins: what it imports late, and the parts of our worker."""
    for late in ("email.parser", "_pytest.stepwise"):
        with contextlib.suppress(ImportError):
            importlib.import_module(late)
    sys.path.insert(0, WORKER)
    package = importlib.import_module("faultless_pytest_worker")
    sys.path.remove(WORKER)
    del sys.modules[package.__name__]  # a run imports it anew, for that is when it takes its settings


if __name__ == "faultless_warm_up":
    load_pytest()
    load_what_every_run_loads()
