"""The server as a client meets it: a real process, raw frames, both eras."""

import json
import sys
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from faultless.cli.lookup import load
from faultless.cli.options import ServerCommand, settings_options
from faultless.contract import Fault, FaultKind
from faultless.contract.reader import read
from faultless.kit.toolset import Toolset
from faultless.testing import ERAS, Era, WireClient, connect, golden
from tests.servers.obsidian.session import copy_example

GOLDEN = Path(__file__).parent / "golden"
PLAN = "Projects/Garten 2026/Plan.md"
START_SECONDS = 3.0


def _serve(root: Path, *options: str) -> WireClient:
    return WireClient([sys.executable, "-m", "faultless", "serve", "obsidian", "--root", str(root), *options])


@pytest.mark.parametrize("era", ERAS)
def test_a_note_is_found_read_patched_and_moved(tmp_path: Path, era: Era) -> None:
    root = copy_example(tmp_path)
    with _serve(root) as client:
        _hold_against_golden_files(client.open(era).request("tools/list")["result"]["tools"])
        assert _verdict(client, "health_check", {})["status"] == "ok"
        found = _verdict(client, "search_notes", {"query": "saatgut bestellen"})["notes"]
        assert [note["path"] for note in found] == [PLAN]
        note = _verdict(client, "read_note", {"path": PLAN})
        patch = {
            "path": PLAN,
            "operation": "replace",
            "target_type": "block",
            "target": "order",
            "content": "[x] Saatgut",
        }
        patched = _verdict(client, "patch_note", {**patch, "if_version": note["version"]})
        moved = _verdict(
            client,
            "move_note",
            {"source": PLAN, "destination": "Plan 2026.md", "if_version": patched["version"]},
        )
        assert moved["moved"] is True
        assert _verdict(client, "get_links", {"path": "Plan 2026.md"})["broken"] == []
        assert _verdict(client, "list_notes", {"directory": ""})["count"] == 2
        assert _verdict(client, "list_tags", {"limit": 3})["count"] > 3
    assert "- [x] Saatgut ^order\n" in (root / "Plan 2026.md").read_text()


def _hold_against_golden_files(tools: list[dict[str, Any]]) -> None:
    for tool in tools:
        golden(GOLDEN / f"{tool['name']}.json", tool)
    assert sorted(path.stem for path in GOLDEN.glob("*.json")) == sorted(tool["name"] for tool in tools)


CASES: list[tuple[str, dict[str, Any], FaultKind]] = [
    ("read_note", {"path": "Nowhere.md"}, FaultKind.NOT_FOUND),
    ("read_note", {"path": "../x.md"}, FaultKind.PERMISSION_DENIED),
    ("read_note", {"path": "Corrupt.md"}, FaultKind.PARSE_ERROR),
    ("read_note", {"path": 3}, FaultKind.INVALID_PARAMS),
    ("read_note", {"path": "Home.md", "extra": 1}, FaultKind.INVALID_PARAMS),
    ("write_note", {"path": "Home.md", "body": "x"}, FaultKind.CONFLICT),
    ("write_note", {"path": "Approved/x.md"}, FaultKind.PERMISSION_DENIED),
    ("write_note", {"path": "Latin.md", "body": "x", "overwrite": True}, FaultKind.UNSUPPORTED),
    ("write_note", {"path": "Huge.md", "body": "x", "overwrite": True}, FaultKind.TOO_LARGE),
    ("search_notes", {"query": "(", "regex": True}, FaultKind.INVALID_PARAMS),
]


def test_every_fault_has_the_shape_of_its_dialect(tmp_path: Path) -> None:
    root = copy_example(tmp_path)
    (root / "Latin.md").write_bytes("Grüße".encode("latin-1"))
    (root / "Corrupt.md").write_text("---\na: [\n---\nx\n")
    (root / "Huge.md").write_bytes(b"x" * (16 * 1024 * 1024 + 1))
    with _serve(root) as client:
        client.open("modern")
        for tool, arguments, kind in CASES:
            result = client.call(tool, arguments)["result"]
            assert result["isError"] is True, (tool, arguments)
            payload = json.loads(result["content"][0]["text"])
            assert {"error", "message", "details", "kind", "hint"} <= payload.keys()
            assert (payload["kind"], payload["error"]) == (kind, kind.value)
            assert str(tmp_path) not in str(result)
            fault = read({"result": result}).fault
            assert isinstance(fault, Fault)
            assert fault.kind is kind


def _serve_in_memory(*words: str) -> Toolset:
    """As `serve` builds it from these words."""
    kind = load("obsidian")
    command = ServerCommand("obsidian", kind, params=list(settings_options(kind)))
    parsed = command.make_context("obsidian", list(words))
    assert kind.settings is not None
    return kind.build_toolset(kind.settings(root=Path("nowhere"), **parsed.params))


def _outcomes(toolset: Toolset, *calls: tuple[str, dict[str, str]]) -> list[str]:
    async def run() -> list[str]:
        async with connect(toolset) as client:
            results = [await client.call_tool(tool, arguments) for tool, arguments in calls]
        readings = [read({"result": result.model_dump(mode="json", by_alias=True)}) for result in results]
        return [reading.fault.kind.value if reading.fault else "done" for reading in readings]

    return anyio.run(run)


def test_options_reach_the_vault(tmp_path: Path) -> None:
    root = copy_example(tmp_path)
    (root / "Approved").mkdir()
    (root / "Approved/mail.md").write_text("x")
    scoped = _serve_in_memory("--vault", str(root), "--deny", "Areas", "--allow-write", "Daily/**")
    read_sleep = ("read_note", {"path": "Areas/Health/Sleep.md"})
    read_mail = ("read_note", {"path": "Approved/mail.md"})
    write_daily = ("write_note", {"path": "Daily/x.md", "body": "x"})
    write_top = ("write_note", {"path": "x.md", "body": "x"})
    assert _outcomes(scoped, read_sleep, read_mail, write_daily, write_top) == [
        *["permission_denied"] * 2,
        "done",
        "permission_denied",
    ]
    trusted = _serve_in_memory("--vault", str(root), "--allow-approvals", "--read-only")
    assert _outcomes(trusted, read_sleep, read_mail, write_top) == ["done", "done", "permission_denied"]


def test_a_vault_that_is_not_there_is_told_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(Fault) as told:
        _serve_in_memory("--vault", str(tmp_path / "none"))
    assert "is not there" in told.value.message


@pytest.mark.heavy
def test_health_is_answered_within_three_seconds_of_the_start_at_50_000_notes(tmp_path: Path) -> None:
    for number in range(50_000):
        folder = tmp_path / f"area {number % 25}" / f"topic {number // 25 % 20}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"note {number}.md").write_text("x")
    with _serve(tmp_path) as client:
        assert _verdict(client.open("modern"), "health_check", {})["note_count"] == 50_000
        used = psutil.Process(client.process.pid).cpu_times()  # what it takes where nobody else computes
    assert used.user + used.system < START_SECONDS


def _verdict(client: WireClient, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    response = client.call(tool, arguments)
    reading = read(response)
    assert reading.fault is None, reading.fault
    verdict: dict[str, Any] = response["result"]["structuredContent"]
    return verdict
