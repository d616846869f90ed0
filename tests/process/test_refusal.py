"""A command that does not start: unavailable, with what was tried and what to do."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faultless import process
from faultless.contract import Fault, FaultKind
from faultless.process.launcher import LOAD_TARGET, TARGET_PATH

Wait = Callable[..., Any]
Specify = Callable[..., process.Spec]


@pytest.fixture
def refused(wait: Wait, spec: Specify) -> Callable[..., Fault]:
    def run(*command: str, launcher: process.Launcher | None = None, **options: object) -> Fault:
        with pytest.raises(Fault) as caught:
            wait(lambda: process.run(spec(*command, **options), launcher=launcher))
        assert caught.value.kind is FaultKind.UNAVAILABLE
        assert caught.value.hint
        assert (
            caught.value.details["command"] == [argument[:200] for argument in command]
            or len(command[1]) > 200
        )
        assert wait(lambda: process.run(spec("true"), launcher=launcher)).exit_code == 0
        return caught.value

    return run


def write_program(path: Path, text: str, mode: int = 0o755) -> str:
    path.write_text(text)
    path.chmod(mode)
    return str(path)


@pytest.mark.parametrize("command", ["no-such-program", "./no-such-program", "/no/such/program"])
def test_a_missing_program(refused: Callable[..., Fault], command: str) -> None:
    fault = refused(command, "x")
    assert fault.message == f"cannot start {command}: there is no such program"
    assert fault.details["errno"] == "ENOENT"


def test_a_file_that_is_not_executable(refused: Callable[..., Fault], tmp_path: Path) -> None:
    program = write_program(tmp_path / "tool", "#!/bin/sh\n", mode=0o644)
    assert "it is not executable" in refused(program, "x").message
    assert "it is not executable" in refused("tool", "x", env={"PATH": "."}).message


def test_a_folder_is_not_executable(refused: Callable[..., Fault], tmp_path: Path) -> None:
    assert "it is not executable" in refused(str(tmp_path), "x").message


def test_a_file_in_no_known_format(refused: Callable[..., Fault], tmp_path: Path) -> None:
    fault = refused(write_program(tmp_path / "tool", "what is this?\n"), "x")
    assert fault.details["errno"] == "ENOEXEC"


def test_a_script_whose_interpreter_is_missing(refused: Callable[..., Fault], tmp_path: Path) -> None:
    fault = refused(write_program(tmp_path / "tool", "#!/no/such/interpreter\n"), "x")
    assert "interpreter" in fault.message


def test_arguments_too_long_for_the_system(refused: Callable[..., Fault]) -> None:
    fault = refused("true", "x" * 3_000_000)
    assert fault.details["errno"] == "E2BIG"
    assert len(str(fault.details)) < 1000


@pytest.mark.parametrize(("folder", "name"), [("missing", "ENOENT"), ("file", "ENOTDIR")])
def test_a_working_folder_that_is_none(
    refused: Callable[..., Fault], tmp_path: Path, folder: str, name: str
) -> None:
    (tmp_path / "file").touch()
    fault = refused("true", "x", cwd=tmp_path / folder)
    assert "working folder" in fault.message
    assert fault.details["errno"] == name


PLANTED = """
import errno, os
from faultless_target.system import System
from faultless_target.warden import main

class Failing(System):
    def {method}(self, *arguments):
        if not os.path.exists({flag!r}):
            return super().{method}(*arguments)
        os.unlink({flag!r})
        raise OSError(errno.{name}, "planted")

main(Failing())
"""


@pytest.mark.parametrize("method", ["spawn", "fork"])
@pytest.mark.parametrize("name", ["ENOMEM", "EAGAIN", "EMFILE"])
def test_a_system_without_room_for_another_process(
    refused: Callable[..., Fault], tmp_path: Path, method: str, name: str
) -> None:
    flag = tmp_path / "fail"
    flag.touch()
    program = LOAD_TARGET + PLANTED.format(method=method, name=name, flag=str(flag))
    launcher = process.Launcher(warden=(sys.executable, "-I", "-S", "-c", program, TARGET_PATH))
    try:
        fault = refused("true", "x", launcher=launcher)
    finally:
        launcher.close()
    assert fault.details["errno"] == name
    assert os.strerror(getattr(errno, name)).lower() not in fault.message  # our words, not the C library's


def test_a_warden_that_does_not_start(wait: Wait, spec: Specify) -> None:
    launcher = process.Launcher(warden=("/no/such/python",))
    with pytest.raises(Fault) as caught:
        wait(lambda: process.run(spec("true"), launcher=launcher))
    launcher.close()
    assert caught.value.kind is FaultKind.UNAVAILABLE


def test_a_warden_that_ends_at_once(wait: Wait, spec: Specify) -> None:
    launcher = process.Launcher(warden=("/bin/true",))
    with pytest.raises(Fault) as caught:
        wait(lambda: process.run(spec("true"), launcher=launcher))
    launcher.close()
    assert caught.value.kind in {FaultKind.UNAVAILABLE, FaultKind.CRASH}
