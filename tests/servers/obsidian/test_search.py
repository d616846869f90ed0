"""Search: what is found, in which order, and what is refused."""

import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultless.contract import FaultKind
from faultless.servers.obsidian import index, search
from faultless.servers.obsidian.index import Texts, fold_text, text_of
from tests.servers.obsidian.session import Session

PLAN = "Projects/Garten 2026/Plan.md"


def _paths(session: Session, **arguments: object) -> list[str]:
    return [note["path"] for note in session.call("search_notes", **arguments)["notes"]]


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("BILDSCHIRM", "Areas/Health/Sleep.md"),
        ("ildschir", "Areas/Health/Sleep.md"),
        ("眠は大", "Areas/Health/Sleep.md"),
        ("jürgen GRÖSSE", "Areas/Jürgen Größe.md"),
        ("u\u0308bersicht", PLAN),
        ("Ab 22 Uhr kein", "Areas/Health/Sleep.md"),
    ],
)
def test_a_substring_is_found_whatever_its_case_script_or_composition(
    example: Session, query: str, path: str
) -> None:
    assert path in _paths(example, query=query)


def test_nothing_found_is_a_verdict(example: Session) -> None:
    assert example.call("search_notes", query="nowhere at all") == {
        "notes": [],
        "count": 0,
        "next_cursor": None,
    }


def test_titles_come_before_headings_before_bodies_and_new_before_old(empty: Session) -> None:
    for age, (path, text) in enumerate(
        [
            ("body new.md", "apple"),
            ("body old.md", "apple"),
            ("head.md", "x\n## Apple pie\n"),
            ("Apple.md", "y"),
        ]
    ):
        os.utime(empty.put(path, text), ns=(0, 10**18 - age * 10**9))
    found = empty.call("search_notes", query="apple")["notes"]
    assert [(note["path"], note["matched"]) for note in found] == [
        ("Apple.md", "title"), ("head.md", "heading"), ("body new.md", "body"), ("body old.md", "body"),
    ]  # fmt: skip
    assert (found[1]["line"], found[1]["snippet"]) == (2, "x ## Apple pie")


def test_a_snippet_surrounds_the_hit_and_is_short(empty: Session) -> None:
    empty.put("a.md", "lorem ipsum\n" * 100 + "ßß the NEEDLE here " + "dolor " * 200)
    note = empty.call("search_notes", query="needle")["notes"][0]
    assert "the NEEDLE here" in note["snippet"]
    assert len(note["snippet"]) <= 200
    assert note["line"] == 101


def test_patterns_tags_fields_and_folders_narrow_a_search(example: Session) -> None:
    assert _paths(example, query=r"^- \[x\] Boden", regex=True) == [PLAN]
    assert _paths(example, query="plan$", regex=True, path="Areas") == []
    assert set(_paths(example, tag="health")) == {"Areas/Health/Sleep.md", "Areas/Health/Running.md"}
    assert _paths(example, tag="#sport") == ["Areas/Health/Running.md"]
    assert _paths(example, tag="garden") == [PLAN]
    assert _paths(example, tag="gard") == []
    assert _paths(example, frontmatter="priority:2") == [PLAN]
    assert _paths(example, frontmatter='priority:"2"') == []
    assert _paths(example, frontmatter="date:2026-03-01") == ["Daily/2026-03-01.md"]
    assert _paths(example, frontmatter="done:false") == ["Areas/Health/Sleep.md"]
    assert _paths(example, frontmatter="mood:null") == ["Daily/2026-03-01.md"]
    assert _paths(example, query="plan", path="Daily/") == ["Daily/2026-03-01.md"]
    assert _paths(example, query="laufen", tag="health", frontmatter="distance_km:12") == [
        "Areas/Health/Running.md"
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"query": "  "},
        {"query": "(", "regex": True},
        {"query": "x", "frontmatter": "no colon"},
        {"query": "x", "frontmatter": ":value"},
        {"query": "x", "frontmatter": "field:"},
        {"query": "x", "cursor": "not one"},
        {"query": "x", "limit": 0},
        {"query": "x", "limit": 10_000},
        {"query": 7},
        {"query": "x", "unknown": 1},
    ],
)
def test_malformed_searches_are_invalid(example: Session, arguments: dict[str, object]) -> None:
    assert example.fault("search_notes", **arguments).kind is FaultKind.INVALID_PARAMS


def test_a_pattern_that_explodes_is_stopped(empty: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "PATTERN_DEADLINE_SECONDS", 0.5)
    empty.put("a.md", "a" * 5000 + "!")
    started = time.monotonic()
    fault = empty.fault("search_notes", query=r"(a|aa)+\1?(a+)+$", regex=True)
    assert fault.kind is FaultKind.TIMEOUT
    assert time.monotonic() - started < 20


def test_pages_join_to_the_whole_even_while_notes_change(empty: Session) -> None:
    for number in range(25):
        os.utime(empty.put(f"n{number:02}.md", "common"), ns=(0, 10**18 + number * 10**9))
    seen: list[str] = []
    cursor = None
    while True:
        page = empty.call("search_notes", query="common", limit=10, cursor=cursor)
        seen += [note["path"] for note in page["notes"]]
        cursor = page["next_cursor"]
        empty.put("late.md", "common")  # newer than everything: belongs before the first page
        if cursor is None:
            break
    assert seen == [f"n{number:02}.md" for number in range(24, -1, -1)]


def test_listing_is_flat_unless_asked_filtered_and_paged(example: Session) -> None:
    top = example.call("list_notes")
    assert [note["path"] for note in top["notes"]] == ["Home.md"]
    assert top["folders"] == ["Areas", "Attachments", "Daily", "Drafts", "Projects", "Templates"]
    health = example.call("list_notes", directory="Areas", recursive=True, filter="tags:health")
    assert [note["path"] for note in health["notes"]] == ["Areas/Health/Running.md", "Areas/Health/Sleep.md"]
    first = example.call("list_notes", recursive=True, limit=4)
    second = example.call("list_notes", recursive=True, limit=4, cursor=first["next_cursor"])
    assert first["count"] == second["count"] == example.call("health_check")["note_count"]
    assert not {note["path"] for note in first["notes"]} & {note["path"] for note in second["notes"]}
    assert all(len(note["snippet"]) <= 200 for note in first["notes"])


def test_a_missing_folder_is_not_found_and_a_bad_filter_is_invalid(example: Session) -> None:
    assert example.fault("list_notes", directory="Nowhere").kind is FaultKind.NOT_FOUND
    assert example.fault("list_notes", filter="nonsense").kind is FaultKind.INVALID_PARAMS
    assert example.fault("list_notes", cursor="\x00").kind is FaultKind.INVALID_PARAMS


def test_tags_are_counted_with_their_notes(example: Session) -> None:
    example.put("t.md", "#health #Health #new/tag `#code` #123 a#b\n```\n#fenced\n```\n")
    tags = {one["tag"].lower(): one["notes"] for one in example.call("list_tags")["tags"]}
    assert tags["health"] == 3
    assert tags["new/tag"] == 1
    assert not {"code", "fenced", "123", "b"} & set(tags)
    assert [one["tag"] for one in example.call("list_tags", prefix="project")["tags"]] == ["project/garden"]


WORDS = st.text("abÄß項 \n#", max_size=12)


@given(
    st.lists(st.tuples(st.integers(0, 30), st.booleans(), WORDS), max_size=60),
    st.text("abÄß項 #", min_size=1, max_size=3),
)
def test_the_packed_index_finds_what_a_plain_scan_finds(
    changes: list[tuple[int, bool, str]], query: str
) -> None:
    small = pytest.MonkeyPatch()
    small.setattr(index, "SEGMENT_NOTES", 8)
    small.setattr(index, "_DENSE", 2)
    texts, plain = Texts(), dict[str, bytes]()
    for number, remove, body in changes:
        path = f"note {number}.md"
        if remove:
            texts.remove(path)
            plain.pop(path, None)
        else:
            texts.put(path, text_of(path, body.encode()))
            plain[path] = fold_text(body)
    small.undo()
    needle = fold_text(query)
    assert texts.find(needle).bodies == {path for path, body in plain.items() if needle in body}
    assert dict(texts.bodies(plain)) == plain
