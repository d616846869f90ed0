"""Files that go with a mail: those of one folder, and nothing behind it."""

from __future__ import annotations

import hashlib
import os
import socket
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from faultless.approval import LARGEST_MAIL_BYTES, ApprovalStore, Attachment, Content, read_attachments
from faultless.contract import Fault, FaultKind


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "vault"
    (made / "Files").mkdir(parents=True)
    (made / "Files" / "plan.pdf").write_bytes(b"%PDF plan")
    (tmp_path / "secret.txt").write_text("secret")
    return made


def test_a_file_is_read_with_its_hash_and_the_type_of_its_name(folder: Path) -> None:
    (found,) = read_attachments(folder, ["Files/plan.pdf"])
    assert (found.name, found.size_bytes, found.mime_type) == ("plan.pdf", 9, "application/pdf")
    assert found.sha256 == hashlib.sha256(b"%PDF plan").hexdigest()
    assert "plan" not in repr(found).replace("plan.pdf", "")


@pytest.mark.parametrize("name", ["x.eml", "x.mht", "x.tar.gz", "x", "x.nonsense"])
def test_what_a_mail_program_would_unpack_or_does_not_know_is_plain_bytes(name: str) -> None:
    assert Attachment(name, b"", "").mime_type == "application/octet-stream"


def test_a_name_is_found_in_either_composition(folder: Path) -> None:
    (folder / unicodedata.normalize("NFD", "Müller.txt")).write_text("x")
    (found,) = read_attachments(folder, [unicodedata.normalize("NFC", "Müller.txt")])
    assert found.data == b"x"


def _link_out(folder: Path) -> str:
    (folder / "link.txt").symlink_to(folder.parent / "secret.txt")
    return "link.txt"


def _link_folder_out(folder: Path) -> str:
    (folder / "door").symlink_to(folder.parent)
    return "door/secret.txt"


def _link_inside(folder: Path) -> str:
    (folder / "inside.pdf").symlink_to(folder / "Files" / "plan.pdf")
    return "inside.pdf"


def _hide(folder: Path) -> str:
    (folder / ".obsidian").mkdir()
    (folder / ".obsidian" / "app.json").write_text("{}")
    return ".obsidian/app.json"


def _make_pipe(folder: Path) -> str:
    os.mkfifo(folder / "pipe")
    return "pipe"


def _make_socket(folder: Path) -> str:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(folder / "socket"))
    return "socket"


def _make_large(folder: Path) -> str:
    with (folder / "large.bin").open("wb") as file:
        file.truncate(LARGEST_MAIL_BYTES + 1)
    return "large.bin"


REFUSED: dict[str, tuple[Callable[[Path], str], FaultKind]] = {
    "outside by dots": (lambda _: "../secret.txt", FaultKind.PERMISSION_DENIED),
    "outside from within": (lambda _: "Files/../../secret.txt", FaultKind.PERMISSION_DENIED),
    "absolute": (lambda folder: str(folder.parent / "secret.txt"), FaultKind.PERMISSION_DENIED),
    "a link that leads out": (_link_out, FaultKind.PERMISSION_DENIED),
    "a folder that leads out": (_link_folder_out, FaultKind.PERMISSION_DENIED),
    "a link inside": (_link_inside, FaultKind.PERMISSION_DENIED),
    "hidden": (_hide, FaultKind.PERMISSION_DENIED),
    "missing": (lambda _: "Files/plans.pdf", FaultKind.NOT_FOUND),
    "below a file": (lambda _: "Files/plan.pdf/x", FaultKind.NOT_FOUND),
    "a folder": (lambda _: "Files", FaultKind.INVALID_PARAMS),
    "a pipe": (_make_pipe, FaultKind.INVALID_PARAMS),
    "a socket": (_make_socket, FaultKind.INVALID_PARAMS),
    "no name": (lambda _: "", FaultKind.INVALID_PARAMS),
    "a line break": (lambda _: "a\nb.txt", FaultKind.INVALID_PARAMS),
    "a direction mark": (lambda _: "fdp.\u202eexe", FaultKind.INVALID_PARAMS),
    "an over-long name": (lambda _: "x" * 256, FaultKind.INVALID_PARAMS),
    "NUL": (lambda _: "a\0b", FaultKind.INVALID_PARAMS),
    "too large": (_make_large, FaultKind.TOO_LARGE),
}


@pytest.mark.parametrize(("make", "kind"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_plain_file_of_the_folder_is_refused(
    folder: Path, make: Callable[[Path], str], kind: FaultKind
) -> None:
    with pytest.raises(Fault) as refused:
        read_attachments(folder, [make(folder)])
    assert refused.value.kind is kind
    assert refused.value.hint
    assert "secret" not in refused.value.message.replace("secret.txt", "")


def test_the_files_of_one_mail_share_its_limit(folder: Path) -> None:
    for name in ("a", "b"):
        with (folder / name).open("wb") as file:
            file.truncate(LARGEST_MAIL_BYTES // 2 + 1)
    with pytest.raises(Fault) as refused:
        read_attachments(folder, ["a", "b"])
    assert refused.value.kind is FaultKind.TOO_LARGE


@pytest.mark.parametrize("paths", [["Files/plan.pdf"] * 2, [f"{number}" for number in range(51)]])
def test_a_file_is_attached_once_and_not_too_many(folder: Path, paths: list[str]) -> None:
    with pytest.raises(Fault):
        read_attachments(folder, paths)


def test_an_approval_binds_name_bytes_and_order(folder: Path, tmp_path: Path) -> None:
    one, two = Attachment("a/x.txt", b"1", "1"), Attachment("y.txt", b"2", "2")
    mail = Content("a@example.com", "s", "b", attachments=(one, two))
    others = [
        (),
        (one,),
        (two, one),
        (Attachment("a/x.txt", b"3", "3"), two),
        (Attachment("a/z.txt", b"1", "1"), two),
    ]
    digests = {Content("a@example.com", "s", "b", attachments=it).digest() for it in others}
    assert len(digests) == len(others)
    assert mail.digest() not in digests
    store = ApprovalStore(tmp_path / "state")
    approval = store.record(mail, approved_by="Bo")
    assert store.check(approval.id, mail) == approval
    with pytest.raises(Fault, match=r"'a/x\.txt' is not the file that was approved"):
        store.check(approval.id, Content("a@example.com", "s", "b", attachments=others[3]))
