"""One call at a time over a socket: a line of JSON in, a line of JSON out."""

from __future__ import annotations

import contextlib
import faulthandler
import importlib.util
import io
import json
import os
import sys
import traceback
from typing import TYPE_CHECKING

from . import functions
from .functions import Value

if TYPE_CHECKING:
    import types

PR_SET_CHILD_SUBREAPER = 36
MARK = "\x1e"
LARGEST_ANSWER = 16 * 1024 * 1024
KEPT_CHARACTERS = 64 * 1024
LONGEST_MESSAGE = 2000
LONGEST_TRACEBACK = 1024 * 1024


class Printed(io.TextIOBase):
    """What a function prints: to stderr at once, should it never return; and kept, for the answer."""

    def __init__(self) -> None:
        super().__init__()
        self.kept = ""
        self.is_cut = False

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        data = text.encode("utf-8", "replace")
        while data:
            data = data[os.write(2, data) :]
        self.kept += text
        if len(self.kept) > KEPT_CHARACTERS:
            self.kept, self.is_cut = self.kept[-KEPT_CHARACTERS:], True
        return len(text)

    def forget(self) -> None:
        self.kept, self.is_cut = "", False


def main(channel: int, path: str) -> None:
    """The channel is a descriptor: the module for sockets would take longer to load than everything here."""
    os.set_inheritable(channel, False)
    requests = open(channel, "rb", closefd=False)  # noqa: SIM115 - for life
    os.dup2(2, 1)
    faulthandler.enable()
    sys.argv = [path]
    sys.path.insert(0, os.path.dirname(path))
    printed = sys.stdout = sys.stderr = Printed()
    try:
        tools, description = functions.describe(load(path))
    except BaseException as problem:  # noqa: BLE001 - the owner's code, which may raise anything at all
        send(channel, json.dumps({"broken": explain(problem, path)}))
        return
    folder = os.path.dirname(path)
    modules = len(sys.modules)
    send(channel, json.dumps(dict(description, files=list_imported(folder))))
    adopt_orphans()  # from here on, and not before: somebody is waiting for the description
    printed.forget()
    for line in requests:
        if not line.endswith(b"\n"):
            return  # the server ended in the middle of a request
        request = json.loads(line)
        os.write(2, (MARK + "\n").encode())
        answer = perform(tools[request["function"]], request["arguments"], path, printed)
        if len(sys.modules) != modules:
            modules = len(sys.modules)
            answer = answer[:-1] + ', "files": ' + json.dumps(list_imported(folder)) + "}"
        send(channel, answer)


def adopt_orphans() -> None:
    """Daemons that a function leaves behind become children of this process, so that they are seen.

    Where the kernel offers it; elsewhere a daemon lives until the worker ends.
    """
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 - slow to import, and not needed to say what the file holds

        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def load(path: str) -> types.ModuleType:
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None  # noqa: S101 - .py files have a loader
    assert spec.loader is not None  # noqa: S101 - as above
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look there
    spec.loader.exec_module(module)
    return module


def list_imported(folder: str) -> list[str]:
    """Files of the folder that were imported: when one changes, this process is out of date."""
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    beside = os.path.join(folder, "")
    own = [file for file in files if isinstance(file, str) and file.startswith(beside)]
    return [file for file in own if os.sep + "site-packages" + os.sep not in file]


def perform(function: functions.Function, arguments: dict[str, Value], path: str, printed: Printed) -> str:
    try:
        returned = function.call(arguments)
    except BaseException as problem:  # noqa: BLE001 - as in main; a SystemExit must not end the worker
        return encode({"raised": explain(problem, path)}, printed)
    try:
        answer = encode({"returned": functions.dump(returned)}, printed)
    except TypeError as problem:
        return encode({"unwritable": str(problem)[:LONGEST_MESSAGE]}, printed)
    except (ValueError, RecursionError) as problem:
        deep = isinstance(problem, RecursionError)
        return encode({"unwritable": "it never ends" if deep else "NaN or infinity"}, printed)
    return answer if len(answer) <= LARGEST_ANSWER else encode({"too_large": len(answer)}, printed)


def encode(outcome: dict[str, Value], printed: Printed) -> str:
    outcome.update(printed=printed.kept, printed_is_cut=printed.is_cut, children=has_children())
    text = json.dumps(outcome, allow_nan=False)
    printed.forget()
    return text


def explain(problem: BaseException, path: str) -> dict[str, Value]:
    """The owner's part of the traceback; files elsewhere go by their last name only."""
    frames = traceback.extract_tb(problem.__traceback__)
    start = next((index for index, frame in enumerate(frames) if frame.filename == path), 0)
    for frame in frames[start:]:
        frame.filename = os.path.basename(frame.filename)
    last = frames[-1] if frames else None
    line = getattr(problem, "lineno", None) if isinstance(problem, SyntaxError) else last and last.lineno
    shown = traceback.format_exception_only(type(problem), problem)
    message = str(problem)
    return {
        "type": type(problem).__name__,
        "message": message[:LONGEST_MESSAGE],
        "is_cut": len(message) > LONGEST_MESSAGE,
        "line": line,
        "traceback": "".join([*traceback.format_list(frames[start:][-20:]), shown[-1]])[:LONGEST_TRACEBACK],
    }


def has_children() -> bool:
    """Whether the call left processes behind; looking does not take them from whoever waits for them."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def send(channel: int, message: str) -> None:
    rest = memoryview(message.encode() + b"\n")
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        while rest:
            rest = rest[os.write(channel, rest) :]
