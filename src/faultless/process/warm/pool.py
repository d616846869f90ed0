"""Warm parents by what they are good for: started, replaced when stale, closed when idle."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from faultless.process.warm.fingerprint import fingerprint
from faultless.process.warm.launcher import Ready, Unfit, WarmLauncher, can_fork_safely

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from faultless.process import Launcher

log = logging.getLogger(__name__)
IDLE_SECONDS = 600.0
RUNS_AT_MOST = 500
PRELOAD_SECONDS = 10.0
PRELOAD_BYTES = 512 << 20
PRELOAD_MODULES = 3000
GROWTH_BYTES = 256 << 20
ATTEMPTS = 8
"""How many modules may spoil a parent before learning is given up."""


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
    """A script for the target's interpreter that loads the engine. If it defines `rehearse`, that is called
    in the process of the next run, before the run is asked for."""
    own: Path | None = None
    """A folder whose modules may be loaded although they are not installed: the server's own code."""

    @property
    def key(self) -> tuple[object, ...]:
        return (
            self.interpreter,
            self.root,
            self.program,
            self.warm_up,
            self.own,
            frozenset(self.env.items()),
        )


@dataclass
class _Parent:
    launcher: WarmLauncher
    fingerprint: object
    preload: tuple[str, ...]
    runs: int = 0
    is_vouched_for: bool = False


@dataclass
class _Place:
    """What is known about one recipe: its parent, a better one on its way, and what it taught."""

    recipe: Recipe
    current: _Parent | None = None
    coming: _Parent | None = None
    learned: list[str] = field(default_factory=list)
    denied: set[str] = field(default_factory=set)
    given_up: str | None = None
    given_up_at: object = None
    """What was installed then; another environment gets another chance."""
    closing: asyncio.TimerHandle | None = None


class Pool:
    """Ask for a launcher before every run; None means: run it cold this time."""

    def __init__(self, *, idle_seconds: float = IDLE_SECONDS, runs_at_most: int = RUNS_AT_MOST) -> None:
        self._idle_seconds = idle_seconds
        self._runs_at_most = runs_at_most
        self._places: dict[tuple[object, ...], _Place] = {}

    def find(self, recipe: Recipe) -> Launcher | None:
        """A parent that is ready and true to what is on disk."""
        if not can_fork_safely():
            return None
        place = self._places.setdefault(recipe.key, _Place(recipe))
        self._promote(place)
        self._retire_stale(place)
        self._expire_later(place)
        if place.current is None:
            return None
        place.current.runs += 1
        return place.current.launcher

    def prepare(self, recipe: Recipe) -> None:
        """After a run: start what the next one will need, if it is not there."""
        if not can_fork_safely():
            return
        place = self._places.setdefault(recipe.key, _Place(recipe))
        self._promote(place)
        self._start_wanted(place)
        self._expire_later(place)

    async def wait_for(self, recipe: Recipe, seconds: float) -> Launcher | None:
        """A parent, started and waited for if there is none; None means: run it cold."""
        launcher = self.find(recipe)
        with anyio.move_on_after(seconds):
            while launcher is None:
                self.prepare(recipe)
                place = self._places.get(recipe.key)
                if place is None or (place.coming is None and place.current is None):
                    return None
                if place.coming is not None:
                    await place.coming.launcher.wait()
                launcher = self.find(recipe)
        return launcher

    def is_preparing(self, recipe: Recipe) -> bool:
        """Whether a parent is on its way."""
        place = self._places.get(recipe.key)
        if place is None:
            return False
        self._promote(place)
        return place.coming is not None

    def why_cold(self, recipe: Recipe) -> str | None:
        """Why there will never be a warm parent for this recipe, if that is so."""
        place = self._places.get(recipe.key)
        return place.given_up if place else None

    def is_doubtful(self, recipe: Recipe) -> bool:
        """Whether learned modules were loaded and no new process has yet confirmed a bad start with them."""
        place = self._places.get(recipe.key)
        parent = place.current if place else None
        return parent is not None and bool(parent.preload) and not parent.is_vouched_for

    def vouch(self, recipe: Recipe) -> None:
        """A new process did the same as a fork of this parent."""
        place = self._places.get(recipe.key)
        if place is not None and place.current is not None:
            place.current.is_vouched_for = True

    def learn(self, recipe: Recipe, modules: Collection[str]) -> None:
        """Installed modules that a run imported, in the order in which it did."""
        place = self._places.get(recipe.key)
        if place is not None:
            known = set(place.learned)
            place.learned += [name for name in modules if name not in known]

    def distrust(self, recipe: Recipe, modules: Collection[str] | None = None) -> None:
        """A preloaded run differed: never preload these again, or none of what was learned."""
        place = self._places.get(recipe.key)
        if place is None:
            return
        place.denied |= set(place.learned if modules is None else modules)
        for parent in (place.current, place.coming):
            if parent is not None and parent.preload:
                _close(parent)
        place.current = place.coming = None

    def close(self) -> None:
        for place in self._places.values():
            self._close_place(place)
        self._places.clear()

    def _promote(self, place: _Place) -> None:
        """Put a parent that has come up into service, or learn why it did not."""
        if place.coming is None:
            return
        state = place.coming.launcher.check()
        if isinstance(state, Ready):
            if place.current is not None:
                _close(place.current)
            place.current, place.coming = place.coming, None
            log.debug("warm parent ready after %.3f s, %d bytes", state.seconds, state.resident_bytes)
        elif isinstance(state, Unfit):
            _close(place.coming)
            place.coming = None
            self._take_in(place, state)

    @staticmethod
    def _start_wanted(place: _Place) -> None:
        if place.given_up is not None and place.given_up_at != fingerprint(place.recipe.interpreter):
            place.given_up = None
        if place.coming is not None or place.given_up is not None:
            return
        wanted = _wanted(place)
        if place.current is None or place.current.preload != wanted:
            place.coming = _start(place.recipe, wanted)

    def _take_in(self, place: _Place, unfit: Unfit) -> None:
        """Leave out the module that spoiled it; if it was none of the learned ones, there is no way."""
        log.info("warm parent unfit: %s (%s)", unfit.reason, unfit.module)
        wanted = _wanted(place)
        if not wanted:
            place.given_up, place.given_up_at = unfit.reason, fingerprint(place.recipe.interpreter)
        elif unfit.module in wanted and len(place.denied) < ATTEMPTS:
            place.denied.add(str(unfit.module))
        else:
            place.denied |= set(place.learned)
        self._start_wanted(place)

    def _retire_stale(self, place: _Place) -> None:
        parent = place.current
        if parent is None:
            return
        reason = self._why_stale(place.recipe, parent)
        if reason is not None:
            log.debug("warm parent retired: %s", reason)
            _close(parent)
            place.current = None
            if place.coming is not None:
                _close(place.coming)
            place.coming = None

    def _why_stale(self, recipe: Recipe, parent: _Parent) -> str | None:
        state = parent.launcher.check()
        if not isinstance(state, Ready):
            return state.reason if state else "not ready"
        if parent.runs >= self._runs_at_most:
            return f"served {parent.runs} runs"
        if parent.launcher.resident_bytes() > state.resident_bytes + GROWTH_BYTES:
            return "grew"
        if parent.fingerprint != fingerprint(recipe.interpreter):
            return "the environment changed on disk"
        return None if state.is_current() else "a loaded module changed on disk"

    def _expire_later(self, place: _Place) -> None:
        if place.closing is not None:
            place.closing.cancel()
        loop = asyncio.get_running_loop()
        place.closing = loop.call_later(self._idle_seconds, self._close_place, place)

    @staticmethod
    def _close_place(place: _Place) -> None:
        if place.closing is not None:
            place.closing.cancel()
        for parent in (place.current, place.coming):
            if parent is not None:
                _close(parent)
        place.current = place.coming = None


def _wanted(place: _Place) -> tuple[str, ...]:
    return tuple(name for name in place.learned if name not in place.denied)[:PRELOAD_MODULES]


def _start(recipe: Recipe, preload: tuple[str, ...]) -> _Parent | None:
    settings = {
        "program": recipe.program,
        "warm_up": str(recipe.warm_up) if recipe.warm_up else None,
        "preload": preload,
        "preload_seconds": PRELOAD_SECONDS,
        "preload_bytes": PRELOAD_BYTES,
        "own": str(recipe.own.resolve()) if recipe.own else None,
    }
    known = fingerprint(recipe.interpreter)
    try:
        return _Parent(WarmLauncher(recipe.interpreter, recipe.env, settings), known, preload)
    except OSError as problem:
        log.info("warm parent not started: %s", problem.strerror)
        return None


def _close(parent: _Parent) -> None:
    """Without waiting: the parent ends when its socket does, and its runs end with themselves."""
    with contextlib.suppress(OSError):
        parent.launcher.hang_up()
