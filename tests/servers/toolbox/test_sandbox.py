"""Under bubblewrap: the kernel says no, and a sandbox that is not there is a fault."""

import os
import shutil
from pathlib import Path

import pytest

from faultless.contract import Fault, FaultKind
from faultless.servers.toolbox.workplace import build_sandbox
from tests.servers.toolbox.conftest import in_memory

needs_bubblewrap = pytest.mark.skipif(
    shutil.which("bwrap") is None, reason="needs bubblewrap (bwrap), which is not installed"
)

TOUCH = """#!/bin/sh
# @tool Write to a file
# @param path: string
touch -- "$ARG_PATH" && echo written
"""
NETWORK = """#!/usr/bin/env python3
# @tool Which network devices there are
import socket
print([name for _, name in socket.if_nameindex()])
"""
FUNCTION = '''
from pathlib import Path


def py_touch(path: str) -> str:
    """Write to a file."""
    Path(path).touch()
    return "written"
'''
MCBOX = '{"tools": [{"name": "bash_touch", "description": "Write", "inputSchema": {"type": "object"}}]}'


def make_folder(home: Path) -> Path:
    home.mkdir()
    for name, text in {"touch": TOUCH, "network": NETWORK}.items():
        (home / name).write_text(text)
        (home / name).chmod(0o755)
    (home / "functions.py").write_text(FUNCTION)
    (home / "tools.json").write_text(MCBOX)
    (home / "tools.bash").write_text("tool_bash_touch() { touch bash-was-here; }\n")
    (home / "tools.toml").write_text(
        '[tools.toml_touch]\ndescription = "Write"\ncommand = ["touch", "toml-was-here"]\n'
    )
    return home


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@needs_bubblewrap
@pytest.mark.anyio
async def test_only_named_folders_can_be_written_and_there_is_no_network(tmp_path: Path) -> None:
    folder, inside = make_folder(tmp_path / "tools"), tmp_path / "allowed"
    inside.mkdir()
    async with in_memory(folder, tmp_path, sandbox=True, writable=("allowed",)) as server:
        assert await server.say("touch", {"path": "allowed/script"}) == "written"
        assert await server.say("py_touch", {"path": "allowed/function"}) == "written"
        for tool, arguments in (
            ("touch", {"path": "refused"}),
            ("touch", {"path": "/refused-by-the-sandbox"}),
            ("py_touch", {"path": "refused"}),
            ("bash_touch", {}),
            ("toml_touch", {}),
        ):
            result = (await server.call(tool, arguments))["result"]
            assert result["isError"] is True
            fault = result["_meta"]["fault"]
            assert "Read-only file system" in fault["message"]
            assert "--writable" in fault["hint"]
        assert await server.say("network") == "['lo']"
    assert names_in(inside) == ["function", "script"]
    assert names_in(tmp_path) == ["allowed", "tools"]


@needs_bubblewrap
@pytest.mark.anyio
async def test_without_the_sandbox_the_same_tools_write(tmp_path: Path) -> None:
    async with in_memory(make_folder(tmp_path / "tools"), tmp_path) as server:
        assert await server.say("touch", {"path": "refused"}) == "written"
    assert (tmp_path / "refused").exists()


@pytest.mark.anyio
async def test_every_kind_of_tool_is_started_through_bubblewrap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a stand-in that encloses nothing: it writes down what it was asked for, and runs the command."""
    folder, inside = make_folder(tmp_path / "tools"), tmp_path / "allowed"
    inside.mkdir()
    stand_in = tmp_path / "bwrap"
    stand_in.write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n'
    )
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    async with in_memory(folder, tmp_path, sandbox=True, writable=("allowed",)) as server:
        assert await server.say("touch", {"path": "script"}) == "written"
        assert await server.say("py_touch", {"path": "function"}) == "written"
        assert await server.say("bash_touch") == await server.say("toml_touch") == ""
    probe, *asked = (tmp_path / "asked").read_text().splitlines()
    assert probe.endswith("-- true")
    assert all(f"--ro-bind {folder} {folder} " in line for line in asked)
    assert all(f"--bind {inside} {inside} --chdir {tmp_path} -- " in line for line in asked)
    commands = [line.split(" -- ", 1)[1] for line in asked]
    for word in (
        "touch toml-was-here",
        "functions.bash",
        str(folder / "touch"),
        str(folder / "functions.py"),
    ):
        assert any(word in command for command in commands), word


def test_a_sandbox_that_is_not_installed_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Fault) as raised:
        build_sandbox([], [])
    assert raised.value.kind is FaultKind.UNAVAILABLE
    assert raised.value.message == "--sandbox was asked for, but bubblewrap is not installed"


def test_a_sandbox_that_does_not_work_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to create a new namespace' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(Fault) as raised:
        build_sandbox([], [])
    assert raised.value.message == (
        "--sandbox was asked for, but bubblewrap does not work here: bwrap: No permissions to create a new namespace"
    )


def test_a_folder_to_write_that_is_none_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(Fault) as raised:
        build_sandbox([], [tmp_path / "nowhere"])
    assert raised.value.kind is FaultKind.NOT_FOUND
