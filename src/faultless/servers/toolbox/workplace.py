"""Where tools work: the root, the variables they see and whose values nobody else may, the sandbox."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind, clean
from faultless.contract.redaction import Redactor
from faultless.contract.text import last_line
from faultless.kit.root import Root
from faultless.process import Spec
from faultless.servers.toolbox.folder import find_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from faultless.process import Captured
    from faultless.servers.toolbox.settings import Settings

_ALWAYS = ("PATH", "HOME", "LANG", "TMPDIR")
_GRACE_SECONDS = 0.2
"""Between being asked to end and being killed: a time-out is answered at once."""

_BUBBLEWRAP = "bwrap"
_PROBE_SECONDS = 20.0
_WALLS = (
    *("--ro-bind", "/", "/"),
    *("--dev", "/dev"),
    *("--proc", "/proc"),
    *("--tmpfs", "/tmp"),  # noqa: S108 - the sandbox's own, empty one
    "--unshare-all",
    "--die-with-parent",
    "--new-session",
)


@dataclass(frozen=True)
class Workplace:
    settings: Settings
    root: Root
    folder: Path
    sandbox: Sandbox | None

    @property
    def python(self) -> str:
        """The one that was named, else the folder's own, which finds what its tools need, else ours."""
        own = self.folder / ".venv" / "bin" / "python"
        return self.settings.python or (str(own) if own.exists() else sys.executable)

    def make_spec(
        self,
        command: list[str],
        env: Mapping[str, str],
        *,
        deadline_seconds: float,
        capture_bytes: int,
        stdin: bytes = b"",
        pass_fds: Sequence[int] = (),
    ) -> Spec:
        return Spec(
            command=self.sandbox.wrap(command, self.root.path) if self.sandbox else command,
            cwd=self.root.path,
            env=env,
            stdin=stdin,
            pass_fds=pass_fds,
            deadline_seconds=deadline_seconds,
            grace_seconds=_GRACE_SECONDS,
            capture_bytes=capture_bytes,
        )

    def pick_variables(self, names: Iterable[str]) -> dict[str, str]:
        return pick_variables((*self.settings.env, *names))

    def make_redactor(self, names: Iterable[str]) -> Redactor:
        """Puts the name of a variable where its value was, and takes away where the folder of tools lies.

        Shells begin their complaints with the whole path of the script.
        """
        given = {name: os.environ.get(name, "") for name in (*self.settings.env, *names)}
        marks = {value: f"[{name}]" for name, value in given.items()}
        return Redactor(marks=marks | {f"{self.folder}/": ""}, guess=False)


def open_workplace(settings: Settings) -> Workplace:
    folder = find_folder(settings.root, settings.folder or settings.tools, os.environ)
    sandbox = None
    if settings.sandbox:
        readable = [folder, Path(__file__).parent, *map(Path, dict.fromkeys((sys.prefix, sys.base_prefix)))]
        writable = [Path(os.path.realpath(settings.root / name)) for name in settings.writable]
        sandbox = build_sandbox(readable, writable)
    return Workplace(settings, Root(settings.root), folder, sandbox)


def pick_variables(names: Iterable[str]) -> dict[str, str]:
    """Those, and what no program can do without."""
    return {name: os.environ[name] for name in (*_ALWAYS, *names) if name in os.environ}


def hide_captured(redactor: Redactor, captured: Captured) -> Captured:
    """Also without the part of a secret that the cut left on either side of it."""
    before, marker, after = captured.parts
    if not marker:
        return replace(captured, text=redactor.hide_text(captured.text))
    before = redactor.hide_beginning(before)
    return replace(captured, text=before + marker + redactor.hide_end(after), cut=len(before))


class Sandbox:
    """Bubblewrap: no network, a read-only system, writing only where it was allowed."""

    def __init__(self, program: str, readable: Sequence[Path], writable: Sequence[Path]) -> None:
        self._walls = [program, *_WALLS]
        self._readable = list(readable)
        self._writable = list(writable)

    def wrap(self, command: Sequence[str], cwd: Path) -> list[str]:
        """Folders to read are named too, because an empty /tmp may hide them; those to write come on top."""
        words = list(self._walls)
        for way, folders in (("--ro-bind", [*self._readable, cwd]), ("--bind", self._writable)):
            for folder in dict.fromkeys(folders):
                words += [way, str(folder), str(folder)]
        return [*words, "--chdir", str(cwd), "--", *command]


def build_sandbox(readable: Sequence[Path], writable: Sequence[Path]) -> Sandbox:
    """A sandbox that was seen to work here, or a fault; never something weaker."""
    for folder in writable:
        if not folder.is_dir():
            raise Fault(
                FaultKind.NOT_FOUND, f"--writable {folder} is not a folder", hint="create it, or name another"
            )
    program = shutil.which(_BUBBLEWRAP)
    if program is None:
        raise Fault(
            FaultKind.UNAVAILABLE,
            "--sandbox was asked for, but bubblewrap is not installed",
            hint="install the package bubblewrap, or serve without --sandbox",
        )
    probe = subprocess.run(
        [program, *_WALLS, "--", "true"], capture_output=True, text=True, timeout=_PROBE_SECONDS, check=False
    )
    if probe.returncode != 0:
        reason = clean(last_line(probe.stderr, "it failed"), 300)
        raise Fault(
            FaultKind.UNAVAILABLE,
            f"--sandbox was asked for, but bubblewrap does not work here: {reason}",
            hint="allow user namespaces, or serve without --sandbox",
        )
    return Sandbox(program, readable, writable)
