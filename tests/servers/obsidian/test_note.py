"""Bytes to parts and back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultless.contract import Fault, FaultKind, Json
from faultless.servers.obsidian.note import Note, edit_fields, read_fields, read_quickly
from faultless.servers.obsidian.yaml_text import is_same_value

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(codec="utf-8"), max_size=40),
    st.sampled_from(
        ["2024-01-02", "2024-01-02T10:00:00Z", "yes", "~", "1e3", "- x", "a: b", "#x", "---", "*a", "x\ny"]
    ),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
FIELDS = st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=12), VALUES, max_size=5)
BODIES = st.text(st.characters(codec="utf-8"), max_size=80) | st.lists(
    st.sampled_from(["---", "a: 1", "", "# H", "text", "- x", "```", "\t", "...", "\ufeff"]), max_size=8
).map("\n".join)


@given(st.binary(max_size=200) | BODIES.map(str.encode) | BODIES.map(lambda text: text.encode("utf-16")))
def test_any_bytes_come_back_unchanged(data: bytes) -> None:
    assert Note.parse(data).encode() == data


@settings(max_examples=40)
@given(FIELDS, BODIES)
def test_a_written_note_reads_back_as_what_was_written(fields: dict[str, Json], body: str) -> None:
    note = Note.of_text("").with_fields(fields, keep_others=True).with_body(body)
    again = Note.parse(note.encode())
    assert is_same_value(again.fields, fields)
    assert again.body == body


@settings(max_examples=40)
@given(FIELDS, FIELDS, st.sampled_from(["\n", "\r\n"]))
def test_merging_sets_the_new_fields_and_keeps_the_others(
    old: dict[str, Json], new: dict[str, Json], newline: str
) -> None:
    text = edit_fields("", old, keep_others=True, newline=newline)
    merged = edit_fields(text, new, keep_others=True, newline=newline)
    assert is_same_value(read_fields(merged), {**old, **new})


@settings(max_examples=40)
@given(FIELDS, FIELDS)
def test_replacing_leaves_exactly_the_new_fields(old: dict[str, Json], new: dict[str, Json]) -> None:
    text = edit_fields("", old, keep_others=True)
    assert is_same_value(read_fields(edit_fields(text, new, keep_others=False)), new)


HAND_WRITTEN = """\
# made by hand
title:   'Weekly  review'   # quoted on purpose
date: 2024-01-02
tags:
- project/alpha   # dash at the margin
# between
- "review"
aliases: [WR,  "Weekly, again"]

nested:
    deep: 1   # four spaces
    list:
        - a
text: |
  # not a comment
  --- not a fence
number: 0x1F
empty:
yes: no
"""


def test_reading_keeps_dates_and_old_booleans_as_text() -> None:
    assert read_fields(HAND_WRITTEN) == {
        "title": "Weekly  review",
        "date": "2024-01-02",
        "tags": ["project/alpha", "review"],
        "aliases": ["WR", "Weekly, again"],
        "nested": {"deep": 1, "list": ["a"]},
        "text": "# not a comment\n--- not a fence\n",
        "number": 31,
        "empty": None,
        "yes": "no",
    }


@pytest.mark.parametrize(
    ("wanted", "before", "after"),
    [
        ({"title": "Other"}, "'Weekly  review'", "'Other'"),
        ({"date": "2025-12-31"}, "2024-01-02", "2025-12-31"),
        ({"tags": ["project/alpha", "review", "new"]}, '- "review"\n', '- "review"\n- new\n'),
        ({"tags": ["project/alpha"]}, '- "review"\n', ""),
        ({"tags": ["first", "project/alpha", "review"]}, "- project", "- first\n- project"),
        ({"aliases": ["WR", "Weekly, again", "x"]}, '[WR,  "Weekly, again"]', '[WR, "Weekly, again", x]'),
        ({"nested": {"deep": 2, "list": ["a"]}}, "deep: 1 ", "deep: 2 "),
        ({"nested": {"deep": 1, "list": ["a", "b"]}}, "        - a\n", "        - a\n        - b\n"),
        ({"text": "short"}, "text: |\n  # not a comment\n  --- not a fence\n", "text: short\n"),
        ({"empty": 3}, "empty:\n", "empty: 3\n"),
        ({"fresh": ["x"]}, "yes: no\n", "yes: no\nfresh:\n  - x\n"),
        ({"number": 31, "date": "2024-01-02"}, "", ""),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_an_edit_changes_only_its_own_bytes(
    wanted: dict[str, Json], before: str, after: str, newline: str
) -> None:
    text, before, after = (part.replace("\n", newline) for part in (HAND_WRITTEN, before, after))
    assert edit_fields(text, wanted, keep_others=True, newline=newline) == text.replace(before, after, 1)


def test_corrupt_yaml_is_a_parse_error_that_counts_lines_from_the_top_of_the_note() -> None:
    with pytest.raises(Fault) as caught:
        _ = Note.parse(b"---\ntitle: x\nbad: [1\n---\nbody\n").fields
    assert caught.value.kind is FaultKind.PARSE_ERROR
    assert caught.value.details["line"] in {3, 4}


@pytest.mark.parametrize(
    "text", ["a: 1\na: 2\n", "a: {b: 1, b: 2}\n", "? [x]\n: y\n", 'a: "\\q"\n', "a: *x\n", "a: \x07\n"]
)
def test_yaml_that_would_lose_something_is_refused(text: str) -> None:
    with pytest.raises(Fault, match="not valid YAML") as caught:
        read_fields(text)
    assert caught.value.kind is FaultKind.PARSE_ERROR


def test_an_exploding_anchor_is_refused_quickly() -> None:
    lines = ["a: &a [x,x,x,x,x,x,x,x,x]"]
    for one, other in zip("abcdefgh", "bcdefghi", strict=True):
        lines.append(f"{other}: &{other} [{','.join(['*' + one] * 9)}]")
    with pytest.raises(Fault) as caught:
        read_fields("\n".join(lines))
    assert caught.value.kind is FaultKind.TOO_LARGE


def test_an_edit_that_anchors_forbid_is_refused_and_replace_still_works() -> None:
    text = "base: &b [1]\nother: *b\n"
    with pytest.raises(Fault) as caught:
        edit_fields(text, {"base": [2]}, keep_others=True)
    assert caught.value.kind is FaultKind.UNSUPPORTED
    assert edit_fields(text, {"base": [2]}, keep_others=False) == "base: \n  - 2\n".replace(": \n", ":\n")


@pytest.mark.parametrize(
    "text", ["---\nprose between rules\n---\nmore\n", "---\n- a\n- b\n---\n", "---\nno end\n", "--- \n", ""]
)
def test_rules_and_prose_are_body_not_frontmatter(text: str) -> None:
    note = Note.parse(text.encode())
    assert (note.fields, note.body) == ({}, text)


def test_newline_style_bom_and_encoding_survive_an_edit() -> None:
    for data in (
        "\ufeff---\r\na: 1\r\n---\r\nx\r\n".encode(),
        "---\r\na: 1\r\n---\r\nx\r\n".encode("utf-16"),
    ):
        note = Note.parse(data).with_fields({"b": 2}, keep_others=True).with_body("new\ntext\n")
        text = data.decode("utf-16" if data[0] == 0xFF else "utf-8")
        expected = text.replace("a: 1\r\n", "a: 1\r\nb: 2\r\n").replace("x\r\n", "new\r\ntext\r\n")
        assert note.encode() == (
            data[:2] + expected.encode("utf-16-le") if data[0] == 0xFF else expected.encode()
        )


def test_latin_1_is_shown_but_never_rewritten() -> None:
    note = Note.parse("Müller".encode("latin-1"))
    assert note.readable_body == "M\ufffdller"
    with pytest.raises(Fault) as caught:
        note.require_writable("a.md")
    assert caught.value.kind is FaultKind.UNSUPPORTED


@settings(max_examples=40)
@given(FIELDS)
def test_the_quick_reader_agrees_with_the_exact_one(fields: dict[str, Json]) -> None:
    text = edit_fields("", fields, keep_others=True)
    quick, exact = read_quickly(text), read_fields(text)
    assert quick.keys() == exact.keys()
    for name, value in exact.items():
        assert (
            str(quick[name]) == str(value)
            or "e+" in str(quick[name])
            or "{" in str(value)
            or "[" in str(value)
        )
