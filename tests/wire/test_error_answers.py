"""What every server answers when it cannot do its job, word for word, and that every client can show it.

The TypeScript SDK 1.x holds `structuredContent` against the tool's output schema even on errors, and then shows
nothing of the fault. Python clients do not, so no test with one of them would see it.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from faultless.contract import read
from faultless.testing import Era, WireClient, golden

GOLDEN = Path(__file__).parent / "golden"
REPOSITORY = Path(__file__).parents[2]
EXAMPLES = REPOSITORY / "examples"

BROKEN = {"code": "def f(x: int) -> int:\n    return (", "function_name": "f"}
# For each server: what to serve, and calls that it cannot serve beside those every tool refuses.
SERVERS: dict[str, tuple[list[str], list[tuple[str, dict[str, Any]]]]] = {
    "pytest": (
        [f"--root={EXAMPLES / 'project'}", "--cold"],
        [("execute_tests", {"node_ids": ["tests/test_baskte.py"]}), ("execute_tests", {"verbosity": 10})],
    ),
    "symbolic": ([], [("symbolic_check", BROKEN), ("symbolic_check", {**BROKEN, "timeout_seconds": 0})]),
    "toolbox": (
        [str(Path(__file__).parent / "tools")],
        [("half_done", {}), ("average", {"values": []}), ("average", {"values": "1, 2"})],
    ),
    "obsidian": (
        [f"--root={EXAMPLES / 'vault'}"],
        [("read_note", {"path": "Hom.md"}), ("read_note", {"path": "../project/x.md"})],
    ),
    "gmail": (["--token=no-such-login.json", "--state=no-such-state"], [("health_check", {})]),
}
MODES: dict[str, Era] = {"native": "handshake", "result": "modern"}


def ask(name: str, faults: str, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Every call that must fail, with its answer; and each tool's output schema."""
    options, calls = SERVERS[name]
    root = [] if any(option.startswith("--root") for option in options) else [f"--root={folder}"]
    command = [sys.executable, "-P", "-m", "faultless", "serve", name, *options, *root, f"--faults={faults}"]
    with WireClient(command, cwd=folder) as client:
        listed = client.open(MODES[faults]).request("tools/list")["result"]["tools"]
        refused = [(tool["name"], {"no_such_parameter": 1}) for tool in listed]
        told = {
            f"{tool} {json.dumps(arguments)}": client.call(tool, arguments)
            for tool, arguments in [*refused, *calls, ("no_such_tool", {})]
        }
    return told, {tool["name"]: tool.get("outputSchema") for tool in listed}


def find_lost(told: dict[str, Any], schemas: dict[str, Any]) -> list[str]:
    """Calls whose fault a client that checks schemas would lose."""
    return [
        call
        for call, answer in told.items()
        if "structuredContent" in answer.get("result", {}) and schemas.get(call.split()[0])
    ]


@pytest.mark.parametrize("faults", MODES)
@pytest.mark.parametrize("name", SERVERS)
def test_an_error_answer_is_what_its_golden_file_says_and_no_client_loses_it(
    name: str, faults: str, tmp_path: Path
) -> None:
    told, schemas = ask(name, faults, tmp_path)

    assert any(schemas.values())
    assert find_lost(told, schemas) == []
    for call, answer in told.items():
        fault = read(answer).fault
        assert fault is not None, call
        seen = answer["error"]["message"] if "error" in answer else answer["result"]["content"][-1]["text"]
        for words in (fault.message, fault.hint or ""):
            assert words in seen or json.dumps(words, ensure_ascii=False)[1:-1] in seen, call
    kept = {call: mask(answer) for call, answer in told.items() if "no_such_parameter" not in call}
    golden(GOLDEN / f"{name}_{faults}.json", kept)


def mask(answer: dict[str, Any]) -> Any:  # noqa: ANN401 - any JSON
    """Without what differs from run to run and from machine to machine."""
    shown = json.loads(re.sub(r'"duration_seconds": [0-9.]+', '"duration_seconds": 0', json.dumps(answer)))
    shown.get("result", {}).get("_meta", {}).pop("faultless/interpreter", None)
    shown.get("result", {}).get("_meta", {}).pop("io.modelcontextprotocol/serverInfo", None)
    return {name: value for name, value in shown.items() if name != "id"}


def test_an_answer_that_a_client_would_lose_is_noticed() -> None:
    answer = {"result": {"isError": True, "content": [], "structuredContent": {"error": "not_found"}}}

    assert find_lost({"read_note {}": answer}, {"read_note": {"type": "object"}}) == ["read_note {}"]
    assert find_lost({"read_note {}": answer}, {"read_note": None}) == []


def list_error_answers(value: object) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if value.get("isError") is True:
            yield value
        for item in value.values():
            yield from list_error_answers(item)


def test_no_golden_error_answer_has_a_structured_half() -> None:
    answers = [
        (path.name, answer)
        for path in (REPOSITORY / "tests").glob("**/golden/*.json")
        for answer in list_error_answers(json.loads(path.read_text(encoding="utf-8")))
    ]

    assert {f"{name}_result.json" for name in SERVERS} <= {name for name, _ in answers}
    assert [name for name, answer in answers if "structuredContent" in answer] == []
