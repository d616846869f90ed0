"""The examples of the client's page run as they stand."""

import os
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = re.findall(
    r"^```python\n(.*?)^```", (ROOT / "docs/client.md").read_text(), re.MULTILINE | re.DOTALL
)
PRINTED = [
    "not_found: ",
    "",
    "from the cache fallback",
    "Summarise Moby-Dick.",
    "vault__read_note",
    "booked: 2",
]


@pytest.mark.anyio
@pytest.mark.parametrize(("example", "printed"), list(zip(EXAMPLES, PRINTED, strict=True)))
async def test_an_example_of_the_page_runs(
    example: str, printed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    names: dict[str, Any] = {}
    exec(f"async def example():\n{textwrap.indent(example, '    ')}", names)
    await names["example"]()
    assert printed in capsys.readouterr().out
