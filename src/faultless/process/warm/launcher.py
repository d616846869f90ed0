"""The server's end of one warm parent, and how to tell that it is out of date."""

from __future__ import annotations

import errno
import json
import os
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from faultless.process.launcher import LOAD_TARGET, TARGET_PATH, Launcher
from faultless.process.lines import LineSplitter

if TYPE_CHECKING:
    from collections.abc import Mapping

_ANSWER_BYTES = 64 << 20  # it names every loaded file
_PROGRAM = f"""{LOAD_TARGET}
sys.path[:] = [entry for entry in sys.path if entry]
from faultless_target.warm_parent import main
main()
"""

_Stamp = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Ready:
    """What a parent says about itself when it has loaded everything."""

    files: dict[str, _Stamp]
    seconds: float
    resident_bytes: int

    def is_current(self) -> bool:
        """Whether every loaded file is still what was loaded."""
        return all(_stamp(path) == stamp for path, stamp in self.files.items())


@dataclass(frozen=True, slots=True)
class Unfit:
    """Why a parent may not be forked."""

    reason: str


class WarmLauncher(Launcher):
    """Started without waiting; `check` says when it can be used."""

    idle_at_most = 2  # each of them has a process waiting that holds memory

    def __init__(self, interpreter: Path, env: Mapping[str, str], settings: Mapping[str, Any]) -> None:
        command = (str(interpreter), "-c", _PROGRAM, TARGET_PATH, json.dumps(settings))
        super().__init__(warden=command, env=env)
        self._answer = LineSplitter(_ANSWER_BYTES)
        self._state: Ready | Unfit | None = None
        super()._bring_up()

    def check(self) -> Ready | Unfit | None:
        """None while it is still loading."""
        if self._state is None:
            self._listen()
        if isinstance(self._state, Ready) and not self._is_up():
            self._state = Unfit("the warm parent ended")
        return self._state

    async def wait(self) -> None:
        """Until there is something to `check`."""
        if self.check() is None and self._door is not None:
            await anyio.wait_readable(self._door)

    def _listen(self) -> None:
        if self._door is None:
            self._state = Unfit("the warm parent was closed")
            return
        try:
            data = self._door.recv(1 << 20)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._state = Unfit("the warm parent did not come up")
        for line in self._answer.feed(data):
            self._state = _understand(json.loads(line.data))

    def _bring_up(self) -> None:
        """A parent that is gone is replaced by the pool, not revived here."""
        raise OSError(errno.ESRCH, os.strerror(errno.ESRCH))


def _understand(message: dict[str, Any]) -> Ready | Unfit:
    if message.get("ready"):
        files = {path: (mtime, size) for path, mtime, size in message["files"]}
        return Ready(files, message["seconds"], message["resident_bytes"])
    return Unfit(message["unfit"])


def fingerprint(interpreter: Path) -> tuple[tuple[str, _Stamp | None], ...]:
    """What is installed: the interpreter, its site-packages folders and their .pth files."""
    folders = _site_folders(interpreter)
    links = [path for folder in folders for path in sorted(folder.glob("*.pth"))]
    return tuple((str(path), _stamp(path)) for path in (interpreter, *folders, *links))


@lru_cache(maxsize=64)
def _site_folders(interpreter: Path) -> tuple[Path, ...]:
    """Found by their place, so that nothing has to be run."""
    home = interpreter.parent.parent
    base = interpreter.resolve().parent.parent
    found = [
        folder
        for prefix in dict.fromkeys((home, base))
        for library in ("lib", "lib64")
        for pattern in ("python3*/site-packages", "python3/dist-packages", "python3*/dist-packages")
        for folder in sorted((prefix / library).glob(pattern))
    ]
    return tuple(dict.fromkeys(folder.resolve() for folder in found))


def _stamp(path: str | Path) -> _Stamp | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - hundreds of them before every run
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def can_fork_safely() -> bool:
    """Elsewhere system libraries forbid what a forked child may call."""
    return sys.platform == "linux"
