"""Under bubblewrap: the kernel says no, and a sandbox that is not there is a fault."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from faultless.contract import Fault, FaultKind
from faultless.servers.toolbox.sandbox import build_sandbox
from faultless.testing import WireClient
from tests.servers.toolbox.conftest import environment, in_memory, serve_command

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


ESCAPES = {
    "write to the system": "touch /etc/escaped",
    "write to the home folder": 'touch "$HOME/escaped"',
    "write where the tools lie": "touch tools/escaped",
    "write to the root": "touch escaped",
    "write through a link": "ln -s /etc /tmp/way && touch /tmp/way/escaped",
    "write through another process": "touch /proc/1/root/etc/escaped",
    "change the machine's settings": "echo 4 > /proc/sys/kernel/printk",
    "mount the system anew": "mount -o remount,rw /",
    "mount something over it": "mount -t tmpfs none /mnt",
    "lift a wall": "umount /run",
    "make a device": "mknod /tmp/disk b 8 0",
    "change the root": "chroot / true",
    "take a namespace of one's own": "unshare --user --map-root-user --mount mount -t tmpfs none /mnt",
    "enter another namespace": "nsenter --target 1 --mount --net true && ! true",
    "own a file": "chown 1 /etc/passwd",
    "change a mode": "chmod 777 /etc/passwd",
    "change the machine's name": 'hostname escaped && [ "$(cat /proc/sys/kernel/hostname)" = escaped ] && ! true',
    "reach a service on this machine": "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", PORT), 2)'",
    "reach a socket in the file tree": "python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect(\"SOCKET\")'",
    "reach an abstract socket": "python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect(\"\\0ABSTRACT\")'",
    "find a process of the server": "kill -0 PID",
    "keep a capability": "grep -q 'CapEff:.*[1-9a-f]' /proc/self/status",
    "get one back": "grep -q 'CapBnd:.*[1-9a-f]' /proc/self/status",
}
ESCAPE = """#!/bin/sh
# @tool Try to get out
# @param way: string
eval "$ARG_WAY" || exit 3
echo escaped
"""


@contextmanager
def world_to_reach(folder: Path) -> Iterator[dict[str, str]]:
    """A service on a port, one on a socket in the file tree, one on an abstract one, and a process: all real."""
    tree, abstract, port = (
        socket.socket(socket.AF_UNIX),
        socket.socket(socket.AF_UNIX),
        socket.create_server(("", 0)),
    )
    name = f"faultless-{os.getpid()}-{folder.name}"
    with tree, abstract, port:
        tree.bind(str(folder / "service"))
        (folder / "service").chmod(0o777)
        tree.listen()
        abstract.bind(f"\0{name}")
        abstract.listen()
        yield {
            "PORT": str(port.getsockname()[1]),
            "SOCKET": str(folder / "service"),
            "ABSTRACT": name,
            "PID": str(os.getpid()),
        }


@contextmanager
def short_folder(owner: int) -> Iterator[Path]:
    """Beside /tmp, which the sandbox hides anyway, and short enough for a socket's name."""
    folder = Path(tempfile.mkdtemp(prefix="escape-", dir="/var/tmp"))
    os.chown(folder, owner, owner)
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def fill_in(way: str, world: dict[str, str]) -> str:
    for word, value in world.items():
        way = way.replace(word, value)
    return way


@needs_bubblewrap
def test_nothing_gets_out_of_the_sandbox() -> None:
    with short_folder(os.getuid()) as home, world_to_reach(home) as world:
        folder = make_folder(home / "tools")
        (folder / "escape").write_text(ESCAPE)
        (folder / "escape").chmod(0o755)
        path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        command = serve_command(folder, home, "--sandbox")
        with WireClient(command, cwd=home, env=environment(HOME=str(home), PATH=path)) as client:
            client.open("handshake")
            answers = {
                sentence: client.call("escape", {"way": fill_in(way, world)})
                for sentence, way in ESCAPES.items()
            }
            assert [it for it, answer in answers.items() if not answer["result"].get("isError")] == []
            assert client.call("escape", {"way": "true"})["result"]["isError"] is False
        assert names_in(home) == ["service", "tools"]


NOBODY = 65534
# Started as root, because another user may not be allowed to read our interpreter.
AS_NOBODY = """
import ctypes, json, os, subprocess, sys
from pathlib import Path
from faultless.servers.toolbox.sandbox import build_sandbox
user, home, ways = int(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3])
os.setgroups([]); os.setgid(user); os.setuid(user)
ctypes.CDLL(None).prctl(4, 1)  # as any process that was started by this user: it may be looked at
sandbox = build_sandbox([], [])
env = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(home)}
def leave(way):
    command = sandbox.wrap(["sh", "-c", f"({way}) || exit 3"], home)
    return subprocess.run(command, env=env, stderr=subprocess.DEVNULL).returncode == 0
print(json.dumps([sentence for sentence, way in ways.items() if leave(way)]))
"""


@needs_bubblewrap
@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
def test_nothing_gets_out_as_another_user() -> None:
    with short_folder(NOBODY) as home, world_to_reach(home) as world:
        (home / "tools").mkdir()
        ways = {sentence: fill_in(way, world) for sentence, way in ESCAPES.items()} | {"stay": "true"}
        ran = subprocess.run(
            [sys.executable, "-c", AS_NOBODY, str(NOBODY), str(home), json.dumps(ways)],
            stdout=subprocess.PIPE,
            check=True,
        )
        assert json.loads(ran.stdout) == ["stay"]
        assert names_in(home) == ["service", "tools"]


@needs_bubblewrap
@pytest.mark.anyio
async def test_a_socket_that_was_named_can_be_reached() -> None:
    with short_folder(os.getuid()) as home, world_to_reach(home) as world:
        folder = make_folder(home / "tools")
        (folder / "escape").write_text(ESCAPE)
        (folder / "escape").chmod(0o755)
        way = ESCAPES["reach a socket in the file tree"].replace("SOCKET", world["SOCKET"])
        async with in_memory(folder, home, sandbox=True, socket=("service",)) as server:
            assert await server.say("escape", {"way": way}) == "escaped"


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
    assert all(f"--bind {inside} {inside} " in line for line in asked)
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
