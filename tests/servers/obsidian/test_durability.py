"""Kills, full disks, lost folders and rival writers: no note is ever torn or lost."""

import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from faultless.contract import Fault, FaultKind
from faultless.servers.obsidian import files
from faultless.servers.obsidian.inputs import MoveNote, Operation, PatchNote, ReadNote, TargetKind, WriteNote
from faultless.servers.obsidian.moving import move_note
from faultless.servers.obsidian.note import version_of
from faultless.servers.obsidian.settings import Settings
from faultless.servers.obsidian.store import Journal, Rename, Rewrite, Transaction, Trash
from faultless.servers.obsidian.vault import Vault
from faultless.testing import WireClient
from tests.servers.obsidian.session import Session, snapshot

HERE = Path(__file__).parent
DEADLINE_SECONDS = 900.0


def _run(script: str, *arguments: str, before: tuple[str, ...] = ()) -> dict[str, Any]:
    command = [*before, sys.executable, str(HERE / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=DEADLINE_SECONDS)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _kill(folder: Path, seed: int, moments: int) -> dict[str, Any]:
    report = _run("crash.py", str(folder / "vault"), str(seed), str(moments))
    assert report["wrong"] == []
    assert report["moments"] == moments
    return report


def test_a_writer_killed_at_any_moment_leaves_every_note_whole(tmp_path: Path) -> None:
    _kill(tmp_path, random.randrange(10**6), 8)


def test_a_writer_killed_between_two_steps_leaves_every_note_whole(tmp_path: Path) -> None:
    """Every fifth step, from another one each time."""
    report = _run("crash.py", str(tmp_path), "steps", str(random.randrange(5)), "5")
    assert report["wrong"] == []
    assert "move" in report["cut"]


@pytest.mark.heavy
def test_a_writer_killed_between_any_two_steps_leaves_every_note_whole(tmp_path: Path) -> None:
    report = _run("crash.py", str(tmp_path), "steps", "0", "1")
    assert report["wrong"] == []
    assert report["cut"]["move"] > 20
    assert set(report["cut"]) == {"write", "create", "patch", "move"}


@pytest.mark.heavy
def test_a_writer_killed_at_200_moments_leaves_every_note_whole(tmp_path: Path) -> None:
    report = _kill(tmp_path, random.randrange(10**6), 200)
    assert report["moves_cut"] > 5  # the moments do fall inside moves
    assert report["writes_cut"] > 5


def test_the_check_for_torn_notes_can_fail(tmp_path: Path) -> None:
    """Planted: one letter lost, one note doubled, one link astray."""
    from tests.servers.obsidian import crash  # noqa: PLC0415 - a program, used here for its check alone

    for spoil in ("tear", "double", "astray"):
        root = tmp_path / spoil
        crash.start(root)
        file = root / "note 3.md"
        if spoil == "tear":
            text = file.read_text()
            place = text.index("\nsum ") - 1
            file.write_text(text[:place] + text[place + 1 :])
        elif spoil == "double":
            shutil.copy(file, root / "copy.md")
        else:
            file.rename(root / "elsewhere.md")
        assert crash.check(root) != []


@pytest.mark.parametrize(
    ("how", "kind"),
    [
        ("limit", "unavailable"),
        pytest.param("full", "unavailable", marks=pytest.mark.heavy),
        ("readonly", "permission_denied"),
    ],
)
def test_a_disk_that_takes_nothing_is_a_fault_and_leaves_the_old_notes(
    tmp_path: Path, how: str, kind: str
) -> None:
    root = tmp_path / "vault"
    root.mkdir()
    inside: tuple[str, ...] = ()
    if how != "limit":
        mount = f'mount -t tmpfs -o size=1m tmpfs "{root}" && exec "$@"'
        inside = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh")
        probe = subprocess.run([*inside, "true"], capture_output=True, check=False, timeout=60)
        if probe.returncode != 0:
            pytest.skip("no tmpfs can be mounted here")
    report = _run("cramped.py", str(root), how, before=inside)
    assert set(report["outcomes"].values()) == {kind}
    assert report["left"] == []
    assert report["notes"] == {"a.md": "old a", "b.md": "old b", "links.md": ("[[b]] " * 4)[:20]}


@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_a_vault_that_vanished_is_unavailable(example: Session, how: str) -> None:
    example.call("search_notes", query="plan")
    example.root.rename(f"{example.root}-gone")
    if how == "replaced":
        example.root.mkdir()
    for tool, arguments in (
        ("health_check", {}),
        ("read_note", {"path": "Home.md"}),
        ("search_notes", {"query": "x"}),
        ("list_notes", {}),
        ("write_note", {"path": "new.md", "body": "x"}),
    ):
        assert example.fault(tool, **arguments).kind is FaultKind.UNAVAILABLE
    assert not (example.root / "new.md").exists()
    assert "new.md" not in snapshot(Path(f"{example.root}-gone"))


def test_an_edit_between_look_and_write_is_kept_and_told(
    empty: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stranger writes in the very last moment, just before the swap."""
    file = empty.put("a.md", "first")
    swap = files.exchange
    turns = itertools.count()

    def write_then_swap(one: str, other: str, *, folder: int) -> None:
        if next(turns) == 0:
            file.write_text("a stranger's edit")
        swap(one, other, folder=folder)

    monkeypatch.setattr(files, "exchange", write_then_swap)
    fault = empty.fault("write_note", path="a.md", body="mine", overwrite=True)
    assert (fault.kind, file.read_text()) == (FaultKind.CONFLICT, "a stranger's edit")
    assert fault.details["current_version"] == version_of(b"a stranger's edit")


def test_a_move_that_meets_an_edit_is_undone_entirely(
    example: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = snapshot(example.root)
    swap = files.exchange
    turns = itertools.count()

    def write_then_swap(one: str, other: str, *, folder: int) -> None:
        if next(turns) == 3:
            (example.root / "Projects/Garten 2026/Beete und Wege.md").write_text("a stranger's edit")
        swap(one, other, folder=folder)

    monkeypatch.setattr(files, "exchange", write_then_swap)
    fault = example.fault("move_note", source="Projects/Garten 2026/Plan.md", destination="x.md")
    assert fault.kind is FaultKind.CONFLICT
    before["Projects/Garten 2026/Beete und Wege.md"] = b"a stranger's edit"
    assert snapshot(example.root) == before


def test_a_name_taken_in_the_last_moment_undoes_the_move(
    example: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = snapshot(example.root)
    rename = files.rename_new

    def take_then_rename(old: str, new: str, *, old_folder: int, new_folder: int) -> None:
        if new == "x.md":
            (example.root / "x.md").write_text("was quicker")
        rename(old, new, old_folder=old_folder, new_folder=new_folder)

    monkeypatch.setattr(files, "rename_new", take_then_rename)
    fault = example.fault("move_note", source="Projects/Garten 2026/Plan.md", destination="x.md")
    assert fault.kind is FaultKind.CONFLICT
    assert snapshot(example.root) == {**before, "x.md": b"was quicker"}


@pytest.mark.parametrize("lacking", [{"renameat2"}, {"renameat2", "link"}])
def test_a_system_without_the_newer_calls_gives_the_same_answers(
    example: Session, monkeypatch: pytest.MonkeyPatch, lacking: set[str]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(files, "_renameat2", refuse)
    if "link" in lacking:
        monkeypatch.setattr(os, "link", refuse)
    example.call("write_note", path="Home.md", body="new", overwrite=True)
    example.call("write_note", path="fresh.md", body="new")
    assert example.fault("move_note", source="fresh.md", destination="Home.md").kind is FaultKind.CONFLICT
    example.call("move_note", source="Areas/Health/Sleep.md", destination="Schlaf.md")
    after = snapshot(example.root)
    assert (after["fresh.md"], "Areas/Health/Sleep.md" in after) == (b"new", False)
    assert b"[[Schlaf#Routine|Schlaf]]" in after["Projects/Garten 2026/Plan.md"]


def test_a_cut_off_move_is_finished_by_the_next_reader(empty: Session) -> None:
    empty.put("a.md", "[[b]]")
    empty.put("b.md", "target")
    empty.put(".faultless-1.tmp", "[[c]]")
    rewrite = Rewrite("a.md", ".faultless-1.tmp", version_of(b"[[b]]"), version_of(b"[[c]]"))
    Journal(empty.vault.tree).begin(Transaction(Rename("b.md", "c.md"), (rewrite,), version_of(b"target")))
    assert empty.call("read_note", path="c.md")["body"] == "target"
    assert snapshot(empty.root) == {"a.md": b"[[c]]", "c.md": b"target"}
    assert not (empty.root / ".trash/faultless/journal.json").exists()


def test_a_rival_that_edits_in_place_loses_nothing(empty: Session) -> None:
    """A thread replaces the note again and again while we patch it: each of its versions is kept somewhere."""
    file = empty.put("a.md", "rival 0\n")
    stop = threading.Event()
    written = ["rival 0\n"]

    def rival() -> None:
        for number in range(1, 400):
            if stop.is_set():
                return
            temp = file.with_name("rival.tmp")
            temp.write_text(f"rival {number}\n")
            temp.replace(file)
            written.append(f"rival {number}\n")

    thread = threading.Thread(target=rival)
    thread.start()
    outcomes = []
    try:
        for number in range(25):
            try:
                empty.call(
                    "patch_note",
                    path="a.md",
                    operation="append",
                    target_type="note",
                    content=f"ours {number}",
                )
                outcomes.append("done")
            except Fault as fault:
                outcomes.append(fault.kind.value)
    finally:
        stop.set()
        thread.join(60)
    assert set(outcomes) <= {"done", "conflict"}
    lines = file.read_text().splitlines()
    assert f"{lines[0]}\n" in written
    assert all(line.startswith("ours ") for line in lines[1:])


def test_a_trash_that_takes_nothing_leaves_the_old_note(
    empty: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    empty.put("a.md", "old")
    monkeypatch.setattr(Trash, "take", refuse)
    fault = empty.fault("write_note", path="a.md", body="new", overwrite=True)
    assert fault.kind is FaultKind.UNAVAILABLE
    assert {path.name: path.read_text() for path in empty.root.iterdir() if path.is_file()} == {"a.md": "old"}


@pytest.mark.parametrize("seed", range(3))
def test_whatever_two_clients_do_at_once_each_note_is_a_version_somebody_wrote(
    tmp_path: Path, seed: int
) -> None:
    versions = {version_of(b"start")}
    for name in "abc":
        (tmp_path / f"{name}.md").write_text("start")
    vaults = [Vault(Settings(root=tmp_path)), Vault(Settings(root=tmp_path))]

    def work(number: int) -> None:
        chance = random.Random(seed * 10 + number)
        for turn in range(40):
            with suppress(Fault):
                versions.add(_do_something(vaults[number], chance, f"{number} {turn}"))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, range(2)))
    notes = {name: data for name, data in snapshot(tmp_path).items() if name.endswith(".md")}
    assert len(notes) >= 3  # a forced write after a move makes the note anew
    assert {version_of(data) for data in notes.values()} <= versions
    for vault in vaults:
        vault.close()


def _do_something(vault: Vault, chance: random.Random, text: str) -> str:
    """The version the tool says it wrote."""
    path, other = (f"{chance.choice('abcdef')}.md" for _ in range(2))
    act = chance.choice(["write", "careful", "patch", "field", "move"])
    content = vault.read(ReadNote(path=path))
    if act == "write":
        return vault.write(WriteNote(path=path, body=text * chance.choice([1, 2000]), overwrite=True)).version
    if act == "careful":
        return vault.write(WriteNote(path=path, body=text, if_version=content.version)).version
    if act == "move":
        return move_note(vault, MoveNote(source=path, destination=other)).version
    kind = TargetKind.NOTE if act == "patch" else TargetKind.FRONTMATTER
    operation = Operation.APPEND if act == "patch" else Operation.REPLACE
    return vault.patch(
        PatchNote(path=path, operation=operation, target_type=kind, target="key", content=text)
    ).version


def _serve(root: Path) -> WireClient:
    return WireClient([sys.executable, "-m", "faultless", "serve", "obsidian", "--root", str(root)])


@pytest.mark.parametrize("rounds", [4, pytest.param(40, marks=pytest.mark.heavy)])
def test_two_servers_on_one_vault_lose_no_update(tmp_path: Path, rounds: int) -> None:
    """Two real processes append to, write and move the same notes at once."""
    (tmp_path / "log.md").write_text("# Log\n")
    (tmp_path / "page.md").write_text("start")
    with _serve(tmp_path) as one, _serve(tmp_path) as other:
        clients = [one.open("handshake"), other.open("modern")]
        with ThreadPoolExecutor(2) as pool:
            results = list(pool.map(_work, clients, ("A", "B"), (rounds, rounds)))
    tokens = (tmp_path / "log.md").read_text().splitlines()[1:]
    assert sorted(tokens) == sorted(token for done, _ in results for token in done)
    versions = {version for _, known in results for version in known}
    pages = list(tmp_path.glob("page*.md"))
    assert len(pages) == 1
    assert version_of(pages[0].read_bytes()) in versions


def _work(client: WireClient, name: str, rounds: int) -> tuple[list[str], set[str]]:
    done: list[str] = []
    versions: set[str] = set()
    for number in range(rounds):
        token = f"{name}{number}"
        append = {
            "path": "log.md",
            "operation": "append",
            "target_type": "heading",
            "target": "Log",
            "content": token,
        }
        answer = client.call("patch_note", append)["result"]
        if not answer["isError"]:
            done.append(token)
        for page in ("page.md", "page2.md"):
            write = client.call(
                "write_note",
                {"path": page, "body": token * 500, "overwrite": True, "if_version": _version(client, page)},
            )
            if not write["result"]["isError"]:
                versions.add(write["result"]["structuredContent"]["version"])
        moves = [("page.md", "page2.md"), ("page2.md", "page.md")]
        for source, destination in moves[:: 1 if name == "A" else -1]:
            client.call("move_note", {"source": source, "destination": destination})
    return done, versions


def _version(client: WireClient, path: str) -> str:
    found = client.call("read_note", {"path": path})["result"]
    return "none" if found["isError"] else str(found["structuredContent"]["version"])
