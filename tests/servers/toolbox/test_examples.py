"""The examples do what they say, over the wire, in both eras."""

import base64
import shutil
from pathlib import Path

import pytest

from faultless.testing import ERAS, Era
from tests.servers.toolbox.conftest import in_memory
from tests.servers.toolbox.test_commands import EXAMPLES


@pytest.mark.anyio
@pytest.mark.parametrize("era", ERAS)
async def test_all_four_ways_answer_in_one_folder(tmp_path: Path, era: Era) -> None:
    (tmp_path / "notes.txt").write_text("one\n\nthree -x\n")
    async with in_memory(EXAMPLES, tmp_path, era) as server:
        assert await server.say("count_lines", {"path": "notes.txt"}) == "3"
        assert await server.say("count_lines", {"path": "notes.txt", "skip_empty": True}) == "2"
        assert await server.say("find_text", {"text": "-x", "path": "notes.txt"}) == "notes.txt:3:three -x"
        nothing = (await server.call("find_text", {"text": "absent"}))["result"]
        assert (nothing["isError"], nothing["content"][0]["text"], nothing["_meta"]["exit_code"]) == (
            False,
            "",
            1,
        )
        slug = await server.call("slugify", {"title": "Ein schöner Tag!"})
        assert slug["result"]["structuredContent"] == {"slug": "ein-scho-ner-tag"}
        image = (await server.call("draw_dot"))["result"]["content"][0]
        assert (image["type"], image["mimeType"]) == ("image", "image/png")
        assert base64.b64decode(image["data"]).startswith(b"\x89PNG\r\n")
        summary = await server.call("summarise", {"values": [1, 2, 6]})
        assert summary["result"]["structuredContent"] == {"count": 3, "mean": 3.0, "median": 2.0}
        assert (await server.call("convert", {"value": 100}))["result"]["structuredContent"] == {
            "result": 212.0
        }
        assert (await server.say("disk_usage", {"path": "."})).endswith("\t.")
        assert await server.say("sort_lines", {"text": "b\na\nc", "reverse": True}) == "c\nb\na"


@pytest.mark.anyio
async def test_the_mcbox_example_uses_jq(tmp_path: Path) -> None:

    if shutil.which("jq") is None:
        pytest.skip("needs jq, which is not installed")
    (tmp_path / "notes.txt").write_text("one\n")
    async with in_memory(EXAMPLES, tmp_path) as server:
        facts = await server.call("file_facts", {"path": "notes.txt"})
        assert facts["result"]["structuredContent"] == {"bytes": 4, "empty": False}
        assert (await server.call("file_facts", {"path": "none"}))["result"]["isError"] is True
