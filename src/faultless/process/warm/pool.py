"""Warm parents by what they are good for: started, replaced when stale, closed when idle."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from faultless.process.warm.launcher import Ready, Unfit, WarmLauncher, can_fork_safely, fingerprint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from faultless.process import Launcher

_log = logging.getLogger(__name__)
_IDLE_SECONDS = 600.0
_RUNS_AT_MOST = 500
_GROWTH_BYTES = 256 << 20


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Everything that decides what a warm parent is. Two runs with equal recipes may share one."""

    interpreter: Path
    root: Path
    program: str
    """Run as `interpreter -m program`."""
    env: Mapping[str, str]
    """The environment of the runs, less what differs from one to the next."""
    warm_up: Path | None = None
    """A script for the target's interpreter that loads the engine. If it defines `prewarm`, that is called
    in the process of the next run, before the run is asked for."""
    trusted_folder: Path | None = None
    """Its modules may be loaded although they are not installed: the server's own code."""

    @property
    def key(self) -> tuple[object, ...]:
        return (
            self.interpreter,
            self.root,
            self.program,
            self.warm_up,
            self.trusted_folder,
            frozenset(self.env.items()),
        )


@dataclass
class _Parent:
    launcher: WarmLauncher
    fingerprint: object
    runs: int = 0


@dataclass
class _Entry:
    """What is known about one recipe: its parent, or the one on its way."""

    recipe: Recipe
    current: _Parent | None = None
    coming: _Parent | None = None
    given_up: str | None = None
    given_up_at: object = None
    """What was installed then; another environment gets another chance."""
    closing: asyncio.TimerHandle | None = None


class Pool:
    """Ask for a launcher before every run; None means: run it cold this time."""

    def __init__(self, *, idle_seconds: float = _IDLE_SECONDS, runs_at_most: int = _RUNS_AT_MOST) -> None:
        self._idle_seconds = idle_seconds
        self._runs_at_most = runs_at_most
        self._entries: dict[tuple[object, ...], _Entry] = {}

    def find(self, recipe: Recipe) -> Launcher | None:
        """A parent that is ready and true to what is on disk."""
        if not can_fork_safely():
            return None
        entry = self._entries.setdefault(recipe.key, _Entry(recipe))
        self._promote(entry)
        self._retire_stale(entry)
        self._expire_later(entry)
        if entry.current is None:
            return None
        entry.current.runs += 1
        return entry.current.launcher

    def prepare(self, recipe: Recipe) -> None:
        """After a run: start what the next one will need, if it is not there."""
        if not can_fork_safely():
            return
        entry = self._entries.setdefault(recipe.key, _Entry(recipe))
        self._promote(entry)
        self._start_wanted(entry)
        self._expire_later(entry)

    async def wait_for(self, recipe: Recipe, seconds: float) -> Launcher | None:
        """A parent, started and waited for if there is none; None means: run it cold."""
        launcher = self.find(recipe)
        with anyio.move_on_after(seconds):
            while launcher is None:
                self.prepare(recipe)
                entry = self._entries.get(recipe.key)
                if entry is None or (entry.coming is None and entry.current is None):
                    return None
                if entry.coming is not None:
                    await entry.coming.launcher.wait()
                launcher = self.find(recipe)
        return launcher

    def why_cold(self, recipe: Recipe) -> str | None:
        """Why there will never be a warm parent for this recipe, if that is so."""
        entry = self._entries.get(recipe.key)
        return entry.given_up if entry else None

    def close(self) -> None:
        for entry in self._entries.values():
            self._close_entry(entry)
        self._entries.clear()

    def _promote(self, entry: _Entry) -> None:
        """Put a parent that has come up into service, or learn why it did not."""
        if entry.coming is None:
            return
        state = entry.coming.launcher.check()
        if isinstance(state, Ready):
            if entry.current is not None:
                _close(entry.current)
            entry.current, entry.coming = entry.coming, None
            _log.debug("warm parent ready after %.3f s, %d bytes", state.seconds, state.resident_bytes)
        elif isinstance(state, Unfit):
            _close(entry.coming)
            entry.coming = None
            self._give_up(entry, state)

    @staticmethod
    def _start_wanted(entry: _Entry) -> None:
        if entry.given_up is not None and entry.given_up_at != fingerprint(entry.recipe.interpreter):
            entry.given_up = None
        if entry.coming is None and entry.given_up is None and entry.current is None:
            entry.coming = _start(entry.recipe)

    @staticmethod
    def _give_up(entry: _Entry, unfit: Unfit) -> None:
        _log.info("warm parent unfit: %s", unfit.reason)
        entry.given_up, entry.given_up_at = unfit.reason, fingerprint(entry.recipe.interpreter)

    def _retire_stale(self, entry: _Entry) -> None:
        parent = entry.current
        if parent is None:
            return
        reason = self._why_stale(entry.recipe, parent)
        if reason is not None:
            _log.debug("warm parent retired: %s", reason)
            _close(parent)
            entry.current = None
            if entry.coming is not None:
                _close(entry.coming)
            entry.coming = None

    def _why_stale(self, recipe: Recipe, parent: _Parent) -> str | None:
        state = parent.launcher.check()
        if not isinstance(state, Ready):
            return state.reason if state else "not ready"
        if parent.runs >= self._runs_at_most:
            return f"served {parent.runs} runs"
        if parent.launcher.resident_bytes() > state.resident_bytes + _GROWTH_BYTES:
            return "grew"
        if parent.fingerprint != fingerprint(recipe.interpreter):
            return "the environment changed on disk"
        return None if state.is_current() else "a loaded module changed on disk"

    def _expire_later(self, entry: _Entry) -> None:
        if entry.closing is not None:
            entry.closing.cancel()
        loop = asyncio.get_running_loop()
        entry.closing = loop.call_later(self._idle_seconds, self._close_entry, entry)

    @staticmethod
    def _close_entry(entry: _Entry) -> None:
        if entry.closing is not None:
            entry.closing.cancel()
        for parent in (entry.current, entry.coming):
            if parent is not None:
                _close(parent)
        entry.current = entry.coming = None


def _start(recipe: Recipe) -> _Parent | None:
    settings = {
        "program": recipe.program,
        "warm_up": str(recipe.warm_up) if recipe.warm_up else None,
        "trusted_folder": str(recipe.trusted_folder.resolve()) if recipe.trusted_folder else None,
    }
    known = fingerprint(recipe.interpreter)
    try:
        return _Parent(WarmLauncher(recipe.interpreter, recipe.env, settings), known)
    except OSError as problem:
        _log.info("warm parent not started: %s", problem.strerror)
        return None


def _close(parent: _Parent) -> None:
    """Without waiting: the parent ends when its socket does, and its runs end with themselves."""
    with contextlib.suppress(OSError):
        parent.launcher.hang_up()
