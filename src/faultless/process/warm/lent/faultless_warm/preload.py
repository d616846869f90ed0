"""Importing modules that earlier runs were seen to import."""

from __future__ import annotations

import importlib
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from . import checks

if TYPE_CHECKING:
    from collections.abc import Sequence


def load(names: Sequence[str], seconds: float, resident_bytes: int) -> None:
    """In order, until the time is up or the memory used up.

    A module that changes the process raises Unfit: start without it.
    """
    ends = time.monotonic() + seconds
    before = checks.open_descriptors()
    hooks = _watch_fork_hooks()
    try:
        for name in names:
            if time.monotonic() > ends or checks.resident_bytes() > resident_bytes:
                return
            if name not in sys.modules:
                _import(name, before, hooks)
    finally:
        os.register_at_fork = hooks.original


class _Hooks:
    """Stands in for os.register_at_fork; remembers registrations by installed packages."""

    def __init__(self, original: Any) -> None:
        self.original = original
        self.registered: list[str] = []

    def __call__(self, **functions: Any) -> None:
        path = sys._getframe(1).f_code.co_filename  # noqa: SLF001 - who is calling
        if checks.is_installed(path):
            self.registered.append(path)
        self.original(**functions)


def _watch_fork_hooks() -> _Hooks:
    hooks = _Hooks(os.register_at_fork)
    os.register_at_fork = hooks  # for as long as strangers' modules load
    return hooks


def _import(name: str, before: set[int], hooks: _Hooks) -> None:
    try:
        importlib.import_module(name)
    except BaseException as error:  # noqa: BLE001 - whatever a stranger's module raises; the run will see it for itself
        raise checks.Unfit(f"importing {name} raised {type(error).__name__}", name) from None
    if hooks.registered:
        raise checks.Unfit(f"{name} registers a fork hook", name)
    if checks.has_threads():
        raise checks.Unfit(f"{name} starts a thread", name)
    if checks.open_descriptors() - before:
        raise checks.Unfit(f"{name} opens a descriptor", name)
