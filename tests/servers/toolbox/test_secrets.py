"""Values of named variables stay out of logs and faults, however a limit cuts them."""

import json
from itertools import product
from pathlib import Path

import pytest

from faultless.contract.redaction import Redactor
from faultless.process.capture import Capture
from faultless.servers.toolbox.settings import Settings
from faultless.servers.toolbox.workplace import hide_captured, open_workplace
from tests.servers.toolbox.conftest import TOKEN, in_memory

LIMIT = 64
LEAKY = f"""#!/bin/sh
# @tool Print a secret in the middle of much else, and fail
# @param before: int
# @env SPECIMEN_TOKEN
printf "%${{ARG_BEFORE}}s%s%{LIMIT}s" "" "$SPECIMEN_TOKEN" "" | tr " " . | tee /dev/stderr
exit 1
"""
LEAKY_PYTHON = '''
import os


def py_leak(before: int) -> str:
    """Raise a secret that the limit of a message cuts.

    @env SPECIMEN_TOKEN
    """
    print("." * before + os.environ["SPECIMEN_TOKEN"] + "." * 65536)
    raise ValueError("." * before + os.environ["SPECIMEN_TOKEN"])
'''


def fragments(text: str) -> list[str]:
    """Four characters of the secret are more than chance."""
    return [TOKEN[start : start + 4] for start in range(len(TOKEN) - 3) if TOKEN[start : start + 4] in text]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPECIMEN_TOKEN", TOKEN)
    home = tmp_path / "tools"
    home.mkdir()
    (home / "leak").write_text(LEAKY)
    (home / "leak").chmod(0o755)
    (home / "leaks.py").write_text(LEAKY_PYTHON)
    return home


@pytest.fixture
def redactor(folder: Path, tmp_path: Path) -> Redactor:
    return open_workplace(Settings(root=tmp_path, folder=str(folder))).make_redactor(["SPECIMEN_TOKEN"])


def test_no_cut_leaves_a_part_of_a_secret(redactor: Redactor) -> None:
    for head, tail in product((0, LIMIT // 2 - 5, LIMIT // 2, 3 * LIMIT), range(LIMIT + len(TOKEN))):
        capture = Capture(LIMIT)
        capture.feed(b"." * head + TOKEN.encode() + b"." * tail)
        captured = capture.result()
        shown = hide_captured(redactor, captured)
        assert fragments(shown.text) == [], (head, tail)
        assert ("bytes dropped" in shown.text) == bool(captured.dropped_bytes)


def test_the_test_would_see_a_part_of_a_secret(redactor: Redactor) -> None:
    capture = Capture(LIMIT)
    capture.feed(b"." * (LIMIT // 2 - 5) + TOKEN.encode() + b"." * LIMIT)
    redacted = redactor.hide_text(capture.result().text)
    assert fragments(redacted) == [TOKEN[:4], TOKEN[1:5]]


@pytest.mark.anyio
async def test_a_fault_holds_no_part_of_a_secret(
    folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async with in_memory(folder, tmp_path, output_bytes=LIMIT) as server:
        for before in (LIMIT // 2 - 7, LIMIT):
            answer = await server.call("leak", {"before": before})
            assert answer["result"]["_meta"]["fault"]["kind"] == "tool_failed"
            assert fragments(json.dumps(answer)) == []
        answer = await server.call("py_leak", {"before": 1990})
        assert answer["result"]["_meta"]["fault"]["details"]["exception"] == "ValueError"
        assert fragments(json.dumps(answer)) == []
    assert fragments(capfd.readouterr().err) == []
