"""The folder as a toolset: read when it changes, watched while a session runs."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import anyio

from faultless import process
from faultless.contract import Dialect
from faultless.kit import log
from faultless.kit.admission import Admission
from faultless.kit.toolset import TellChanged, Tool, Toolset
from faultless.servers.toolbox.definition import Loaded
from faultless.servers.toolbox.faults import explain_left_out
from faultless.servers.toolbox.folder import Folder, Signature
from faultless.servers.toolbox.mcbox import load_identity
from faultless.servers.toolbox.running import Runner
from faultless.servers.toolbox.workers import Workers
from faultless.servers.toolbox.workplace import open_workplace

if TYPE_CHECKING:
    from collections.abc import Mapping

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
        workplace = open_workplace(settings)
        self.folder = Folder(workplace.folder)
        self.loaded = Loaded()
        self._workers = Workers(workplace)
        self._runner = Runner(workplace, Admission(settings.concurrent, settings.waiting), self._workers)
        self._lock = anyio.Lock()
        self._signature: Signature | None = None
        identity = load_identity(workplace.folder)
        self.toolset = Toolset(
            identity.name,
            version=identity.version,
            dialect=Dialect.SPLIT,
            instructions=identity.instructions,
            refresh=self.refresh,
            accompany=self._accompany,
        )

    async def refresh(self) -> None:
        """Read the folder again if it changed since it was last read."""
        if self.folder.sign() == self._signature:
            return
        async with self._lock:
            signature = self.folder.sign()
            if signature == self._signature:
                return
            await self._workers.renew()
            self.loaded = await self.folder.load(self._workers.describe)
            tools = [self._runner.make_tool(definition) for definition in self.loaded.definitions]
            self.toolset.tools = {tool.name: tool for tool in tools}
            self.toolset.left_out = {
                skipped.name: explain_left_out(skipped) for skipped in self.loaded.skipped
            }
            self._signature = signature
            log.info("tools loaded", tools=len(tools), left_out=len(self.loaded.skipped))
            for skipped in self.loaded.skipped:
                log.warn("tool left out", tool=skipped.name, source=skipped.source, reason=skipped.reason)

    async def _accompany(self, tell_changed: TellChanged) -> None:
        async with anyio.create_task_group() as tasks:
            self._workers.tasks = tasks
            try:
                await self.refresh()
                told = _write_listing(self.toolset.tools)
                while True:
                    await anyio.sleep(_WATCH_SECONDS)
                    await self.refresh()
                    now = _write_listing(self.toolset.tools)
                    if now != told:
                        told = now
                        await tell_changed()
            finally:
                self._workers.abandon()
                self._signature = None  # the next session starts workers of its own


def _write_listing(tools: Mapping[str, Tool]) -> str:
    """What a client knows of the tools; differs when it should be told."""
    rows = [(tool.name, tool.description, tool.input_schema, tool.output_schema) for tool in tools.values()]
    return json.dumps([rows, [repr(tool.annotations) for tool in tools.values()]])
