"""Links: found, resolved as Obsidian does, and rewritten only where they must be."""

import posixpath
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultless.contract import Fault
from faultless.servers.obsidian.links import Link, LinkStyle, Lookup, find_canvas_links, find_links
from faultless.servers.obsidian.moving import Move, relink

VAULT = [
    "Home.md",
    "a/Note.md",
    "a/b/Note.md",
    "a/b/Deep Note.md",
    "c/Über uns.md",
    "img/pic.png",
    "c/pic.png",
]


def _targets(text: str) -> list[str]:
    return [link.target for link in find_links(text)]


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("[[Note]] and ![[pic.png|100]]", ["Note", "pic.png"]),
        ("[[a/Note#Heading|shown]] [[Note#^id]]", ["a/Note", "Note"]),
        ("| [[Note\\|x]] |", ["Note"]),
        ("[x](a/Deep%20Note.md#h) ![p](<my pic.png>)", ["a/Deep Note.md", "my pic.png"]),
        ("[x](b_(c).md 'title')", ["b_(c).md"]),
        ("[ref]: ../x.md\n[^1]: word", ["../x.md"]),
        ("[web](https://x.org/a.md) [mail](mailto:a@b) [h](#here) [p](//host/x)", []),
        ("`[[code]]` ``a ` [[b]]`` \\[[no]] [[yes]]", ["yes"]),
        ("```\n[[code]]\n```\n[[yes]]\n~~~\n[[open]]", ["yes"]),
        ("%% [[hidden]] %% <!-- [[gone]] --> $$[[m]]$$ [[yes]]", ["yes"]),
        ("- ```\n  [[in]]\n  ```\n> ```\n> [[q]]\n> ```\n[[yes]]", ["yes"]),
        ("[[]] [[ ]] [[#self]]", [""]),
        ("[[one]\n[two]] [[a\nb]]", []),
    ],
)
def test_links_are_found_where_markdown_has_meaning(text: str, targets: list[str]) -> None:
    assert _targets(text) == targets


@pytest.mark.parametrize(
    ("link", "source", "found"),
    [
        ("[[Home]]", "a/Note.md", "Home.md"),
        ("[[home.MD]]", "a/Note.md", "Home.md"),
        ("[[Note]]", "Home.md", "a/Note.md"),
        ("[[Note]]", "a/b/Deep Note.md", "a/b/Note.md"),
        ("[[b/Note]]", "Home.md", "a/b/Note.md"),
        ("[[u\u0308ber uns]]", "Home.md", "c/Über uns.md"),
        ("![[pic.png]]", "Home.md", "c/pic.png"),
        ("![[pic]]", "Home.md", None),
        ("[[./Note]]", "a/b/Deep Note.md", "a/b/Note.md"),
        ("[[../Note]]", "a/b/Deep Note.md", "a/Note.md"),
        ("[[../../../Note]]", "a/b/Deep Note.md", None),
        ("[[/a/Note]]", "c/Über uns.md", "a/Note.md"),
        ("[[#Heading]]", "a/Note.md", "a/Note.md"),
        ("[x](../Note.md)", "a/b/Deep Note.md", "a/Note.md"),
        ("[x](Note.md)", "a/b/Deep Note.md", "a/b/Note.md"),
        ("[x](c/%C3%9Cber%20uns.md)", "a/Note.md", "c/Über uns.md"),
        ("[[Nowhere]]", "Home.md", None),
    ],
)
def test_a_link_resolves_as_in_obsidian(link: str, source: str, found: str | None) -> None:
    assert Lookup(VAULT).resolve(find_links(link)[0], source) == found


def _move(old: str, new: str, paths: list[str]) -> Move:
    after = [new if path == old else path for path in paths]
    return Move(old, new, Lookup(paths), Lookup(after))


DEEP = "a/b/Deep Note.md"
MOVES = [
    ("Home.md", "c/Deep Note.md", "[[Deep Note|x]]", "[[Deep Note|x]]"),
    ("Home.md", "c/New.md", "[[Deep Note#H|x]] ![[Deep Note#^id]]", "[[New#H|x]] ![[New#^id]]"),
    ("Home.md", "c/Deep Note.md", "[[a/b/Deep Note]]", "[[c/Deep Note]]"),
    ("Home.md", "New.md", "| [[Deep Note\\|x]] |", "| [[New\\|x]] |"),
    ("Home.md", "c/New.md", "[[Deep Note.md]]", "[[New.md]]"),
    ("Home.md", "c/Note.md", "[[Home]] [[Deep Note]]", "[[Home]] [[c/Note]]"),
    ("a/Note.md", "c/N w.md", "[t](b/Deep%20Note.md#h 'T')", "[t](../c/N%20w.md#h 'T')"),
    ("a/Note.md", "a/N w.md", "[t](<b/Deep Note.md>)", "[t](<N w.md>)"),
    ("a/Note.md", "a/x.md", "[d]: b/Deep%20Note.md", "[d]: x.md"),
    (
        DEEP,
        "x.md",
        "[n](Note.md) [[Home]] ![](../../img/pic.png)",
        "[n](a/b/Note.md) [[Home]] ![](img/pic.png)",
    ),
    (DEEP, "c/x.md", "[[Note]] [[./Note]]", "[[a/b/Note]] [[../a/b/Note]]"),
    (DEEP, "c/x.md", "[[#H]] [[Deep Note]]", "[[#H]] [[x]]"),
    ("Home.md", "c/x.md", "`[[Deep Note]]` [[Deep Note]]", "`[[Deep Note]]` [[x]]"),
    ("Home.md", "c/Bob's.md", "---\nup: '[[Deep Note]]'\n---\n", "---\nup: '[[Bob''s]]'\n---\n"),
    ("Home.md", "c/Bob's.md", '---\nup: "[[Deep Note]]"\n---\n', '---\nup: "[[Bob\'s]]"\n---\n'),
    ("m.canvas", "c/x.md", '{"type":"file","file":"a/b/Deep Note.md"}', '{"type":"file","file":"c/x.md"}'),
]


@pytest.mark.parametrize(("path", "new", "text", "expected"), MOVES)
def test_a_move_rewrites_a_link_in_the_style_it_had(path: str, new: str, text: str, expected: str) -> None:
    assert relink(path, text, _move(DEEP, new, VAULT))[0] == expected


def test_a_name_no_link_can_hold_is_refused() -> None:
    with pytest.raises(Fault, match="nothing was moved"):
        relink("Home.md", "[[Deep Note]]", _move("a/b/Deep Note.md", "c/a#b.md", VAULT))


NAMES = st.sampled_from(["Note", "note two", "Über", "x", "Note 2"])
FOLDERS = st.sampled_from(["", "a/", "b/", "a/b/", "c d/"])
PATHS = st.builds(lambda folder, name: f"{folder}{name}.md", FOLDERS, NAMES)
SHAPES = """[[{0}]];[[{0}{2}|shown]];![[{0}{2}]];[[{0}.md]];[t]({1}.md{2});[t](../{1}.md);[[./{0}]]
[t](<{0}.md>);`[[{0}]]`;[[../{0}]];plain {0};[d]({1});\\[[{0}]];%%[[{0}]]%%""".replace("\n", ";").split(";")
LINK_TEXTS = st.builds(
    lambda shape, folder, name, part: shape.format(folder + name, (folder + name).replace(" ", "%20"), part),
    st.sampled_from(SHAPES),
    FOLDERS,
    NAMES,
    st.sampled_from(["", "#Head", "#^id"]),
)


@settings(max_examples=150)
@given(
    st.lists(PATHS, min_size=2, max_size=9, unique_by=str.casefold),
    st.lists(st.lists(LINK_TEXTS, max_size=5), min_size=9, max_size=9),
    PATHS,
)
def test_a_move_changes_no_link_but_those_that_must_follow(
    paths: list[str], contents: list[list[str]], new: str
) -> None:
    old = paths[0]
    if new.casefold() in map(str.casefold, paths):
        return
    move = _move(old, new, paths)
    for path, words in zip(paths, contents, strict=False):
        text = "\n".join(words)
        changed, count = relink(path, text, move)
        before, after = find_links(text), find_links(changed)
        assert len(before) == len(after)
        assert count == sum(one.written != other.written for one, other in zip(before, after, strict=True))
        for one, other in zip(before, after, strict=True):
            _require_kept(one, other, path, move)
        assert _without_targets(text, before) == _without_targets(changed, after)


def _require_kept(one: Link, other: Link, path: str, move: Move) -> None:
    target = move.before.resolve(one, path)
    assert (one.style, one.part) == (other.style, other.part)
    if target is not None:
        assert move.after.resolve(other, move.follow(path)) == move.follow(target)
    if target is None or (move.old not in {target, path} and move.after.resolve(one, path) == target):
        assert one.written == other.written


def _without_targets(text: str, links: list[Link]) -> str:
    for link in reversed(links):
        text = text[: link.start] + text[link.end :]
    return text


def test_a_canvas_names_files_by_whole_path() -> None:
    text = (
        '{"nodes":[{"type":"text","text":"say \\"file\\":\\"a.md\\""},{"type":"file","file":"a/\\"q\\".md"}]}'
    )
    found = find_canvas_links(text)
    assert [link.target for link in found] == ['a/"q".md']
    assert found[0].style is LinkStyle.CANVAS
    assert Lookup(["a/x.md"]).resolve(found[0], "m.canvas") is None


def test_the_names_used_here_are_plain() -> None:
    assert all(re.fullmatch(r"[\w ./]+", path) and posixpath.normpath(path) == path for path in VAULT)
