"""Where tools work: the root, the variables they see and whose values nobody else may, the sandbox."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind
from faultless.contract.redaction import Redactor
from faultless.kit.root import Root
from faultless.process import Spec
from faultless.servers.toolbox.folder import find_folder
from faultless.servers.toolbox.sandbox import Sandbox, build_sandbox

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from faultless.process import Captured
    from faultless.servers.toolbox.settings import Settings

_ASSIGNMENT = re.compile(
    r"\s*(?:export\s+)?(?P<name>[A-Za-z_]\w*)\s*=\s*"
    r"(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|(?P<plain>[^\s\"'#][^#]*?|))\s*(?:\s#.*)?"
)
_ALWAYS = ("PATH", "HOME", "LANG", "TMPDIR")
_GRACE_SECONDS = 0.2
"""Between being asked to end and being killed: a time-out is answered at once."""


@dataclass(frozen=True)
class Workplace:
    settings: Settings
    root: Root
    folder: Path
    sandbox: Sandbox | None
    file_variables: dict[str, str] = field(default_factory=dict)
    """Of `--env-file`."""

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
        report: bool = False,
    ) -> Spec:
        return Spec(
            command=self.sandbox.wrap(command, self.root.path) if self.sandbox else command,
            cwd=self.root.path,
            env=env,
            stdin=stdin,
            pass_fds=pass_fds,
            report=report,
            deadline_seconds=deadline_seconds,
            grace_seconds=_GRACE_SECONDS,
            capture_bytes=capture_bytes,
        )

    def pick_variables(self, names: Iterable[str]) -> dict[str, str]:
        return pick_variables((*self.settings.env, *names)) | self.file_variables

    def make_redactor(self, names: Iterable[str]) -> Redactor:
        """Puts the name of a variable where its value was, and takes away where the folder of tools lies.

        Shells begin their complaints with the whole path of the script.
        """
        given = {
            name: os.environ.get(name, "") for name in (*self.settings.env, *names)
        } | self.file_variables
        marks = {value: f"[{name}]" for name, value in given.items()}
        return Redactor(marks=marks | {f"{self.folder}/": ""}, guess=False)


def open_workplace(settings: Settings) -> Workplace:
    folder = find_folder(settings.root, settings.folder or settings.tools, os.environ)
    sandbox = None
    if settings.sandbox:
        readable = [folder, Path(__file__).parent, *map(Path, dict.fromkeys((sys.prefix, sys.base_prefix)))]
        writable = [Path(os.path.realpath(settings.root / name)) for name in settings.writable]
        sockets = [Path(os.path.realpath(settings.root / name)) for name in settings.socket]
        sandbox = build_sandbox(readable, writable, sockets)
    variables = _read_env_file(settings.root / settings.env_file) if settings.env_file else {}
    return Workplace(settings, Root(settings.root), folder, sandbox, variables)


def _read_env_file(path: Path) -> dict[str, str]:
    """`NAME=value` lines, `export` before or quotes around allowed; nothing is expanded."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as problem:
        raise Fault(
            FaultKind.NOT_FOUND,
            f"--env-file {path} cannot be read: {problem}",
            hint="name a file of NAME=value lines",
        ) from None
    found: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _ASSIGNMENT.fullmatch(line)
        if match is None:
            raise Fault(
                FaultKind.PARSE_ERROR,
                f"--env-file {path}:{number} is not NAME=value",
                hint="write one variable on a line; values are not expanded",
            )
        found[match["name"]] = next(
            text for text in match.group("double", "single", "plain") if text is not None
        )
    return found


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
