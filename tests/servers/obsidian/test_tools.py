"""The tools, through the boundary."""

import os
import unicodedata
from pathlib import Path
from typing import Literal

import pytest

from faultless.contract import FaultKind
from faultless.servers.obsidian.note import Note
from tests.servers.obsidian.session import Session, snapshot

PLAN = "Projects/Garten 2026/Plan.md"


def test_health_counts_the_notes_that_can_be_served(example: Session) -> None:
    health = example.call("health_check")
    notes = [name for name in snapshot(example.root) if name.endswith(".md")]
    assert (health["status"], health["note_count"], health["freshness"]) == ("ok", len(notes), "watched")


def test_a_note_only_read_and_written_back_is_byte_identical(example: Session) -> None:
    before = snapshot(example.root)
    for path in [name for name in before if name.endswith(".md")]:
        note = example.call("read_note", path=path)
        again = example.call("write_note", path=path, frontmatter=note["frontmatter"], body=note["body"])
        assert again["version"] == note["version"]
    assert snapshot(example.root) == before
    assert not (example.root / ".trash").exists()


def test_reading_gives_dates_as_text(example: Session) -> None:
    fields = example.call("read_note", path="Areas/Health/Sleep.md")["frontmatter"]
    assert fields == {"tags": "health", "rating": 7.5, "reviewed": "2026-02-11T21:30:00+01:00", "done": False}


def test_corrupt_frontmatter_is_a_parse_error_with_the_line_and_the_body(empty: Session) -> None:
    path = empty.root / "Broken.md"
    path.write_text("---\ndate: [\n---\n# {{title}}\n")
    fault = empty.fault("read_note", path="Broken.md")
    assert fault.kind is FaultKind.PARSE_ERROR
    assert fault.details["line"] == 3
    assert fault.details["body"] == "# {{title}}\n"
    fault = empty.fault("write_note", path="Broken.md", frontmatter={"a": 1})
    assert fault.kind is FaultKind.PARSE_ERROR
    empty.call("write_note", path="Broken.md", frontmatter={"a": 1}, frontmatter_mode="replace")
    assert path.read_text() == "---\na: 1\n---\n# {{title}}\n"


TEMPLATE = """\
---
# a daily note
date: {{date}}
title: {{title}} of {{date:YYYY-MM-DD}}
tags: [daily, {{tag}}]
up: "[[{{yesterday}}]]"
made: <% tp.date.now("YYYY") %>
done: false
---
# {{title}}
"""


def test_a_template_is_an_ordinary_note(empty: Session) -> None:
    path = empty.root / "Daily.md"
    path.write_text(TEMPLATE)
    note = empty.call("read_note", path="Daily.md")
    assert note["frontmatter"] == {
        "date": "{{date}}",
        "title": "{{title}} of {{date:YYYY-MM-DD}}",
        "tags": ["daily", "{{tag}}"],
        "up": "[[{{yesterday}}]]",
        "made": '<% tp.date.now("YYYY") %>',
        "done": False,
    }
    assert note["body"] == "# {{title}}\n"
    assert note["template"] == TEMPLATE.partition("---\n")[2].partition("---\n")[0]
    again = empty.call("write_note", path="Daily.md", frontmatter=note["frontmatter"], body=note["body"])
    assert again["version"] == note["version"]


def test_a_template_s_fields_and_text_can_be_patched_and_nothing_else_changes(empty: Session) -> None:
    path = empty.root / "Daily.md"
    path.write_text(TEMPLATE)
    empty.call(
        "patch_note",
        path="Daily.md",
        operation="replace",
        target_type="frontmatter",
        target="done",
        content=True,
    )
    empty.call(
        "patch_note",
        path="Daily.md",
        operation="append",
        target_type="frontmatter",
        target="tags",
        content="{{mood}}",
    )
    empty.call("patch_note", path="Daily.md", operation="append", target_type="note", content="end")
    text = TEMPLATE.replace("done: false", "done: true").replace("{{tag}}]", '{{tag}}, "{{mood}}"]') + "end\n"
    assert path.read_text() == text
    assert empty.call("list_notes", filter="done:true")["count"] == 1


def test_one_frontmatter_key_can_be_removed_and_every_other_byte_stays(empty: Session) -> None:
    path = empty.root / "Note.md"
    for text in ("---\n# keep\na: 1 # one\nb:\n  - x\nc: 'z'\n---\nbody\n", TEMPLATE):
        path.write_text(text)
        key = "b" if text != TEMPLATE else "title"
        gone = "b:\n  - x\n" if text != TEMPLATE else "title: {{title}} of {{date:YYYY-MM-DD}}\n"
        remove = {"path": "Note.md", "operation": "remove", "target_type": "frontmatter"}
        empty.call("patch_note", **remove, target=key)
        assert path.read_text() == text.replace(gone, "")
        fault = empty.fault("patch_note", **remove, target=key)
        assert fault.kind is FaultKind.NOT_FOUND
    assert (
        empty.fault("patch_note", path="Note.md", operation="remove", target_type="note").kind
        is FaultKind.INVALID_PARAMS
    )


def test_a_note_whose_lines_end_in_bare_returns_keeps_them(empty: Session) -> None:
    path = empty.root / "Mac.md"
    path.write_bytes(b"---\rstatus: old\r---\r# One\rtext\r# Two\rmore\r")
    note = empty.call("read_note", path="Mac.md")
    assert note["frontmatter"] == {"status": "old"}
    assert note["body"] == "# One\ntext\n# Two\nmore\n"
    again = empty.call("write_note", path="Mac.md", frontmatter=note["frontmatter"], body=note["body"])
    assert again["version"] == note["version"]
    empty.call("write_note", path="Mac.md", frontmatter={"status": "new"})
    empty.call(
        "patch_note", path="Mac.md", operation="append", target_type="heading", target="One", content="added"
    )
    assert path.read_bytes() == b"---\rstatus: new\r---\r# One\rtext\radded\r# Two\rmore\r"


def test_a_note_that_cannot_be_read_is_said_to_be_so_in_a_listing(empty: Session) -> None:
    (empty.root / "Good.md").write_text("fine")
    (empty.root / "Large.md").write_bytes(b"x" * ((16 << 20) + 1))
    good, large = empty.call("list_notes")["notes"]
    assert (good["snippet"], good["unreadable"]) == ("fine", None)
    assert large["snippet"] == ""
    assert "bytes are served" in large["unreadable"]


def test_links_in_a_base_follow_a_move(empty: Session) -> None:
    base = empty.root / "Tasks.base"
    text = """\
filters:
  and:
    - file.hasLink("Plan")
    - 'author == link("People/Bo")'
    - "up == link(\\"Plan\\")"
    - note == link('Plan')
    - file.inFolder("Plan")
    - up == [[Plan]]
    - link("https://example.com/Plan")
"""
    base.write_text(text)
    (empty.root / "Plan.md").write_text("x")
    answer = empty.call("move_note", source="Plan.md", destination="Old/Scheme.md")
    assert answer["rewritten"] == [{"path": "Tasks.base", "links": 4}]
    assert base.read_text() == text.replace('hasLink("Plan")', 'hasLink("Scheme")').replace(
        'link(\\"Plan\\")', 'link(\\"Scheme\\")'
    ).replace("link('Plan')", "link('Scheme')").replace("[[Plan]]", "[[Scheme]]")


@pytest.mark.parametrize(
    "folder",
    [
        "\uff21pproved",
        "Approved\u00a0",
        "\u0410pproved",
        "D\u03bfne",
        "\u202eApproved",
        "Appro\u200bved",
        "Rejec\u0301ted",
        "\u3164Approved",
        "Drafts/Appr\u043eved",
    ],
    ids=ascii,
)
def test_a_name_that_passes_for_another_is_refused_on_writing(empty: Session, folder: str) -> None:
    fault = empty.fault("write_note", path=f"{folder}/x.md", body="x")
    assert fault.kind is FaultKind.PERMISSION_DENIED
    (empty.root / "a.md").write_text("x")
    moved = empty.fault("move_note", source="a.md", destination=f"{folder}/x.md")
    assert moved.kind is FaultKind.PERMISSION_DENIED


@pytest.mark.parametrize("name", ["Привет", "日本語", "café", "Ångström", "\U0001f468\u200d\U0001f4bb log"])
def test_names_of_all_scripts_are_written(empty: Session, name: str) -> None:
    assert empty.call("write_note", path=f"{name}/{name}.md", body="x")["created"] is True


def test_writing_merges_frontmatter_and_keeps_the_body(example: Session) -> None:
    old = (example.root / PLAN).read_text()
    example.call("read_note", path=PLAN)
    answer = example.call("write_note", path=PLAN, frontmatter={"status": "done", "end": "2026-10-01"})
    new = (example.root / PLAN).read_text()
    assert new == old.replace("status: active", "status: done").replace(
        'related: "[[Beete und Wege]]"\n', 'related: "[[Beete und Wege]]"\nend: 2026-10-01\n'
    )
    assert answer["created"] is False
    assert answer["frontmatter"]["start"] == "2026-03-01"


def test_writing_can_replace_the_frontmatter(example: Session) -> None:
    example.call("read_note", path=PLAN)
    answer = example.call(
        "write_note", path=PLAN, frontmatter={"a": [1]}, body="x", frontmatter_mode="replace"
    )
    assert answer["frontmatter"] == {"a": [1]}
    assert (example.root / PLAN).read_text() == "---\na:\n  - 1\n---\nx"


def test_what_a_write_replaces_is_in_the_trash(example: Session) -> None:
    old = (example.root / PLAN).read_bytes()
    example.call("read_note", path=PLAN)
    example.call("write_note", path=PLAN, body="all new")
    kept = list((example.root / ".trash/faultless").rglob("Plan.md"))
    assert [path.read_bytes() for path in kept] == [old]


def test_a_new_note_gets_its_folders(empty: Session) -> None:
    answer = empty.call("write_note", path="a/b/New note.md", frontmatter={"k": "v"}, body="hi\n")
    assert answer["created"] is True
    assert (empty.root / "a/b/New note.md").read_text() == "---\nk: v\n---\nhi\n"


def test_a_note_that_was_not_shown_is_not_overwritten(example: Session) -> None:
    fault = example.fault("write_note", path=PLAN, body="gone")
    assert fault.kind is FaultKind.CONFLICT
    version = fault.details["current_version"]
    assert example.call("write_note", path=PLAN, body="told", if_version=version)["created"] is False
    assert example.call("write_note", path="Home.md", body="told", overwrite=True)["created"] is False


def test_a_note_that_changed_since_it_was_shown_is_not_overwritten(example: Session) -> None:
    version = example.call("read_note", path=PLAN)["version"]
    example.put(PLAN, "somebody else's")
    for arguments in ({"body": "mine"}, {"body": "mine", "if_version": version}):
        fault = example.fault("write_note", path=PLAN, **arguments)
        assert fault.kind is FaultKind.CONFLICT
    for tool, arguments in (
        ("patch_note", {"path": PLAN, "operation": "append", "target_type": "note", "content": "x"}),
        ("move_note", {"source": PLAN, "destination": "x.md"}),
    ):
        fault = example.fault(tool, **arguments, if_version=version)
        assert fault.kind is FaultKind.CONFLICT
        assert fault.details["current_version"] == example.call("read_note", path=PLAN)["version"]
    assert (example.root / PLAN).read_text() == "somebody else's"


def test_a_version_of_a_note_that_is_gone_is_a_conflict(example: Session) -> None:
    version = example.call("read_note", path=PLAN)["version"]
    (example.root / PLAN).unlink()
    assert example.fault("write_note", path=PLAN, body="x", if_version=version).kind is FaultKind.CONFLICT
    assert example.fault("write_note", path=PLAN, body="x").kind is FaultKind.CONFLICT
    assert example.call("write_note", path=PLAN, body="x", overwrite=True)["created"] is True


def test_a_patch_goes_under_its_heading(example: Session) -> None:
    old = (example.root / PLAN).read_text()
    answer = example.call(
        "patch_note",
        path=PLAN,
        operation="append",
        target_type="heading",
        target="Later",
        content="- Tor ölen",
    )
    assert answer["changed"] is True
    assert (example.root / PLAN).read_text() == old.replace("streichen\n", "streichen\n- Tor ölen\n")


@pytest.mark.parametrize("name", ["plan.md", "PLAN.md", "Pla\u200dn.md"])
def test_a_name_that_differs_only_in_case_or_invisibly_is_refused(example: Session, name: str) -> None:
    fault = example.fault("write_note", path=f"Projects/Garten 2026/{name}", body="x")
    assert fault.kind is FaultKind.CONFLICT
    fault = example.fault("write_note", path=f"projects/{name}", body="x")
    assert fault.kind is FaultKind.CONFLICT
    assert (
        example.fault("move_note", source="Home.md", destination=f"Projects/Garten 2026/{name}").kind
        is FaultKind.CONFLICT
    )


def test_a_note_can_be_renamed_in_case_alone(example: Session) -> None:
    example.call("move_note", source=PLAN, destination="Projects/Garten 2026/PLAN.md")
    assert "Projects/Garten 2026/PLAN.md" in snapshot(example.root)


def test_a_move_takes_every_link_along(example: Session) -> None:
    before = snapshot(example.root)
    answer = example.call("move_note", source=PLAN, destination="Archive/Alter Plan.md")
    after = snapshot(example.root)
    assert after["Archive/Alter Plan.md"].decode() == before[PLAN].decode().replace(
        "(Beete%20und%20Wege.md#", "(../Projects/Garten%202026/Beete%20und%20Wege.md#"
    )
    expected = {
        "Home.md": ("[[Garten 2026/Plan|The garden]]", "[[Archive/Alter Plan|The garden]]"),
        "Daily/2026-03-01.md": ("[[Projects/Garten 2026/Plan]]", "[[Archive/Alter Plan]]"),
        "Areas/Jürgen Größe.md": ("[[Plan]]", "[[Alter Plan]]"),
    }
    for path, (old, new) in expected.items():
        assert after[path].decode() == before[path].decode().replace(old, new)
    ways = after["Projects/Garten 2026/Beete und Wege.md"].decode()
    assert "[[Alter Plan]] and [the plan](../../Archive/Alter%20Plan.md)" in ways
    assert "[[Alter Plan\\|hier]]" in ways
    assert b'"file":"Archive/Alter Plan.md"' in after["Map.canvas"]
    assert b'"text":"see [[Alter Plan]]"' in after["Map.canvas"]
    assert sum(one["links"] for one in answer["rewritten"]) == 9
    untouched = set(before) - {PLAN, "Map.canvas", "Projects/Garten 2026/Beete und Wege.md", *expected}
    assert {path: after[path] for path in untouched} == {path: before[path] for path in untouched}


def test_a_move_onto_a_note_is_refused(example: Session) -> None:
    before = snapshot(example.root)
    fault = example.fault("move_note", source=PLAN, destination="Home.md")
    assert fault.kind is FaultKind.CONFLICT
    assert snapshot(example.root) == before


def test_a_link_that_a_move_would_take_from_another_note_keeps_its_meaning(empty: Session) -> None:
    empty.put("a/X.md", "x")
    empty.put("b/Y.md", "y")
    empty.put("b/Source.md", "[[X]] and [[X#part|shown]] and [[a/X]]")
    answer = empty.call("move_note", source="b/Y.md", destination="b/X.md")
    assert answer["rewritten"] == [{"path": "b/Source.md", "links": 2}]
    assert answer["captured"] == []
    assert (empty.root / "b/Source.md").read_text() == "[[a/X]] and [[a/X#part|shown]] and [[a/X]]"


def test_a_link_that_a_move_takes_from_another_note_is_told_where_it_may_not_be_changed(
    tmp_path: Path,
) -> None:
    (tmp_path / "b").mkdir()
    session = Session(tmp_path, allow_write=("b/*", "X.md"))
    try:
        session.put("a/X.md", "x")
        session.put("b/Y.md", "y")
        session.put("c/Source.md", "[[X]]")
        answer = session.call("move_note", source="b/Y.md", destination="X.md")
        assert answer["captured"] == ["c/Source.md"]
        assert (session.root / "c/Source.md").read_text() == "[[X]]"
    finally:
        session.close()


def test_a_note_of_unknown_encoding_is_shown_and_moved_but_not_rewritten(empty: Session) -> None:
    data = "Grüße an [[Ziel]]".encode("latin-1")
    empty.put("Alt.md", data)
    empty.put("Ziel.md", "x")
    assert empty.call("read_note", path="Alt.md")["encoding"] == "unknown"
    assert empty.fault("write_note", path="Alt.md", body="x").kind is FaultKind.UNSUPPORTED
    fault = empty.fault("patch_note", path="Alt.md", operation="append", target_type="note", content="x")
    assert fault.kind is FaultKind.UNSUPPORTED
    empty.call("move_note", source="Ziel.md", destination="Neu.md")
    assert (empty.root / "Alt.md").read_bytes() == data.replace(b"[[Ziel]]", b"[[Neu]]")


def test_mode_and_newlines_survive_a_write(empty: Session) -> None:
    file = empty.put("a.md", "\ufeffone\r\ntwo\r\n")
    file.chmod(0o640)
    empty.call("read_note", path="a.md")
    empty.call("write_note", path="a.md", body="one\nthree\n", frontmatter={"x": 1})
    assert file.read_bytes() == "\ufeff---\r\nx: 1\r\n---\r\none\r\nthree\r\n".encode()
    assert file.stat().st_mode & 0o777 == 0o640


def test_a_hard_link_elsewhere_keeps_the_old_content(empty: Session) -> None:
    file = empty.put("a.md", "old")
    copy = Path(f"{empty.root}-backup.md")
    copy.hardlink_to(file)
    empty.call("write_note", path="a.md", body="new", overwrite=True)
    assert (file.read_text(), copy.read_text()) == ("new", "old")


def test_links_are_told_outgoing_back_and_broken(example: Session) -> None:
    links = example.call("get_links", path="Home.md")
    assert [one["path"] for one in links["outgoing"]] == [
        PLAN, "Areas/Health/Sleep.md", "Areas/Health/Running.md", "Daily/2026-03-01.md", "Attachments/beet.png",
        "Attachments/beet.png",
    ]  # fmt: skip
    assert [(one["link"], one["line"]) for one in links["broken"]] == [("Someday", 14)]
    back = example.call("get_links", path="Areas/Health/Sleep.md")["back"]
    assert {one["path"] for one in back} == {"Home.md", PLAN, "Areas/Health/Running.md"}


def test_a_broken_link_that_is_an_alias_names_its_note(example: Session) -> None:
    example.put("x.md", "[[map of content]]")
    assert example.call("get_links", path="x.md")["broken"][0]["candidate"] == "Home.md"


def test_too_large_a_note_is_refused(empty: Session) -> None:
    empty.put("big.md", b"x" * (16 * 1024 * 1024 + 1))
    assert empty.fault("read_note", path="big.md").kind is FaultKind.TOO_LARGE


def test_the_trash_is_bounded(empty: Session) -> None:
    empty.vault.store._trash._most_bytes = 50_000
    empty.put("a.md", "start")
    for number in range(30):
        empty.call("write_note", path="a.md", body=f"{number}" * 5000, overwrite=True)
    kept = [path for path in (empty.root / ".trash/faultless").rglob("*.md") if path.is_file()]
    assert sum(path.stat().st_size for path in kept) <= 50_000
    assert any(path.read_text() == "28" * 5000 for path in kept)
    assert Note.parse((empty.root / "a.md").read_bytes()).body == "29" * 5000


def test_a_body_is_not_written_below_corrupt_frontmatter(empty: Session) -> None:
    """A fault means that nothing was changed."""
    text = "---\na: [1\nb: 2\n---\nold\n"
    file = empty.put("a.md", text)
    for change in ({"body": "new"}, {"frontmatter": {"c": 1}}):
        fault = empty.fault("write_note", path="a.md", overwrite=True, **change)
        assert (fault.kind, fault.details["line"]) == (FaultKind.PARSE_ERROR, 3)
        assert file.read_text() == text
    empty.call("write_note", path="a.md", frontmatter={"c": 1}, frontmatter_mode="replace", overwrite=True)
    assert file.read_text() == "---\nc: 1\n---\nold\n"


@pytest.mark.parametrize(("on_disk", "asked"), [("NFD", "NFC"), ("NFC", "NFD")])
def test_a_note_is_found_under_its_name_however_it_is_composed(
    empty: Session, on_disk: Literal["NFC", "NFD"], asked: Literal["NFC", "NFD"]
) -> None:
    kept, given = (unicodedata.normalize(form, "Käse") for form in (on_disk, asked))
    empty.put(f"{kept}/{kept}.md", "word")
    assert empty.call("read_note", path=f"{given}/{given}.md")["path"] == f"{kept}/{kept}.md"
    assert empty.call("list_notes", directory=given)["count"] == 1
    assert empty.call("search_notes", query="word", path=f"{given}/")["count"] == 1
    empty.call("write_note", path=f"{given}/new.md", body="beside it")
    empty.call("write_note", path=f"{given}/{given}.md", body="changed")
    empty.call("move_note", source=f"{given}/new.md", destination=f"{given}/old.md")
    assert snapshot(empty.root) == {f"{kept}/{kept}.md": b"changed", f"{kept}/old.md": b"beside it"}


def test_a_file_whose_name_is_not_utf8_spoils_nothing(empty: Session) -> None:
    """Unpacked from an old archive; no client could name it."""
    odd = os.fsencode(empty.root) + b"/Gr\xfcn.md"
    with open(odd, "wb") as file:  # noqa: PTH123 - a path that is no text
        file.write(b"word [[a]]")
    empty.put("a.md", "word")
    assert empty.call("health_check")["note_count"] == 1
    assert empty.call("list_notes")["count"] == 1
    assert empty.call("search_notes", query="word", limit=1)["count"] == 1
    assert empty.call("get_links", path="a.md")["back"] == []
    empty.call("move_note", source="a.md", destination="b.md")
    assert Path(os.fsdecode(odd)).read_bytes() == b"word [[a]]"
