"""Files that are whole or not there at all."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from faultless.durable import write_atomically, write_new


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


def list_names(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir())


@pytest.mark.parametrize("data", ["né", "né".encode()])
def test_text_and_bytes_replace_what_was_there(tmp_path: Path, data: str | bytes) -> None:
    path = tmp_path / "a"
    path.write_text("old")

    write_atomically(path, data)

    assert (path.read_text(encoding="utf-8"), list_names(tmp_path)) == ("né", ["a"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_mode_is_asked_for(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a", b"x", mode=0o640)

    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640 & ~_umask()


def test_a_write_below_an_open_folder_goes_there_even_when_its_name_is_another_now(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    descriptor = os.open(tmp_path / "here", os.O_RDONLY | os.O_DIRECTORY)
    (tmp_path / "here").rename(tmp_path / "there")

    write_atomically(Path("elsewhere/a"), "x", folder=descriptor)

    os.close(descriptor)
    assert list_names(tmp_path / "there") == ["a"]


def test_a_name_that_cannot_be_replaced_leaves_no_draft(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()

    with pytest.raises(IsADirectoryError):
        write_atomically(tmp_path / "a", "x")

    assert list_names(tmp_path) == ["a"]


def test_a_new_file_takes_the_mode_of_another(tmp_path: Path, folder: int) -> None:
    other = tmp_path / "other"
    other.write_text("o")
    other.chmod(0o604)

    write_new("a", b"x", folder=folder, like=other.stat())

    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o604


def test_a_taken_name_stays_as_it_is(tmp_path: Path, folder: int) -> None:
    (tmp_path / "a").write_text("old")
    (tmp_path / "link").symlink_to("elsewhere")

    for name in ("a", "link"):
        with pytest.raises(FileExistsError):
            write_new(name, "new", folder=folder)

    assert ((tmp_path / "a").read_text(), list_names(tmp_path)) == ("old", ["a", "link"])


def test_a_new_file_that_cannot_be_written_whole_is_not_there(tmp_path: Path, folder: int) -> None:
    with pytest.raises(UnicodeEncodeError):
        write_new("a", "lone \ud800", folder=folder)

    assert list_names(tmp_path) == []


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
