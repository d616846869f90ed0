"""Situations by somebody who had read the documents and neither code nor tests: as plain pytest, edit by edit."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from faultless.testing import WireClient
from tests.servers.pytest.conftest import LIGHT, WireServer, serving_command, start_of
from tests.servers.pytest.test_battery import ask_plain, read

SITUATIONS: dict[str, dict[str, Any]] = {
    situation["name"]: situation
    for situation in json.loads(Path(__file__).with_name("strangers.json").read_text())
}
QUICK = ("git state stat",)


def edit(root: Path, change: str | dict[str, str | None]) -> None:
    """A line for the shell, or files with their text; None is a file that goes."""
    if isinstance(change, str):
        subprocess.run(change, shell=True, cwd=root, check=True)
        return
    for name, text in change.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink() if text is None else path.write_text(text)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.heavy) for name in SITUATIONS]
)
def test_every_answer_is_what_plain_pytest_says(tmp_path: Path, name: str) -> None:
    situation = SITUATIONS[name]
    warm, plain = tmp_path / "warm", tmp_path / "plain"
    for root in (warm, plain):
        root.mkdir()
        edit(root, situation["files"])
        edit(root, situation["edits"][0])
    env = {**LIGHT, "PYTHONPATH": "", "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(tmp_path)}
    early = 0
    with WireClient(serving_command(warm), env=env, deadline_seconds=180) as client:
        server = WireServer(client.open("handshake"))
        for change in ({}, *situation["edits"][1:]):
            for root in (warm, plain):
                edit(root, change)
            response = server.call("execute_tests", {"verbosity": 1, "json_report": True})
            assert read(response) == ask_plain(plain, env, tmp_path), change
            early += "result" in response and start_of(response)["way"] == "early"
            server.let_begin()
    assert early


def test_at_least_fifteen_come_from_a_stranger() -> None:
    assert len(SITUATIONS) >= 15
