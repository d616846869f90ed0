"""The folder as a toolset: read when it changes, watched while a session runs."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Self

import anyio

from faultless import process
from faultless.contract import Dialect, Fault
from faultless.kit import log
from faultless.kit.admission import Admission
from faultless.kit.toolset import TellChanged, Tool, Toolset
from faultless.servers.toolbox.definition import Loaded
from faultless.servers.toolbox.documents import Documents
from faultless.servers.toolbox.faults import explain_broken_file, explain_left_out
from faultless.servers.toolbox.folder import Folder, Signature
from faultless.servers.toolbox.mcbox import load_identity, locate
from faultless.servers.toolbox.running import Runner
from faultless.servers.toolbox.workers import Workers
from faultless.servers.toolbox.workplace import open_workplace

if TYPE_CHECKING:
    from faultless.servers.toolbox.settings import Settings

_WATCH_SECONDS = 0.5


def build_toolset(settings: Settings) -> Toolset:
    process.get_ready()
    # mcbox's own variable counts, unless ours is set.
    level = os.environ.get("MCBOX_LOG_LEVEL", "").strip().upper()
    if level in log.Level.__members__ and not os.environ.get("FAULTLESS_LOG_LEVEL"):
        log.configure(log.Level[level])
    return Toolbox(settings).toolset


class Toolbox:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        workplace = open_workplace(settings)
        named = settings.folder or settings.tools
        files = locate(workplace.folder, {} if named else os.environ)
        self.folder = Folder(workplace.folder, files)
        self.loaded = Loaded()
        self._workers = Workers(workplace)
        self._runner = Runner(workplace, Admission(settings.concurrent, settings.waiting), self._workers)
        self._lock = anyio.Lock()
        self._signature: Signature | None = None
        identity = load_identity(files)
        documents = Documents(workplace.folder)
        self.toolset = Toolset(
            identity.name,
            version=identity.version,
            dialect=Dialect.SPLIT,
            instructions=identity.instructions,
            resources=documents.list_resources(),
            prompts=documents.list_prompts(),
            refresh=self.refresh,
            accompany=self._accompany,
        )

    async def refresh(self) -> None:
        """Read the folder again if it changed since it was last read."""
        if self._sign() == self._signature:
            return
        async with self._lock:
            signature = self._sign()
            if signature == self._signature:
                return
            known = self._signature
            await self._workers.renew(None if known is None else _compare(known, signature))
            self.loaded = _choose(await self.folder.load(self._workers.describe), self._settings)
            tools = [self._runner.make_tool(definition) for definition in self.loaded.definitions]
            self.toolset.tools = {tool.name: tool for tool in tools}
            self.toolset.left_out = LeftOut(self.loaded)
            self._signature = self._sign(since=signature)
            log.info("tools loaded", tools=len(tools), left_out=len(self.loaded.skipped))
            for skipped in self.loaded.skipped:
                log.warn("tool left out", tool=skipped.name, source=skipped.source, reason=skipped.reason)

    def _sign(self, since: Signature | None = None) -> Signature:
        """`since`: what was known before the folder was read; an edit made meanwhile is still to be seen."""
        now = self.folder.sign(self._workers.files)
        if self._signature is not None:
            # What a function imported while it ran is news to us, but no change.
            self._signature |= {
                file: now[file] for file in self._workers.files - self._signature.keys() if file in now
            }
        return now if since is None else now | since

    async def _accompany(self, tell_changed: TellChanged) -> None:
        with _Hangup() as hangup:
            await self._watch(tell_changed, hangup)

    async def _watch(self, tell_changed: TellChanged, hangup: _Hangup) -> None:
        async with anyio.create_task_group() as tasks:
            self._workers.tasks = tasks
            try:
                await self.refresh()
                told = _write_listing(self.toolset.tools)
                while True:
                    await anyio.sleep(_WATCH_SECONDS)
                    if hangup.came:
                        hangup.came = False
                        log.info("reloading", signal="SIGHUP")
                        self._signature = None
                    await self.refresh()
                    now = _write_listing(self.toolset.tools)
                    if now != told:
                        told = now
                        await tell_changed()
            finally:
                self._workers.abandon()
                self._signature = None  # the next session starts workers of its own


class _Hangup:
    """SIGHUP is noted instead of ending the process, and SIGUSR1 means nothing; as long as a session runs."""

    def __init__(self) -> None:
        self.came = False
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            # Handlers rather than SIG_IGN, which every tool would inherit.
            self._previous[signal.SIGHUP] = signal.signal(signal.SIGHUP, self._note)
            self._previous[signal.SIGUSR1] = signal.signal(signal.SIGUSR1, lambda *_: None)
        return self

    def __exit__(self, *_: object) -> None:
        for number, previous in self._previous.items():
            signal.signal(number, previous)

    def _note(self, *_: object) -> None:
        self.came = True


def _compare(known: Signature, now: Signature) -> set[str]:
    return {path for path in known.keys() | now.keys() if known.get(path) != now.get(path)}


class LeftOut(Mapping[str, Fault]):
    """Tools that are defined but cannot be offered; all of them, if nobody can read which they are."""

    def __init__(self, loaded: Loaded) -> None:
        self._known = {skipped.name: explain_left_out(skipped) for skipped in loaded.skipped}
        self._broken = loaded.broken

    def __getitem__(self, name: str) -> Fault:
        if self._broken is not None and name not in self._known:
            return explain_broken_file(self._broken)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def _choose(loaded: Loaded, settings: Settings) -> Loaded:
    """Only the tools that were asked for by name or by group."""
    if not settings.only and not settings.group:
        return loaded
    for pattern in settings.only:
        names = {it.name for it in loaded.definitions} | {it.name for it in loaded.skipped}
        if not any(fnmatchcase(name, pattern) for name in names):
            log.error("--only names no tool", name=pattern)
    for group in settings.group:
        if not any(group in it.groups for it in loaded.definitions):
            log.error("--group names no group", name=group)
    chosen = [
        it
        for it in loaded.definitions
        if any(fnmatchcase(it.name, pattern) for pattern in settings.only)
        or not set(settings.group).isdisjoint(it.groups)
    ]
    skipped = [it for it in loaded.skipped if any(fnmatchcase(it.name, pattern) for pattern in settings.only)]
    return replace(loaded, definitions=chosen, skipped=skipped)


def _write_listing(tools: Mapping[str, Tool]) -> str:
    """What a client knows of the tools; differs when it should be told."""
    rows = [(tool.name, tool.description, tool.input_schema, tool.output_schema) for tool in tools.values()]
    return json.dumps([rows, [repr(tool.annotations) for tool in tools.values()]])
