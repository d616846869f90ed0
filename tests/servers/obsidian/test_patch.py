"""Patches touch their target and nothing else."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultless.contract import Fault, FaultKind, Json
from faultless.servers.obsidian.inputs import Operation, PatchNote, TargetKind
from faultless.servers.obsidian.links import find_links
from faultless.servers.obsidian.markdown import find_blocks, find_code, find_headings
from faultless.servers.obsidian.note import Note
from faultless.servers.obsidian.patch import apply_patch

DAILY = """\
---
status: open # by hand
tags: [a]
---
# Day

Intro.

## Tasks

- [ ] call Jürgen ^call
- [ ] write
  more of it

### Later

someday

## Log
first entry
spans lines ^entry

```
# not a heading
text ^notablock
```

Setext two
----------
under it

| a | b |
|---|---|

^table
last"""


def _make_patch(operation: str, kind: str, target: str, content: Json) -> PatchNote:
    return PatchNote(
        path="a.md",
        operation=Operation(operation),
        target_type=TargetKind(kind),
        target=target,
        content=content,
    )


def _patched(
    kind: str, target: str, operation: str, content: Json, *, text: str = DAILY, **more: bool
) -> str:
    patch = _make_patch(operation, kind, target, content).model_copy(update=more)
    return apply_patch(Note.parse(text.encode()), patch).encode().decode()


@pytest.mark.parametrize(
    ("where", "content", "before", "after"),
    [
        (("heading", "Tasks", "append"), "- new", "someday\n", "someday\n- new\n"),
        (("heading", "## Tasks", "prepend"), "- new\n", "## Tasks\n", "## Tasks\n- new\n"),
        (("heading", "Later", "replace"), "never", "someday\n", "never\n"),
        (
            ("heading", "Day::Tasks::Later", "insert_before"),
            "### Soon\n\n",
            "### Later",
            "### Soon\n\n### Later",
        ),
        (("heading", "later", "insert_after"), "## X\n", "someday\n\n", "someday\n\n## X\n"),
        (
            ("heading", "Setext two", "append"),
            "more",
            "|---|---|\n\n^table\nlast",
            "|---|---|\n\n^table\nlast\nmore\n",
        ),
        (("heading", "Setext two", "prepend"), "top", "----------\n", "----------\ntop\n"),
        (("block", "call", "replace"), "[x] done", "[ ] call Jürgen ^call", "[x] done ^call"),
        (("block", "^entry", "append"), "third", "spans lines ^entry", "spans lines\nthird ^entry"),
        (("block", "entry", "prepend"), "zeroth", "first entry\n", "zeroth\nfirst entry\n"),
        (("block", "call", "insert_after"), "- [ ] next", "^call\n", "^call\n- [ ] next\n"),
        (("block", "call", "insert_before"), "- [ ] prior", "- [ ] call", "- [ ] prior\n- [ ] call"),
        (("block", "table", "append"), "| 1 | 2 |", "|---|---|\n", "|---|---|\n| 1 | 2 |\n"),
        (("note", "", "append"), "end", "last", "last\nend\n"),
        (("note", "", "prepend"), "top", "# Day", "top\n# Day"),
        (("frontmatter", "status", "replace"), "done", "status: open #", "status: done #"),
        (("frontmatter", "tags", "append"), "b", "[a]", "[a, b]"),
        (("frontmatter", "tags", "prepend"), ["z", "x"], "[a]", "[z, x, a]"),
        (("frontmatter", "status", "append"), "ish", "status: open #", "status: openish #"),
        (("frontmatter", "new", "append"), 1, "tags: [a]\n", "tags: [a]\nnew:\n  - 1\n"),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_patch_changes_only_its_target(
    where: tuple[str, str, str], content: Json, before: str, after: str, newline: str
) -> None:
    text, before, after = (part.replace("\n", newline) for part in (DAILY, before, after))
    assert text.count(before) >= 1
    assert _patched(*where, content, text=text) == text.replace(before, after, 1)


def test_without_subsections_only_the_own_lines_of_a_section_are_meant() -> None:
    changed = _patched("heading", "Tasks", "replace", "none", subsections=False)
    assert changed == DAILY.replace("- [ ] call Jürgen ^call\n- [ ] write\n  more of it\n", "none\n")


def test_a_missing_heading_is_made_on_request_under_its_parent() -> None:
    changed = _patched("heading", "Tasks::Done", "append", "- x", create_missing=True)
    assert changed == DAILY.replace("someday\n\n", "someday\n\n### Done\n\n- x\n\n")


@pytest.mark.parametrize(
    ("kind", "target", "candidate"),
    [("heading", "Taks", "Day::Tasks"), ("block", "cal", "call"), ("heading", "not a heading", "Day")],
)
def test_a_missing_target_is_not_found_with_candidates(kind: str, target: str, candidate: str) -> None:
    with pytest.raises(Fault) as caught:
        _patched(kind, target, "append", "x")
    assert caught.value.kind is FaultKind.NOT_FOUND
    candidates = caught.value.details["candidates"]
    assert isinstance(candidates, list)
    assert candidate in candidates


def test_a_heading_that_stands_twice_is_refused_and_its_parents_tell_it_apart() -> None:
    text = "# A\n## Log\na\n# B\n## Log\nb\n"
    with pytest.raises(Fault) as caught:
        _patched("heading", "Log", "append", "x", text=text)
    assert caught.value.details["candidates"] == ["A::Log", "B::Log"]
    assert _patched("heading", "B::Log", "append", "x", text=text) == text + "x\n"


@pytest.mark.parametrize(
    ("target", "operation", "content"),
    [("status", "insert_after", "x"), ("n", "append", "x"), ("status", "append", 1)],
)
def test_what_a_key_cannot_take_is_refused(target: str, operation: str, content: Json) -> None:
    with pytest.raises(Fault) as caught:
        _patched("frontmatter", target, operation, content, text="---\nstatus: a\nn: 1\n---\n")
    assert caught.value.kind is FaultKind.INVALID_PARAMS


LINES = st.lists(
    st.sampled_from(
        [
            "# One",
            "## Two",
            "### Three",
            "text",
            "",
            "- item ^b1",
            "more ^b2",
            "```",
            "Under",
            "===",
            "%%",
            "`a",
            "\tx",
            "> q",
        ]
    ),
    max_size=14,
)


@given(LINES, st.sampled_from(Operation), st.integers(0, 20), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_an_insertion_leaves_all_old_text_in_place(
    lines: list[str], operation: Operation, pick: int, newline: str, closed: bool
) -> None:
    text = newline.join(lines) + (newline if closed else "")
    code = find_code(text)
    targets = [(TargetKind.HEADING, "::".join(one.trail)) for one in find_headings(text, code)]
    targets += [(TargetKind.BLOCK, one.name) for one in find_blocks(text, code)]
    if operation is Operation.REPLACE or not targets:
        return
    kind, target = targets[pick % len(targets)]
    note = Note.parse(text.encode())
    try:
        body = apply_patch(note, _make_patch(operation, kind, target, "new")).body
    except Fault as fault:
        assert fault.kind is FaultKind.INVALID_PARAMS  # noqa: PT017 - twins are refused
        return
    place = body.index("new")
    extra = len(body) - len(note.body)
    assert any(note.body == body[:cut] + body[cut + extra :] for cut in range(max(0, place - 2), place + 1))


HOSTILE = ["`" * 50_001, "` " * 40_000, "<!--" * 40_000, "%% <!-- " * 20_000, "# x\n" * 20_000, "[[" * 50_000]
HOSTILE += [
    "](" * 50_000,
    "x ^a\n" * 20_000,
    "[[a|" * 20_000,
    "](<" * 20_000,
    "](a(" * 20_000,
    "[x]: <" * 20_000,
]


@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda text: text[:6])
def test_hostile_markdown_takes_linear_time(hostile: str) -> None:
    started = time.process_time()
    code = find_code(hostile)
    find_headings(hostile, code)
    find_blocks(hostile, code)
    find_links(hostile)
    assert time.process_time() - started < 5
