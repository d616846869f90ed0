"""Vaults that other people wrote: every note goes through the server unchanged, and links survive moves.

FAULTLESS_VAULTS names the folders, separated as in PATH. Links are read and resolved by a second reader: CommonMark
by markdown-it, YAML by ruamel.yaml, and the rules of Obsidian's manual, written anew.
"""

from __future__ import annotations

import os
import posixpath
import random
import re
import shutil
import unicodedata
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from faultless.contract import FaultKind
from tests.servers.obsidian.session import Session

VAULTS = [Path(it) for it in os.environ.get("FAULTLESS_VAULTS", "").split(os.pathsep) if it]
MOVES = 50
SEED = 2026
WIKI = re.compile(r"\[\[([^\[\]|#^]*)[^\[\]]*\]\]")
FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
HIDDEN = re.compile(r"%%.*?%%|<!--.*?-->|\$\$.*?\$\$", re.DOTALL)
Links = dict[str, Counter[str]]
"""For each note what it points to: a file, or the text of a link that leads nowhere."""

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(not VAULTS, reason="FAULTLESS_VAULTS names no folder"),
]


@pytest.fixture(params=VAULTS, ids=lambda it: it.name)
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    root = Path(shutil.copytree(request.param, tmp_path / "vault", ignore=shutil.ignore_patterns(".git")))
    opened = Session(root)
    yield opened
    opened.close()


def _record(request: pytest.FixtureRequest, what: str, counted: str) -> None:
    """For the report that pytest writes with --junitxml."""
    request.node.user_properties.append((what, counted))


def list_files(root: Path) -> list[str]:
    found = (it.relative_to(root).as_posix() for it in root.rglob("*") if it.is_file())
    return sorted(it for it in found if not it.startswith(".") and "/." not in it)


def list_notes(root: Path) -> list[str]:
    return [it for it in list_files(root) if it.endswith(".md")]


def test_every_note_is_read_and_written_back_byte_for_byte(
    session: Session, request: pytest.FixtureRequest
) -> None:
    counts: Counter[str] = Counter()
    for path in list_notes(session.root):
        before = (session.root / path).read_bytes()
        note = session.call("read_note", path=path)
        is_template = note["template"] is not None
        counts["template" if is_template else "note"] += 1
        session.call("write_note", path=path, body=note["body"], if_version=note["version"])
        assert (session.root / path).read_bytes() == before, path
        if is_template:
            continue
        again = session.call("read_note", path=path)
        session.call(
            "write_note",
            path=path,
            frontmatter=again["frontmatter"],
            body=again["body"],
            if_version=again["version"],
        )
        assert (session.root / path).read_bytes() == before, path
    _record(request, "written back", f"{counts['note']} notes, {counts['template']} templates")


def test_links_lead_to_the_same_notes_after_fifty_moves(
    session: Session, request: pytest.FixtureRequest
) -> None:
    chance = random.Random(SEED)
    links = read_links(session.root)
    total = sum(counted.total() for counted in links.values())
    names: dict[str, str] = {}
    for number in range(MOVES):
        path = chance.choice(list_notes(session.root))
        stem = posixpath.basename(path).removesuffix(".md")
        folder = chance.choice(["", "Moved", "Moved/deeper", posixpath.dirname(path)])
        new = posixpath.join(folder, f"{chance.choice([stem, f'Renamed {number}'])}.md")
        if (session.root / new).exists():
            new = posixpath.join(folder, f"{stem} {number}.md")
        session.call("move_note", source=path, destination=new)
        origin = next((old for old, now in names.items() if now == path), path)
        names[origin] = new
    after = read_links(session.root)
    expected = {
        names.get(path, path): Counter({names.get(to, to): count for to, count in counted.items()})
        for path, counted in links.items()
    }
    different = {path: (after.get(path), it) for path, it in expected.items() if after.get(path) != it}
    assert not different
    assert after.keys() == expected.keys()
    _record(
        request, "links kept", f"{total} in {len(links)} notes, through {MOVES} moves of {len(names)} notes"
    )


def test_the_second_reader_sees_a_planted_wrong_link(session: Session) -> None:
    links = read_links(session.root)
    note = session.root / next(path for path, counted in links.items() if any(it in links for it in counted))
    note.write_bytes(note.read_bytes() + b"\n[[no such note at all]]\n")
    assert read_links(session.root) != links
    assert session.fault("read_note", path="no such note at all.md").kind is FaultKind.NOT_FOUND


def read_links(root: Path) -> Links:
    files = list_files(root)
    found: Links = {}
    for path in (it for it in files if it.endswith(".md")):
        text = (root / path).read_text(encoding="utf-8")
        found[path] = Counter(_resolve(target, path, files) for target in _list_targets(text))
    return found


def _list_targets(text: str) -> Iterator[str]:
    front = FRONT.match(text)
    if front:
        yield from _list_in_yaml(front[1])
        text = text[front.end() :]
    for token in MarkdownIt().parse(HIDDEN.sub("", text)):
        yield from _list_in_token(token)


def _list_in_yaml(text: str) -> Iterator[str]:
    try:
        value = YAML(typ="safe").load(text)
    except YAMLError:
        value = text
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
        elif isinstance(one, str):
            yield from (match[1].strip() for match in WIKI.finditer(one))


def _list_in_token(token: Token) -> Iterator[str]:
    """Plain text may hold wiki links; what markdown-it takes for code is not asked."""
    if token.type != "inline":
        return
    words = ""
    for child in token.children or ():
        if child.type in {"text", "softbreak"}:
            words += child.content or "\n"
        elif child.type == "code_inline":
            words += "\0"
        target = child.attrs.get("href") or child.attrs.get("src")
        if isinstance(target, str) and not re.match(r"[A-Za-z][\w+.-]*:|//|#", target):
            yield unquote(target).partition("#")[0]
    yield from (match[1].strip().removesuffix("\\") for match in WIKI.finditer(words))


def _fold(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def _resolve(target: str, source: str, files: list[str]) -> str:
    """By path, then beside the note, then anywhere: the shortest path first."""
    if not target:
        return source
    folder = posixpath.dirname(source)
    for wanted in (target, f"{target}.md"):
        plain = _fold(wanted.lstrip("/"))
        if wanted.startswith(("./", "../")) or "/../" in wanted:
            plain = _fold(posixpath.normpath(posixpath.join(folder, wanted)))
            matching = [it for it in files if _fold(it) == plain]
        else:
            matching = [it for it in files if f"/{_fold(it)}".endswith(f"/{plain}")]
        if matching:
            return min(
                matching,
                key=lambda it: (
                    _fold(it) != plain,
                    posixpath.dirname(it) != folder,
                    it.count("/"),
                    len(it),
                    it,
                ),
            )
    return f"nowhere: {target}"
