"""Code that nobody uses is found; what only looks unused has its reason here."""

from __future__ import annotations

import re
from pathlib import Path

from vulture import Vulture  # type: ignore[import-untyped]  # it has none

ROOT = Path(__file__).parents[2]
SURE_ENOUGH = 60

# A pattern for "path: name", and who uses it.
USED_BY_OTHERS = {
    r"/(inputs|outputs)\.py: ": "pydantic, and whoever reads the answer",
    r"/toolset\.py: ": "clients, which call tools by their names",
    r"/cli/.*: (get_command|format_commands|settle|list_)$": "click",
    r": pytest_\w+$": "pytest's hooks",
    r": handle_(starttag|data)$": "html.parser",
    r": log_message$": "http.server",
    r": validate_tool_result$": "the SDK's session",
    r": visit_\w+$": "ast.NodeVisitor",
    r"faultless/__init__\.py: __getattr__$": "the import system",
}


def find_unused(paths: list[Path]) -> list[str]:
    vulture = Vulture()
    vulture.scavenge([str(path) for path in paths])
    return [
        f"{Path(item.filename).relative_to(ROOT).as_posix()}: {item.name}"
        for item in vulture.get_unused_code(min_confidence=SURE_ENOUGH)
        if Path(item.filename).is_relative_to(ROOT / "src")
    ]


def test_everything_in_src_is_used_or_has_a_reason() -> None:
    unused = find_unused([ROOT / name for name in ("src", "tests", "bench", "docs")])
    assert [entry for entry in unused if not any(re.search(known, entry) for known in USED_BY_OTHERS)] == []


def test_every_exception_is_still_needed() -> None:
    unused = find_unused([ROOT / name for name in ("src", "tests", "bench", "docs")])
    assert [known for known in USED_BY_OTHERS if not any(re.search(known, entry) for entry in unused)] == []


def test_planted_unused_code_is_seen(tmp_path: Path) -> None:
    planted = tmp_path / "planted.py"
    planted.write_text("def nobody_calls_this():\n    pass\n")
    vulture = Vulture()
    vulture.scavenge([str(planted)])
    assert [item.name for item in vulture.get_unused_code()] == ["nobody_calls_this"]
