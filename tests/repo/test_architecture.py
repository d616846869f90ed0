"""The page that shows the architecture says what the code says."""

import re
from pathlib import Path

from docs import rooms

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_every_step_of_a_calls_way_names_something_that_exists() -> None:
    assert rooms.list_missing_names() == []


def test_every_file_the_page_names_exists() -> None:
    named = set(re.findall(r"`((?:[\w]+/)+\w+\.py)`", PAGE))
    assert named
    assert [name for name in sorted(named) if not (rooms.SOURCE / name).is_file()] == []


def test_every_name_the_page_gives_for_a_place_is_in_that_file() -> None:
    row = re.compile(r"`(\w+/[\w/]+\.py)`, `(?:\w+\.)?(\w+)`")
    found = row.findall(PAGE)
    assert len(found) >= 4
    for path, name in found:
        assert re.search(rf"\b(def|class) {name}\b", (rooms.SOURCE / path).read_text(encoding="utf-8")), name


def test_every_room_is_drawn_and_no_direction_is_missing() -> None:
    folders = {path.name for path in rooms.SOURCE.iterdir() if (path / "__init__.py").is_file()}
    assert folders | {"durable"} == set(rooms.ROOMS)
    assert ("process", "kit") not in rooms.find_directions()
    assert ("client", "kit") not in rooms.find_directions()


def test_decisions_are_numbered_in_one_sequence() -> None:
    names = sorted(path.name for path in (ROOT / "docs" / "decisions").glob("*.md"))
    assert [int(name[:3]) for name in names] == list(range(1, len(names) + 1))
    for name in names:
        first = (ROOT / "docs" / "decisions" / name).read_text(encoding="utf-8").splitlines()[0]
        assert first.startswith(f"# {int(name[:3])}. ")


def test_links_between_pages_lead_somewhere() -> None:
    for page in [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[\w-]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
