"""The server's end of one warm parent."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from faultless.process import Kernel, Launcher

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_HERE = Path(__file__).parent
_LEND = [str(_HERE / "lent"), str(_HERE.parent)]
_PROGRAM = (
    "import json, sys; "
    "sys.path[:] = json.loads(sys.argv[1])['lend'] + [entry for entry in sys.path if entry]; "
    "from faultless_warm.parent import main; main()"
)


@dataclass(frozen=True, slots=True)
class Ready:
    """What a parent says about itself when it has loaded everything."""

    files: dict[str, tuple[int, int]]
    seconds: float
    resident_bytes: int

    def is_current(self) -> bool:
        """Whether every loaded file is still what was loaded."""
        return all(_stamp(path) == stamp for path, stamp in self.files.items())


@dataclass(frozen=True, slots=True)
class Unfit:
    """Why a parent may not be forked, and the module to leave out next time, if it was one."""

    reason: str
    module: str | None = None


class _TargetKernel(Kernel):
    """Starts the parent in the environment of the runs it will become."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env

    def launch(self, command: Sequence[str], door: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command,
            cwd="/",
            env=dict(self._env),
            pass_fds=(door,),
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


class WarmLauncher(Launcher):
    """Started without waiting; `check` says when it can be used."""

    idle_at_most = 2  # each of them has a process waiting that holds memory

    def __init__(self, interpreter: Path, env: Mapping[str, str], settings: Mapping[str, Any]) -> None:
        told = json.dumps({**settings, "lend": _LEND})
        super().__init__(_TargetKernel(env), (str(interpreter), "-c", _PROGRAM, told))
        self._heard = b""
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
        self._heard += data
        if not data:
            self._state = Unfit("the warm parent did not come up")
        elif self._heard.endswith(b"\n"):
            self._state = _understand(json.loads(self._heard))

    def _bring_up(self) -> None:
        """A parent that is gone is replaced by the pool, not revived here."""
        raise OSError(errno.ESRCH, os.strerror(errno.ESRCH))


def _understand(message: dict[str, Any]) -> Ready | Unfit:
    if message.get("ready"):
        files = {path: (mtime, size) for path, mtime, size in message["files"]}
        return Ready(files, message["seconds"], message["resident_bytes"])
    return Unfit(message["unfit"], message["module"])


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - hundreds of them before every run
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def can_fork_safely() -> bool:
    """Elsewhere system libraries forbid what a forked child may call."""
    return sys.platform == "linux"
