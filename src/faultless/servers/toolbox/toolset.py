"""The folder as a toolset: read when it changes, watched while a session runs."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from faultless.contract import Dialect, Fault, FaultKind
from faultless.kit import log
from faultless.kit.admission import Admission
from faultless.kit.root import Root
from faultless.kit.toolset import TellChanged, Tool, Toolset
from faultless.process import Spec
from faultless.servers.toolbox.definition import BrokenDefinitionError, Loaded, Skipped
from faultless.servers.toolbox.environment import pick
from faultless.servers.toolbox.folder import Folder, Signature
from faultless.servers.toolbox.functions import Functions
from faultless.servers.toolbox.mcbox import Identity
from faultless.servers.toolbox.python_file import module_env
from faultless.servers.toolbox.running import GRACE_SECONDS, Runner, Settings
from faultless.servers.toolbox.sandbox import build_sandbox
from faultless.servers.toolbox.workers import LIFE_SECONDS, Pool

if TYPE_CHECKING:
    from collections.abc import Mapping

WATCH_SECONDS = 0.5
LONGEST_IMPORT_SECONDS = 20.0
DEFAULTS: dict[str, Any] = {
    "folder": None,
    "tools": None,
    "timeout_seconds": 60.0,
    "parallel": 16,
    "waiting": 256,
    "output_bytes": 100_000,
    "env": (),
    "python": None,
    "sandbox": False,
    "writable": (),
}


class Toolbox:
    def __init__(self, folder: Folder, settings: Settings, admission: Admission) -> None:
        self.folder = folder
        self._settings = settings
        self._functions = Functions(self._open_pool)
        self._runner = Runner(settings, admission, self._functions)
        self._lock = anyio.Lock()
        self._signature: Signature | None = None
        self.loaded = Loaded()
        identity = self._identify()
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
            await self._functions.renew()
            self.loaded = await self.folder.load(self._functions.describe)
            tools = [self._runner.make_tool(definition) for definition in self.loaded.definitions]
            self.toolset.tools = {tool.name: tool for tool in tools}
            self.toolset.left_out = {skipped.name: _explain(skipped) for skipped in self.loaded.skipped}
            self._signature = signature
            _log_loaded(self.loaded)

    async def _accompany(self, tell_changed: TellChanged) -> None:
        async with anyio.create_task_group() as tasks:
            self._functions.tasks = tasks
            try:
                await self.refresh()
                told = _listing(self.toolset.tools)
                while True:
                    await anyio.sleep(WATCH_SECONDS)
                    await self.refresh()
                    now = _listing(self.toolset.tools)
                    if now != told:
                        told = now
                        await tell_changed()
            finally:
                self._functions.abandon()
                self._signature = None  # the next session starts workers of its own

    def _identify(self) -> Identity:
        try:
            return self.folder.identify()
        except BrokenDefinitionError as broken:
            log.error("server.json is not used", reason=broken.reason)
            return Identity()

    def _open_pool(self, path: Path) -> Pool:
        def make_spec(command: list[str], descriptor: int) -> Spec:
            return Spec(
                command=self._settings.enclose(command),
                cwd=self._settings.root.path,
                env=pick((*self._settings.env, *module_env(path))),
                pass_fds=(descriptor,),
                deadline_seconds=LIFE_SECONDS,
                grace_seconds=GRACE_SECONDS,
                capture_bytes=64 * 1024,
            )

        import_seconds = min(self._settings.timeout_seconds, LONGEST_IMPORT_SECONDS)
        return Pool(path, make_spec, self._settings.python, import_seconds)


def build(root: Path, options: dict[str, Any]) -> Toolset:
    _honour_mcbox_level(os.environ)
    return build_toolbox(root, options).toolset


def build_toolbox(root: Path, options: dict[str, Any]) -> Toolbox:
    given = DEFAULTS | {name: value for name, value in options.items() if value is not None}
    folder = find_folder(root, given["folder"] or given["tools"], os.environ)
    writable = [Path(os.path.realpath(root / name)) for name in given["writable"]]
    readable = [folder, Path(__file__).parent, *map(Path, dict.fromkeys((sys.prefix, sys.base_prefix)))]
    settings = Settings(
        root=Root(root),
        folder=folder,
        timeout_seconds=given["timeout_seconds"],
        output_bytes=given["output_bytes"],
        env=tuple(given["env"]),
        python=given["python"] or find_python(folder),
        sandbox=build_sandbox(readable, writable) if given["sandbox"] else None,
    )
    return Toolbox(Folder(folder), settings, Admission(given["parallel"], given["waiting"]))


def _honour_mcbox_level(environment: Mapping[str, str]) -> None:
    level = environment.get("MCBOX_LOG_LEVEL", "").strip().upper()
    if level in log.Level.__members__ and not environment.get("FAULTLESS_LOG_LEVEL"):
        log.configure(log.Level[level])


def find_folder(root: Path, named: str | None, environment: Mapping[str, str]) -> Path:
    """The folder that was named, else mcbox's by its variable, else `tools` in the root, else mcbox's own.

    A folder that nobody named may come later: the server starts without tools and finds them then.
    """
    config = environment.get("XDG_CONFIG_HOME") or str(Path(environment.get("HOME", "/"), ".config"))
    choices = [named, environment.get("MCBOX_CONFIG_HOME")]
    chosen = next((choice for choice in choices if choice), None)
    if chosen is not None:
        path = root / chosen
        if not path.is_dir():
            raise Fault(
                FaultKind.NOT_FOUND,
                f"there is no folder {chosen}",
                hint="create it, or name another: serve toolbox DIR",
            )
        return Path(os.path.realpath(path))
    for path in (root / "tools", Path(config, "mcbox")):
        if path.is_dir():
            return Path(os.path.realpath(path))
    log.warn("there is no folder of tools yet; `faultless toolbox new hello` starts one", folder="tools")
    return root / "tools"


def find_python(folder: Path) -> str:
    """The folder's own environment, so that tools find what was installed for them; else ours."""
    own = folder / ".venv" / "bin" / "python"
    return str(own) if own.exists() else sys.executable


def _explain(skipped: Skipped) -> Fault:
    return Fault(
        FaultKind.UNAVAILABLE,
        f"the tool {skipped.name} is left out: {skipped.source}: {skipped.reason}",
        hint="correct the definition; `faultless toolbox check` shows what is exposed and what is not",
        details={"source": skipped.source, "reason": skipped.reason},
    )


def _listing(tools: Mapping[str, Tool]) -> str:
    rows = [(tool.name, tool.description, tool.input_schema, tool.output_schema) for tool in tools.values()]
    return json.dumps([rows, [repr(tool.annotations) for tool in tools.values()]])


def _log_loaded(loaded: Loaded) -> None:
    log.info("tools loaded", tools=len(loaded.definitions), left_out=len(loaded.skipped))
    for skipped in loaded.skipped:
        log.warn("tool left out", tool=skipped.name, source=skipped.source, reason=skipped.reason)
