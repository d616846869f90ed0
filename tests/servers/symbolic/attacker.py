"""Runs each attack inside the sandbox, with nothing in front of the kernel's layers; prints what came of it.

`python attacker.py CANARY PORT` forks for each, puts the child under every layer but the audit hook, and
attacks.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from faultless.servers.symbolic.worker.faultless_symbolic_worker import sandbox

CANARY = Path(sys.argv[1])
PORT = int(sys.argv[2])
LIBC = ctypes.CDLL(None, use_errno=True)
MEMORY_BYTES = 1 << 30
ATTACKS: dict[str, Callable[[], object]] = {}


def attack(function: Callable[[], object]) -> Callable[[], object]:
    ATTACKS[function.__name__] = function
    return function


def raw(number: int, *arguments: object) -> int:
    """A system call that no Python function stands in front of; raises where the kernel refuses."""
    result = int(LIBC.syscall(number, *arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


@attack
def read_a_secret_file() -> object:
    return CANARY.read_text()


@attack
def read_the_password_file() -> object:
    return Path("/etc/passwd").read_text()


@attack
def read_the_parents_memory() -> object:
    return Path(f"/proc/{os.getppid()}/mem").open("rb").read(1)


@attack
def list_the_home_folder() -> object:
    return list(Path.home().iterdir())


@attack
def write_a_file() -> object:
    return CANARY.write_text("overwritten")


@attack
def write_beside_the_interpreter() -> object:
    return (Path(sys.prefix) / "planted.pth").write_text("import os")


@attack
def make_a_folder() -> None:
    CANARY.with_name("folder").mkdir()


@attack
def delete_a_file() -> None:
    CANARY.unlink()


@attack
def rename_a_file() -> object:
    return CANARY.rename(CANARY.with_name("moved"))


@attack
def link_a_file() -> None:
    CANARY.with_name("link").symlink_to("/etc/passwd")


@attack
def change_permissions() -> None:
    CANARY.chmod(0o777)


@attack
def connect_to_a_server() -> object:
    return socket.create_connection(("127.0.0.1", PORT), timeout=2)


@attack
def open_a_unix_socket() -> object:
    return socket.socket(socket.AF_UNIX)


@attack
def send_a_datagram() -> object:
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", PORT))


@attack
def fork_a_process() -> object:
    if os.fork() == 0:
        os._exit(0)
    return "forked"


@attack
def run_a_program() -> object:
    return subprocess.run(["/bin/true"], check=False)


@attack
def replace_itself() -> object:
    return os.execv("/bin/sh", ["sh", "-c", f"echo escaped > {CANARY}"])


@attack
def signal_the_parent() -> None:
    os.kill(os.getppid(), signal.SIGTERM)


@attack
def signal_everybody() -> None:
    os.kill(-1, signal.SIGSTOP)


@attack
def signal_the_group_raw() -> object:
    return raw(62, 0, signal.SIGSTOP)


@attack
def trace_the_parent() -> object:
    return raw(101, 16, os.getppid(), 0, 0)


@attack
def read_the_parents_memory_raw() -> object:
    return raw(310, os.getppid(), None, 0, None, 0, 0)


@attack
def fork_raw() -> object:
    if raw(57) == 0:
        os._exit(0)
    return "forked"


@attack
def clone3_raw() -> object:
    return raw(435, ctypes.create_string_buffer(88), 88)


@attack
def open_for_writing_raw() -> object:
    return raw(257, -100, str(CANARY).encode(), os.O_RDWR, 0)


@attack
def openat2_raw() -> object:
    return raw(437, -100, str(CANARY).encode(), ctypes.create_string_buffer(24), 24)


@attack
def second_system_call_table() -> object:
    return raw(0x40000000 + 57)


@attack
def io_uring_raw() -> object:
    return raw(425, 8, ctypes.create_string_buffer(120))


@attack
def memory_file_raw() -> object:
    return raw(319, b"x", 0)


@attack
def new_namespace_raw() -> object:
    return raw(272, 0x10000000)


@attack
def mount_raw() -> object:
    return raw(165, b"none", b"/tmp", b"tmpfs", 0, None)


@attack
def load_a_kernel_program_raw() -> object:
    return raw(321, 0, ctypes.create_string_buffer(64), 64)


@attack
def shared_memory_raw() -> object:
    return raw(29, 4711, 4096, 0o1777)


@attack
def raise_its_own_limits() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


@attack
def leave_the_session() -> None:
    os.setsid()


@attack
def eat_memory() -> object:
    return len(bytearray(2 * MEMORY_BYTES))


@attack
def open_many_descriptors() -> object:
    return [os.dup(0) for _ in range(200)]


@attack
def start_many_threads() -> object:
    stop = threading.Event()
    threads = [threading.Thread(target=stop.wait, daemon=True) for _ in range(5000)]
    for thread in threads:
        thread.start()
    return len(threads)


@attack
def stop_dying_with_the_parent() -> object:
    return raw(157, 1, 0)


def run_sandboxed(name: str) -> dict[str, object]:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        sandbox.silence()
        sandbox.close_all_but(writing)
        layers = sandbox.enter(MEMORY_BYTES, 20, without=("audit",))
        try:
            outcome = f"got through: {ATTACKS[name]()!r}"
        except BaseException as error:  # noqa: BLE001 - whatever stops an attack is reported
            outcome = f"stopped: {type(error).__name__}"
        os.write(writing, json.dumps({"layers": layers, "outcome": outcome}).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    os.waitpid(pid, 0)
    found: dict[str, object] = json.loads(data or b'{"layers": [], "outcome": "stopped: killed"}')
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps({name: run_sandboxed(name) for name in ATTACKS}))
