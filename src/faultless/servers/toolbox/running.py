"""Running a tool: a process for a script, a command or a bash function; a worker for a Python function."""

from __future__ import annotations

import functools
import json
import math
import re
import secrets
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio

from faultless import process
from faultless.contract import Fault, FaultKind, clean
from faultless.kit import log
from faultless.kit.toolset import Call, Output, Tool
from faultless.servers.toolbox.argv import LONGEST_ELEMENT_BYTES, as_text
from faultless.servers.toolbox.definition import (
    TEXT,
    BashFunction,
    Command,
    Definition,
    PythonFunction,
    Script,
    variable_name,
)
from faultless.servers.toolbox.faults import explain_sandbox, explain_uncallable, refuse, refuse_size
from faultless.servers.toolbox.inputs import prepare_arguments
from faultless.servers.toolbox.outputs import read_run
from faultless.servers.toolbox.workers import WORKER_FOLDER, Workers
from faultless.servers.toolbox.workplace import pick_variables

if TYPE_CHECKING:
    from pathlib import Path

    from faultless.contract.redaction import Redactor
    from faultless.kit.admission import Admission
    from faultless.process import Finished
    from faultless.servers.toolbox.workplace import Workplace

_DOCUMENT_BYTES = 4 * 1024 * 1024
"""What is kept of output that is useless in parts: JSON, images."""
_PROGRESS = re.compile(r"(?P<done>\d+(?:\.\d+)?)(?:[ /]+(?P<total>\d+(?:\.\d+)?))?(?:\s+(?P<message>.*))?")
_MCBOX_VARIABLES = ("MCBOX_LOG_LEVEL", "OTEL_LOG_LEVEL", "MCBOX_CONFIG_HOME", "MCBOX_DATA_HOME")


class Runner:
    def __init__(self, workplace: Workplace, admission: Admission, workers: Workers) -> None:
        self._workplace = workplace
        self._admission = admission
        self._workers = workers

    def make_tool(self, definition: Definition) -> Tool:
        return Tool(
            name=definition.name,
            description=definition.description,
            input_schema=definition.input_schema,
            output_schema=definition.output_schema,
            annotations=definition.annotations,
            run=functools.partial(self._run, definition),
        )

    async def _run(self, definition: Definition, arguments: dict[str, Any], call: Call) -> Output:
        redactor = self._workplace.make_redactor(definition.env)
        try:
            prepared = prepare_arguments(definition, arguments, self._workplace.root)
            # Its time begins when it runs, however long it waited.
            async with self._admission.slot(definition.name):
                seconds = definition.timeout_seconds or self._workplace.settings.timeout_seconds
                if isinstance(definition.action, PythonFunction):
                    return await self._workers.call(
                        definition, definition.action, prepared, seconds=seconds, redactor=redactor
                    )
                return await self._run_process(definition, prepared, call, seconds, redactor)
        except Fault as fault:
            told = redactor.hide_fault(explain_sandbox(fault) if self._workplace.sandbox else fault)
            if fault.kind is not FaultKind.INVALID_PARAMS:
                # mcbox promises an ERROR; elsewhere that is kept for what is wrong with the server.
                level = log.Level.ERROR if isinstance(definition.action, BashFunction) else log.Level.WARN
                attributes = {"tool": definition.name, "kind": fault.kind, "reason": told.message}
                log.emit(level, "tool execution failed", attributes)
            raise told from fault

    async def _run_process(
        self,
        definition: Definition,
        arguments: dict[str, Any],
        call: Call,
        seconds: float,
        redactor: Redactor,
    ) -> Output:
        mark = secrets.token_hex(8)  # what a tool cannot guess
        command, stdin, variables = _make_command(definition, arguments, mark)
        is_text = definition.output == TEXT
        spec = self._workplace.make_spec(
            command,
            self._workplace.pick_variables(definition.env) | variables,
            stdin=stdin,
            deadline_seconds=seconds,
            capture_bytes=self._workplace.settings.output_bytes if is_text else _DOCUMENT_BYTES,
            report=definition.reports_progress,
        )
        finished = await (_run_reporting(spec, call) if definition.reports_progress else process.run(spec))
        if isinstance(definition.action, BashFunction):
            finished = _after_mark(definition.action, finished, mark)
        if finished.timed_out:  # told with the limit it passed, not with the moment it was noticed
            finished = replace(finished, duration_seconds=seconds)
        return read_run(definition, finished, call, redactor)


async def _run_reporting(spec: process.Spec, call: Call) -> Finished:
    """Passes on what the tool writes to descriptor 3: `DONE [TOTAL] [MESSAGE]`, a line each."""
    async with process.start(spec) as child, anyio.create_task_group() as tasks:
        tasks.start_soon(_pass_on_progress, child, call)
        finished = await child.wait()
    return finished  # noqa: RET504 - to a type checker a task group may end early without an exception


async def _pass_on_progress(child: process.Child, call: Call) -> None:
    last = -math.inf
    if child.report is None:
        return
    async for line in child.report:
        match = _PROGRESS.fullmatch(line.decode(errors="replace").strip())
        if match is None:
            log.warn("a line on descriptor 3 is no progress", line=clean(repr(line[:100])))
        elif (done := float(match["done"])) > last:  # the protocol wants it to grow
            last = done
            total = float(match["total"]) if match["total"] else None
            await call.report_progress(done, total, clean(match["message"] or "") or None)


def _make_command(
    definition: Definition, arguments: dict[str, Any], mark: str
) -> tuple[list[str], bytes, dict[str, str]]:
    """The command, its standard input, and variables of its own."""
    document = json.dumps(arguments, ensure_ascii=False, separators=(",", ":")).encode()
    match definition.action:
        case Script() as script:
            command = [str(script.path), *script.template.render(arguments)]
            return command, document, _make_variables(arguments, script.path)
        case Command() as existing:
            given = arguments.get(existing.stdin_parameter or "")
            stdin = b"" if given is None else as_text(given).encode()
            return existing.template.render(arguments), stdin, _make_variables(arguments, None)
        case BashFunction() as bash:
            runner = str(WORKER_FOLDER / "functions.bash")
            command = ["bash", "--noprofile", "--norc", runner, str(bash.path), bash.function, mark]
            variables = (
                pick_variables(_MCBOX_VARIABLES) | bash.variables | {"FAULTLESS_PYTHON": sys.executable}
            )
            if len(document) < LONGEST_ELEMENT_BYTES:
                return [*command, document.decode()], b"", variables
            return command, document, variables
    raise TypeError(f"{definition.action} does not run as a process")


def _make_variables(arguments: dict[str, Any], script: Path | None) -> dict[str, str]:
    """ARG_NAME for every argument that a variable can hold.

    What it cannot hold stays away, since standard input has it too; a script that names it gets a refusal.
    """
    variables: dict[str, str] = {}
    for name, value in arguments.items():
        text, variable = as_text(value), variable_name(name)
        size = len(text.encode()) + len(variable) + 1
        if "\0" not in text and size <= LONGEST_ELEMENT_BYTES:
            variables[variable] = text
        elif script is not None and variable.encode() in script.read_bytes():
            if "\0" in text:
                raise refuse(name, f"a NUL character does not fit into {variable}", value)
            raise refuse_size(name, size, LONGEST_ELEMENT_BYTES)
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
    raise explain_uncallable(action, before)
