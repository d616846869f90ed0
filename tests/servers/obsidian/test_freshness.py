"""An edit by another program is found by the next call, watched or swept."""

import os
import random
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from faultless.servers.obsidian import watch
from tests.servers.obsidian.session import Session, copy_example, snapshot


@pytest.fixture(params=["watched", "swept"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    (tmp_path / "vault").mkdir()
    made = Session(tmp_path / "vault", watch=request.param == "watched")
    assert made.call("health_check")["freshness"] == request.param
    yield made
    made.close()


def _found(session: Session, query: str) -> set[str]:
    return {note["path"] for note in session.call("search_notes", query=query, limit=500)["notes"]}


def test_a_new_an_edited_and_a_deleted_note_are_seen_at_once(session: Session) -> None:
    assert _found(session, "word") == set()
    file = session.put("a.md", "word")
    assert _found(session, "word") == {"a.md"}
    file.write_text("else")
    assert _found(session, "word") == set()
    with file.open("a") as same:
        same.write(" word")
    assert _found(session, "word") == {"a.md"}
    file.unlink()
    assert _found(session, "word") == set()


def test_an_edit_of_the_same_length_within_one_tick_is_seen(session: Session) -> None:
    for number in range(40):
        session.put("a.md", f"word{number:04}")
        assert _found(session, f"word{number:04}") == {"a.md"}


def test_an_edit_that_keeps_the_old_date_is_seen(session: Session) -> None:
    file = session.put("a.md", "before")
    assert _found(session, "before") == {"a.md"}
    status = file.stat()
    file.write_text("after!")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert _found(session, "after!") == {"a.md"}


def test_folders_made_moved_and_removed_are_followed(session: Session) -> None:
    session.put("one/two/a.md", "word")
    assert _found(session, "word") == {"one/two/a.md"}
    (session.root / "one").rename(session.root / "three")
    session.put("three/two/b.md", "word")
    assert _found(session, "word") == {"three/two/a.md", "three/two/b.md"}
    (session.root / "three/two").rename(session.root / "three/.hidden")
    assert _found(session, "word") == set()
    (session.root / "three/.hidden").rename(session.root / "back")
    session.put("back/a.md", "changed word")
    assert _found(session, "word") == {"back/a.md", "back/b.md"}
    shutil.rmtree(session.root / "back")
    session.put("back", "a file now")
    assert _found(session, "word") == set()


def test_a_note_swapped_in_by_rename_is_seen(session: Session) -> None:
    session.put("a.md", "old")
    assert _found(session, "old") == {"a.md"}
    Path(f"{session.root}-outside").write_text("swapped in")
    Path(f"{session.root}-outside").replace(session.root / "a.md")
    assert _found(session, "swapped") == {"a.md"}
    assert _found(session, "old") == set()


def test_an_edit_through_another_name_of_the_file_is_seen(session: Session) -> None:
    file = session.put("a.md", "old")
    other = Path(f"{session.root}-other.md")
    other.hardlink_to(file)
    assert _found(session, "old") == {"a.md"}
    other.write_text("through the other name")
    assert _found(session, "other name") == {"a.md"}


def test_links_and_special_files_are_no_notes(session: Session) -> None:
    outside = Path(f"{session.root}-secret.md")
    outside.write_text("secret")
    (session.root / "link.md").symlink_to(outside)
    (session.root / "dir").symlink_to(outside.parent)
    os.mkfifo(session.root / "pipe.md")
    assert _found(session, "secret") == set()
    assert session.call("health_check")["note_count"] == 0


def test_tags_and_fields_follow_edits(session: Session) -> None:
    session.put("a.md", "---\nstate: one\n---\n#first")
    assert session.call("search_notes", frontmatter="state:one")["count"] == 1
    session.put("a.md", "---\nstate: two\n---\n#second")
    assert session.call("search_notes", frontmatter="state:one")["count"] == 0
    assert [one["tag"] for one in session.call("list_tags")["tags"]] == ["second"]


@pytest.mark.parametrize("seed", range(6))
def test_any_sequence_of_outside_changes_is_followed(session: Session, seed: int) -> None:
    """Compared with a plain walk after every few steps."""
    chance = random.Random(seed)
    for _ in range(12):
        for _ in range(chance.randint(1, 6)):
            _change_something(session.root, chance)
        expected = {
            path for path, data in snapshot(session.root).items() if b"word" in data and path.endswith(".md")
        }
        assert _found(session, "word") == expected


def _change_something(root: Path, chance: random.Random) -> None:
    folders = [root, *(path for path in root.rglob("*") if path.is_dir() and ".trash" not in path.parts)]
    files = [path for path in root.rglob("*.md") if path.is_file()]
    act = chance.choice(["write", "write", "mkdir", "move", "remove", "movedir", "rmdir"])
    place = chance.choice(folders) / f"n{chance.randint(0, 9)}"
    if act == "write" and not place.with_suffix(".md").is_dir():
        place.with_suffix(".md").write_text(chance.choice(["word", "other", "a word"]))
    elif act == "mkdir" and not place.exists():
        place.mkdir()
    elif act == "move" and files and not place.with_suffix(".md").exists():
        chance.choice(files).rename(place.with_suffix(".md"))
    elif act == "remove" and files:
        chance.choice(files).unlink()
    elif act == "movedir" and len(folders) > 1 and not place.exists():
        folder = chance.choice(folders[1:])
        if folder not in place.parents:
            folder.rename(place)
    elif act == "rmdir" and len(folders) > 1:
        shutil.rmtree(chance.choice(folders[1:]))


def test_an_overflowing_queue_leads_to_a_full_look(empty: Session) -> None:
    assert _found(empty, "word") == set()
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if limit > 50_000:
        pytest.skip("the queue is too long to overflow in a test")
    file = empty.put("a.md", "x")
    other = empty.put("b.md", "x")
    for number in range(limit // 2 + 100):  # alternating, as equal neighbours are merged
        os.utime(file, ns=(0, number))
        os.utime(other, ns=(0, number))
    empty.put("c.md", "word")
    assert _found(empty, "word") == {"c.md"}
    empty.put("d.md", "word")
    assert _found(empty, "word") == {"c.md", "d.md"}


def test_without_room_for_watches_the_vault_is_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_inotify: int, _folder: int) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(watch, "add_watch", refuse)
    session = Session(tmp_path)
    session.put("a.md", "word")
    assert session.call("health_check")["freshness"] == "swept"
    assert _found(session, "word") == {"a.md"}
    session.close()


def test_health_needs_no_note_read_and_says_so(session: Session) -> None:
    for number in range(5):
        session.put(f"folder/{number}.md", "word")
    before = session.call("health_check")
    assert (before["note_count"], before["indexed_count"]) == (5, 0)
    _found(session, "word")
    session.put("new.md", "word")
    after = session.call("health_check")
    assert after["note_count"] == 6
    assert after["indexed_count"] in {5, 6}  # swept: the new one is read by the next search


def test_health_counts_what_a_search_can_find_and_nothing_else(tmp_path: Path) -> None:
    session = Session(copy_example(tmp_path))
    for path in ("Approved/mail.md", ".obsidian/x.md", "a/.hidden/x.md", "folder.md/in.md", "picture.png"):
        session.put(path, "x")
    (session.root / "link.md").symlink_to(session.root / "folder.md/in.md")
    os.mkfifo(session.root / "pipe.md")
    counted = session.call("health_check")["note_count"]
    found = session.call("search_notes", query=".", regex=True, limit=500)
    assert counted == len(found["notes"]) == session.call("health_check")["note_count"]
    session.close()


def test_health_does_not_wait_for_a_search_that_reads_the_vault(session: Session) -> None:
    session.put("a.md", "word")
    with session.vault.index.fresh(), ThreadPoolExecutor(1) as pool:
        asked = pool.submit(session.call, "health_check")
        done, _ = wait([asked], timeout=30)
    assert done, "health_check waited for the index"
    assert asked.result()["note_count"] == 1


def test_a_network_file_system_is_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "file_system_of", lambda _: "nfs4")
    assert watch.open_watcher(tmp_path) is None
    monkeypatch.undo()
    assert watch.file_system_of(tmp_path) != ""
