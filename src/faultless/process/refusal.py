"""Why a command did not start, as a fault."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind, Json

if TYPE_CHECKING:
    from faultless.process.spec import Spec

_SHOWN_ARGUMENTS = 20
_SHOWN_CHARACTERS = 200

_CWD = {
    errno.ENOENT: ("its working folder does not exist", "create the folder, or name another"),
    errno.ENOTDIR: ("its working folder is not a folder", "name a folder"),
    errno.EACCES: ("its working folder may not be entered", "give the server's user access to the folder"),
}
_NO_FILES = "the system allows no more open files", "close some, or raise the limit (ulimit -n)"
_START = {
    errno.ENOENT: ("there is no such program", "install it, put its folder on PATH, or name it by its path"),
    errno.EACCES: (
        "it is not executable",
        "make it executable (chmod +x), or start it through its interpreter",
    ),
    errno.ENOEXEC: (
        "the system does not know how to run it",
        "does its first line name an interpreter (#!…)?",
    ),
    errno.E2BIG: (
        "its arguments and environment are too long for the system",
        "pass less, or pass it in a file",
    ),
    errno.ENOMEM: ("there is not enough memory", "end other programs, then call again"),
    errno.EAGAIN: (
        "there is no free process slot",
        "end other programs or raise the limit (ulimit -u), then call again",
    ),
    errno.EMFILE: _NO_FILES,
    errno.ENFILE: _NO_FILES,
    errno.ETXTBSY: ("somebody is still writing it", "call again when it is complete"),
}
_MISSING_INTERPRETER = (
    "the interpreter its first line names is missing",
    "install that interpreter, or correct the line",
)


def refuse(spec: Spec, step: str, number: int | None) -> Fault:
    """A fault for a command that was not started because `step` met the error `number`."""
    reason, hint = _explain(spec, step, number or 0)
    return Fault(
        FaultKind.UNAVAILABLE,
        f"cannot start {show_program(spec)}: {reason}",
        hint=hint,
        details=describe(spec) | {"step": step, "errno": errno.errorcode.get(number or 0)},
    )


def describe(spec: Spec) -> dict[str, Json]:
    shown: list[Json] = [_shorten(argument) for argument in spec.command[:_SHOWN_ARGUMENTS]]
    if len(spec.command) > _SHOWN_ARGUMENTS:
        shown.append(f"… {len(spec.command) - _SHOWN_ARGUMENTS} more")
    return {"command": shown, "cwd": _shorten(str(spec.cwd))}


def show_program(spec: Spec) -> str:
    return _shorten(spec.command[0])


def _explain(spec: Spec, step: str, number: int) -> tuple[str, str | None]:
    if step == "cwd" and number in _CWD:
        return _CWD[number]
    program = spec.command[0]
    if step == "start" and number == errno.ENOENT and "/" in program and Path(spec.cwd, program).is_file():
        return _MISSING_INTERPRETER
    return _START.get(
        number, (os.strerror(number).lower() if number else "the supervising process is gone", None)
    )


def _shorten(text: str) -> str:
    printable = text.encode(errors="replace").decode()
    return printable if len(printable) <= _SHOWN_CHARACTERS else f"{printable[:_SHOWN_CHARACTERS]}…"
