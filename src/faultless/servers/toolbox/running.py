"""Running a tool: a process for a script, a command or a bash function; a worker for a Python function."""

from __future__ import annotations

import json
import secrets
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from faultless import process
from faultless.contract import Fault, FaultKind, clean
from faultless.kit.toolset import Call, Output, Tool
from faultless.process import Finished, Spec
from faultless.servers.toolbox import argv
from faultless.servers.toolbox.arguments import prepare
from faultless.servers.toolbox.assembly import variable_name
from faultless.servers.toolbox.definition import (
    TEXT,
    BashFunction,
    Command,
    Definition,
    PythonFunction,
    Script,
)
from faultless.servers.toolbox.environment import Redactor, pick
from faultless.servers.toolbox.outcome import read_run
from faultless.servers.toolbox.sandbox import explain_walls
from faultless.servers.toolbox.workers import FOLDER

if TYPE_CHECKING:
    from faultless.kit.admission import Admission
    from faultless.kit.root import Root
    from faultless.servers.toolbox.functions import Functions
    from faultless.servers.toolbox.sandbox import Sandbox

GRACE_SECONDS = 0.2
"""Between being asked to end and being killed: a time-out is answered at once."""
DOCUMENT_BYTES = 4 * 1024 * 1024
"""What is kept of output that is useless in parts: JSON, images."""
_MCBOX_VARIABLES = ("MCBOX_LOG_LEVEL", "OTEL_LOG_LEVEL", "MCBOX_CONFIG_HOME", "MCBOX_DATA_HOME")


@dataclass(frozen=True)
class Settings:
    root: Root
    folder: Path
    timeout_seconds: float
    output_bytes: int
    env: tuple[str, ...]
    python: str
    sandbox: Sandbox | None

    def enclose(self, command: list[str]) -> list[str]:
        return self.sandbox.wrap(command, self.root.path) if self.sandbox else command


class Runner:
    def __init__(self, settings: Settings, admission: Admission, functions: Functions) -> None:
        self._settings = settings
        self._admission = admission
        self._functions = functions

    def make_tool(self, definition: Definition) -> Tool:
        async def run(raw: dict[str, Any], call: Call) -> Output:
            return await self.run(definition, raw, call)

        return Tool(
            name=definition.name,
            description=definition.description,
            input_schema=definition.input_schema,
            output_schema=definition.output_schema,
            annotations=definition.annotations,
            run=run,
        )

    async def run(self, definition: Definition, raw: dict[str, Any], call: Call) -> Output:
        redactor = Redactor((*self._settings.env, *definition.env), self._settings.folder)
        try:
            arguments = prepare(definition, raw, self._settings.root)
            async with self._admission.slot(definition.name):
                return await self._perform(definition, arguments, call, redactor)
        except Fault as fault:
            told = explain_walls(fault) if self._settings.sandbox else fault
            raise redactor.blot_fault(told) from fault

    async def _perform(
        self, definition: Definition, arguments: dict[str, Any], call: Call, redactor: Redactor
    ) -> Output:
        seconds = definition.timeout_seconds or self._settings.timeout_seconds
        if isinstance(definition.action, PythonFunction):
            return await self._functions.call(
                definition, definition.action, arguments, seconds=seconds, redactor=redactor
            )
        mark = secrets.token_hex(8)  # what a tool cannot guess
        finished = await process.run(self._spec(definition, arguments, seconds, mark))
        if isinstance(definition.action, BashFunction):
            finished = _after_mark(definition.action, finished, mark)
        return read_run(definition, replace_duration(finished, seconds), call, redactor)

    def _spec(self, definition: Definition, arguments: dict[str, Any], seconds: float, mark: str) -> Spec:
        env = pick((*self._settings.env, *definition.env))
        match definition.action:
            case Script() as script:
                command = [str(script.path), *script.template.render(arguments)]
                stdin = document(arguments)
                env |= _variables(arguments, script.path)
            case Command() as existing:
                command = existing.template.render(arguments)
                given = arguments.get(existing.stdin_parameter or "")
                stdin = b"" if given is None else argv.as_text(given).encode()
                env |= _variables(arguments, None)
            case BashFunction() as bash:
                text = document(arguments)
                command = ["bash", "--noprofile", "--norc", str(FOLDER / "functions.bash")]
                command += [str(bash.path), bash.function, mark]
                fits = len(text) < argv.LONGEST_ELEMENT_BYTES
                command, stdin = ([*command, text.decode()], b"") if fits else (command, text)
                env |= pick(_MCBOX_VARIABLES) | {"FAULTLESS_PYTHON": sys.executable}
            case _:
                raise TypeError(f"{definition.action} does not run as a process")
        return Spec(
            command=self._settings.enclose(command),
            cwd=self._settings.root.path,
            env=env,
            stdin=stdin,
            deadline_seconds=seconds,
            grace_seconds=GRACE_SECONDS,
            capture_bytes=self._settings.output_bytes if definition.output == TEXT else DOCUMENT_BYTES,
        )


def document(arguments: dict[str, Any]) -> bytes:
    return json.dumps(arguments, ensure_ascii=False, separators=(",", ":")).encode()


def replace_duration(finished: Finished, seconds: float) -> Finished:
    """A time-out is told with the limit it passed, not with the moment it was noticed."""
    return replace(finished, duration_seconds=seconds) if finished.timed_out else finished


def _variables(arguments: dict[str, Any], script: Path | None) -> dict[str, str]:
    """ARG_NAME for every argument that a variable can hold.

    What it cannot hold stays away, since standard input has it too; a script that names it gets a refusal.
    """
    variables: dict[str, str] = {}
    for name, value in arguments.items():
        text, variable = argv.as_text(value), variable_name(name)
        size = len(text.encode()) + len(variable) + 1
        if "\0" not in text and size <= argv.LONGEST_ELEMENT_BYTES:
            variables[variable] = text
        elif script is not None and variable.encode() in script.read_bytes():
            if "\0" in text:
                raise argv.refuse(name, f"a NUL character does not fit into {variable}", value)
            raise argv.refuse_size(name, size)
    return variables


def _after_mark(action: BashFunction, finished: Finished, mark: str) -> Finished:
    """What came before the mark is the file's own; without a mark the function never began."""
    before, found, after = finished.stderr.text.partition(f"{mark}\n")
    if found:
        stderr, skipped = finished.stderr, len(before) + len(found)
        cut = None if stderr.cut is None else stderr.cut - skipped
        return replace(finished, stderr=replace(stderr, text=after, cut=cut))
    if finished.timed_out or finished.signal:
        return finished
    reason = clean(before.strip().splitlines()[-1] if before.strip() else "it ended by itself", 300)
    raise Fault(
        FaultKind.UNAVAILABLE,
        f"{action.function} of {action.path.name} could not be called: {reason}",
        hint=f"does {action.path.name} define {action.function}, and does bash load it without errors?",
        details={"function": action.function, "stderr": clean(before.strip()[-2000:])},
    )
