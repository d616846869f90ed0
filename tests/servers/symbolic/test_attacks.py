"""What hostile code can do when nothing but the sandbox stands before it."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ATTACKER = Path(__file__).parent / "attacker.py"
NAMES = re.findall(r"@attack\ndef (\w+)", ATTACKER.read_text())
DEADLINE_SECONDS = 120


@pytest.fixture(scope="module")
def aftermath(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Every attack's outcome, and what was found where they had struck."""
    canary = tmp_path_factory.mktemp("target") / "canary"
    canary.write_text("untouched")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        done = subprocess.run(
            [sys.executable, str(ATTACKER), str(canary), str(listener.getsockname()[1])],
            capture_output=True,
            text=True,
            timeout=DEADLINE_SECONDS,
            check=True,
        )
        listener.settimeout(0)
        try:
            visited = bool(listener.accept())
        except BlockingIOError:
            visited = False
    found = {path.name: path.read_text() for path in canary.parent.iterdir() if path.is_file()}
    return {"outcomes": json.loads(done.stdout), "files": found, "visited": visited}


def test_there_are_enough_attacks() -> None:
    assert len(NAMES) >= 25


@pytest.mark.parametrize("name", NAMES)
def test_an_attack_is_stopped_by_the_kernel(name: str, aftermath: dict[str, Any]) -> None:
    found = aftermath["outcomes"][name]
    if found["layers"] != ["limits", "namespaces", "landlock", "seccomp"]:
        pytest.skip(f"this system only gives {found['layers']}")
    assert found["outcome"].startswith("stopped"), found


def test_the_attacks_left_nothing_and_reached_nobody(aftermath: dict[str, Any]) -> None:
    assert aftermath["files"] == {"canary": "untouched"}
    assert not aftermath["visited"]
    assert not (Path(sys.prefix) / "planted.pth").exists()


@pytest.mark.parametrize(
    "name", ["read_a_secret_file", "write_a_file", "fork_a_process", "connect_to_a_server"]
)
def test_the_same_attack_gets_through_without_the_sandbox(name: str, tmp_path: Path) -> None:
    (tmp_path / "canary").write_text("secret")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        done = subprocess.run(
            [sys.executable, "-c", f"import attacker; attacker.ATTACKS[{name!r}]()", str(tmp_path / "canary"),
             str(listener.getsockname()[1])],
            cwd=ATTACKER.parent,
            capture_output=True,
            text=True,
            timeout=DEADLINE_SECONDS,
            check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
