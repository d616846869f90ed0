"""Attacks on the path guard. None reads, writes, lists or moves anything outside, or inside what is denied."""

import os
import threading
import time
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from faultless.contract import Fault, FaultKind
from tests.servers.obsidian.session import Session, snapshot

SECRET = "TOP-SECRET-CANARY"
REFUSED = {FaultKind.PERMISSION_DENIED, FaultKind.INVALID_PARAMS, FaultKind.NOT_FOUND, FaultKind.CONFLICT}

TRAVERSALS = [
    "../outside.md", "../../outside.md", "a/../../outside.md", "./../outside.md", "a/b/../../../outside.md",
    "../vault-evil/secret.md", "../vault/../outside.md", "..//outside.md", "a/..\\..\\outside.md", "..\\outside.md",
    "/etc/passwd", "/etc/hostname.md", "//etc/passwd", "/proc/self/environ", "/proc/self/root/etc/passwd", "/dev/zero",
    "/dev/stdin", "~/outside.md", "$HOME/outside.md", "file:///etc/passwd", "C:\\outside.md", "\\\\host\\share\\x.md",
    "%2e%2e/outside.md", "..%2foutside.md", "..\u2215outside.md", "\uff0e\uff0e/outside.md", "\u2024\u2024/outside.md",
    "a\0.md", "outside.md\0.md", "\x00", "", " ", ".", "..", "/", "./", "a/.", "-rf.md", "--help", "a\n.md\0",
    "x" * 300 + ".md", "d/" * 3000 + "x.md",
]  # fmt: skip
HIDDEN = [
    ".obsidian/app.json", ".obsidian/x.md", ".git/config", ".git/hooks/x.md", ".trash/x.md", ".trash/faultless/journal.json",
    ".trash/faultless/x.md", ".hidden.md", "a/.hidden/x.md", "./.obsidian/x.md", "a/../.git/x.md", ".OBSIDIAN/x.md",
    ".g\u200cit/x.md", "\u200b.git/x.md", ".git /x.md", ".git./x.md", "a/.faultless-00.tmp",
]  # fmt: skip
DENIED = [
    "Approved/mail.md", "approved/mail.md", "APPROVED/mail.md", "Approved /mail.md", "Approved./mail.md", "Appro\u200bved/mail.md",
    "./Approved/mail.md", "a/../Approved/mail.md", "Approved//mail.md", "Approved/sub/mail.md", "Done/x.md", "Rejected/x.md",
    "done/x.md", unicodedata.normalize("NFD", "Geheim\u00e4/x.md"), "Geheim\u00e4/x.md", "GEHEIM\u00c4/x.md",
]  # fmt: skip
SUFFIXES = [
    "note.txt",
    "note",
    "note.md.exe",
    "script.sh",
    "note.md/",
    "note.md ",
    "image.png",
    "note.mdx",
    "a.canvas",
]
LINKS = [
    "to-file.md",
    "to-folder/outside.md",
    "to-vault-file.md",
    "loop.md",
    "to-denied/mail.md",
    "dangling.md",
    "to-parent/outside.md",
]
SPECIAL = ["pipe.md", "folder.md", "socket-like.md/x.md"]
ALL = [*TRAVERSALS, *HIDDEN, *DENIED, *SUFFIXES, *LINKS, *SPECIAL]


@pytest.fixture
def besieged(tmp_path: Path) -> Iterator[Session]:
    root = tmp_path / "vault"
    for folder in (
        "vault/a/b",
        "vault/.obsidian",
        "vault/.git/hooks",
        "vault/Approved/sub",
        "vault/Done",
        "vault/Geheim\u00e4",
        "vault-evil",
        "vault/folder.md",
    ):
        (tmp_path / folder).mkdir(parents=True)
    for secret in (
        "outside.md",
        "vault-evil/secret.md",
        "vault/Approved/mail.md",
        "vault/.obsidian/app.json",
        "vault/.git/config",
        "vault/Geheim\u00e4/x.md",
    ):
        (tmp_path / secret).write_text(SECRET)
    (root / "note.md").write_text("fine")
    (root / "socket-like.md").write_text("fine")
    targets: dict[str, str | Path] = {
        "to-file.md": tmp_path / "outside.md", "to-folder": tmp_path, "to-vault-file.md": root / "note.md", "loop.md": root / "loop.md",
        "to-denied": root / "Approved", "dangling.md": tmp_path / "not-there.md", "to-parent": "..",
    }  # fmt: skip
    for name, target in targets.items():
        (root / name).symlink_to(target)
    os.mkfifo(root / "pipe.md")
    session = Session(root, deny=("Geheim\u00e4",))
    yield session
    session.close()


def _everything(folder: Path) -> dict[str, tuple[int, bytes]]:
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        regular = path.is_file() and not path.is_symlink()
        found[path.relative_to(folder).as_posix()] = (status.st_ino, path.read_bytes() if regular else b"")
    return found


def _attempts(path: str) -> list[tuple[str, dict[str, object]]]:
    return [
        ("read_note", {"path": path}),
        ("write_note", {"path": path, "body": "pwned", "overwrite": True}),
        ("patch_note", {"path": path, "operation": "append", "target_type": "note", "content": "pwned"}),
        ("move_note", {"source": path, "destination": "stolen.md"}),
        ("move_note", {"source": "note.md", "destination": path}),
        ("get_links", {"path": path}),
    ]


def test_there_are_enough_attacks() -> None:
    assert len(ALL) >= 60
    assert len(set(ALL)) == len(ALL)


@pytest.mark.parametrize("path", ALL, ids=ascii)
def test_an_attack_gets_nothing_and_changes_nothing(besieged: Session, tmp_path: Path, path: str) -> None:
    before = _everything(tmp_path)
    for tool, arguments in _attempts(path):
        if path.strip() in {"note.md", "note.md/"} and tool != "move_note":
            continue  # strings are stripped: that is the harmless note itself
        try:
            answer = besieged.call(tool, **arguments)
        except Fault as fault:
            kind = fault.kind
            told = f"{fault.message} {fault.hint} {fault.details}"
        except UnicodeEncodeError:
            continue  # a lone surrogate does not even reach the wire
        else:
            if _is_harmless(path, tool):
                return
            raise AssertionError(f"{tool} {path!r} gave {answer}")
        assert kind in REFUSED, (tool, kind)
        assert SECRET not in told
        assert str(tmp_path) not in told
    assert _everything(tmp_path) == before


def _is_harmless(path: str, tool: str) -> bool:
    """Names that look odd and yet are plain names inside: they may be used for a new note."""
    odd = {
        "\u2024\u2024/outside.md",
        "\uff0e\uff0e/outside.md",
        "..\u2215outside.md",
        "%2e%2e/outside.md",
        "..%2foutside.md",
        "~/outside.md",
        "$HOME/outside.md",
        "note.md ",
        "note.md/",
    }
    return path in odd and not path.startswith(".") and tool in {"write_note", "move_note", "read_note"}


@pytest.mark.parametrize(
    "directory",
    ["..", "../vault-evil", "/etc", ".git", "Approved", "approved", "to-folder", "to-denied", "a/../../"],
)
def test_a_folder_outside_or_denied_is_not_listed(besieged: Session, directory: str) -> None:
    assert besieged.fault("list_notes", directory=directory).kind in REFUSED
    assert besieged.fault("search_notes", query="s", path=f"../{directory}/../../x").kind in REFUSED


def test_denied_and_linked_notes_are_never_found(besieged: Session) -> None:
    assert besieged.call("search_notes", query=SECRET)["count"] == 0
    listed = besieged.call("list_notes", recursive=True)["notes"]
    assert {note["path"] for note in listed} == {"note.md", "socket-like.md"}
    besieged.put("links.md", "[[mail]] [[Approved/mail]] [x](Approved/mail.md) [y](../outside.md)")
    links = besieged.call("get_links", path="links.md")
    assert links["outgoing"] == []


@pytest.mark.parametrize("seconds", [0.4, pytest.param(10.0, marks=pytest.mark.heavy)])
@pytest.mark.parametrize("tool", ["read_note", "write_note", "patch_note", "move_note"])
def test_links_swapped_in_during_the_call_lead_nowhere(
    besieged: Session, tmp_path: Path, tool: str, seconds: float
) -> None:
    """A thread keeps exchanging a folder with a link to the outside while the tool runs."""
    root = besieged.root
    (tmp_path / "target").mkdir()
    (tmp_path / "target/n.md").write_text(SECRET)
    (root / "real").mkdir()
    (root / "real/n.md").write_text("inside")
    (root / "flip").symlink_to(tmp_path / "target")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            for one, other in (("real", "keep"), ("flip", "real"), ("real", "flip"), ("keep", "real")):
                with suppress(OSError):  # a write may have made the folder anew
                    (root / one).rename(root / other)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            told = _outcome(besieged, tool)
            assert SECRET not in told
    finally:
        stop.set()
        thread.join(30)
    assert {path.name: path.read_text() for path in (tmp_path / "target").iterdir()} == {"n.md": SECRET}
    assert (tmp_path / "outside.md").read_text() == SECRET


def _outcome(session: Session, tool: str) -> str:
    arguments: dict[str, object] = dict(_attempts("real/n.md"))[tool]
    if tool == "move_note":
        arguments = {"source": "real/n.md", "destination": f"real/m{time.monotonic_ns()}.md"}
    try:
        answer = session.call(tool, **arguments)
    except Fault as fault:
        return f"{fault.message} {fault.details}"
    if tool == "move_note":
        with suppress(OSError):
            (session.root / answer["destination"]).rename(session.root / "real/n.md")
    return str(answer)


def test_scopes_are_kept(tmp_path: Path) -> None:
    (tmp_path / "vault/Projects").mkdir(parents=True)
    only_read = Session(tmp_path / "vault", read_only=True)
    only_read.put("a.md", "text")
    before = _everything(tmp_path)
    for tool, arguments in _attempts("a.md")[1:4]:
        assert only_read.fault(tool, **arguments).kind is FaultKind.PERMISSION_DENIED
    assert only_read.call("read_note", path="a.md")["body"] == "text"
    assert only_read.call("health_check")["access"] == "read_only"
    assert _everything(tmp_path) == before
    only_read.close()
    scoped = Session(tmp_path / "vault", allow_write=("Projects/**", "*.inbox.md"))
    assert scoped.fault("write_note", path="b.md", body="x").kind is FaultKind.PERMISSION_DENIED
    assert (
        scoped.fault("move_note", source="a.md", destination="Projects/a.md").kind
        is FaultKind.PERMISSION_DENIED
    )
    assert scoped.call("write_note", path="Projects/deep/b.md", body="x")["created"]
    assert scoped.call("write_note", path="my.inbox.md", body="x")["created"]
    scoped.put("a.md", "[[b]]")
    fault = scoped.fault("move_note", source="Projects/deep/b.md", destination="Projects/c.md")
    assert (fault.kind, fault.details["paths"]) == (FaultKind.PERMISSION_DENIED, ["a.md"])
    assert scoped.call(
        "move_note", source="Projects/deep/b.md", destination="Projects/c.md", update_links=False
    )["moved"]
    scoped.close()


def test_the_approval_folders_are_open_only_to_who_says_so(tmp_path: Path) -> None:
    (tmp_path / "Approved").mkdir()
    (tmp_path / "Approved/x.md").write_text("x")
    closed, opened = Session(tmp_path), Session(tmp_path, allow_approvals=True)
    assert closed.fault("read_note", path="Approved/x.md").kind is FaultKind.PERMISSION_DENIED
    assert (
        closed.fault("move_note", source="Approved/x.md", destination="x.md").kind
        is FaultKind.PERMISSION_DENIED
    )
    assert opened.call("read_note", path="Approved/x.md")["body"] == "x"
    for session in (closed, opened):
        session.close()
    assert snapshot(tmp_path) == {"Approved/x.md": b"x"}


BAD_NAMES = [
    "a:b.md",
    "a?.md",
    "a*.md",
    'a"b.md',
    "a<b.md",
    "a|b.md",
    "a#b.md",
    "a^b.md",
    "[a].md",
    "a\\b.md",
    "con.md",
    "NUL.md",
    "a /b.md",
    "trail .md",
    "trail./x.md",
    "bell\x07.md",
]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_new_name_that_breaks_links_or_other_systems_is_refused(empty: Session, name: str) -> None:
    assert empty.fault("write_note", path=name, body="x").kind is FaultKind.INVALID_PARAMS
    assert snapshot(empty.root) == {}
