"""What a person sees: the rendered answer, the exit status, the doctor's lines."""

import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from faultless.servers.obsidian.doctor import diagnose
from faultless.servers.obsidian.rendering import is_bad_news, render
from tests.servers.obsidian.session import Session

DEADLINE_SECONDS = 60
WITHOUT_EXTRA = """
import sys
from pathlib import Path

for name in ("ruamel", "yaml12", "regex"):
    sys.modules[name] = None  # as if it were not installed
from faultless.servers.obsidian import doctor, rendering, settings

for check in doctor.diagnose(Path(sys.argv[1])):
    print(check.name, check.ok, check.found, check.fix, sep="|")
print(settings.Settings(root=Path()).trash_megabytes, rendering.is_bad_news("read_note", {}))
"""


def _show(tool: str, answer: dict[str, Any]) -> str:
    screen = Console(file=StringIO(), width=100)
    screen.print(render(tool, answer))
    output = screen.file
    assert isinstance(output, StringIO)
    return output.getvalue()


def test_notes_and_lists_are_shown_for_reading(example: Session) -> None:
    assert "Bildschirm" in _show("read_note", example.call("read_note", path="Areas/Health/Sleep.md"))
    shown = _show("search_notes", example.call("search_notes", query="saatgut bestellen"))
    assert "1 notes" in shown
    assert "Projects/Garten 2026/Plan.md" in shown
    assert render("list_tags", example.call("list_tags")) is None


def test_broken_links_are_bad_news_and_an_empty_search_is_not(empty: Session) -> None:
    empty.put("a.md", "[[nowhere]]")
    empty.put("b.md", "[[a]]")
    assert is_bad_news("get_links", empty.call("get_links", path="a.md"))
    assert not is_bad_news("get_links", empty.call("get_links", path="b.md"))
    assert not is_bad_news("search_notes", empty.call("search_notes", query="nothing at all"))


def test_the_doctor_looks_at_vault_and_freshness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VAULT_PATH", raising=False)
    found = {check.name: check for check in diagnose(tmp_path)}
    assert list(found) == ["vault", "freshness"]
    assert (found["vault"].ok, found["vault"].found) == (True, str(tmp_path))
    monkeypatch.setenv("VAULT_PATH", str(tmp_path / "none"))
    assert [(check.name, check.ok) for check in diagnose(tmp_path)] == [("vault", False)]


def test_without_the_extra_doctor_rendering_and_settings_can_be_used(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRA, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "256 False"
