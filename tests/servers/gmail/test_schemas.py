"""What the tools promise, held against golden files."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultless.kit.toolset import Tool
from faultless.servers.gmail.settings import Settings
from faultless.servers.gmail.toolset import build_toolset
from faultless.testing import golden

GOLDEN = Path(__file__).with_name("golden")
SEED = {
    "health_check": set(),
    "send_email": {"to", "subject", "body", "reply_to_message_id"},
    "list_emails": {"query", "max_results"},
    "get_email": {"message_id"},
    "move_email": {"message_id", "destination_label"},
    "add_label": {"message_id", "label_name"},
}
TOOLS = build_toolset(Settings(root=Path(), token=Path("t"), state=Path("s"))).tools


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_a_tool_is_what_its_golden_file_says(tool: Tool) -> None:
    golden(
        GOLDEN / f"{tool.name}.json",
        {"description": tool.description, "input": tool.input_schema, "output": tool.output_schema},
    )


@pytest.mark.parametrize("name", SEED)
def test_the_tools_of_the_source_take_what_they_took(name: str) -> None:
    assert set(TOOLS[name].input_schema.get("properties", {})) >= SEED[name]


def test_only_sending_is_called_destructive() -> None:
    assert [tool.name for tool in TOOLS.values() if tool.annotations.destructive] == ["send_email"]
