"""What a person approved, and nothing else."""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from faultless.approval import ApprovalStore, Content
from faultless.contract import Fault, FaultKind
from faultless.durable import append_line, lock, read_lines, write_atomically

MAIL = Content(to="Ann <ann@example.com>", subject="Hi", body="text")

SAME = {
    "spaces in an address": Content(to='"Ann"  <ann@example.com>', subject="Hi", body="text"),
    "line ends": Content(to="Ann <ann@example.com>", subject=" Hi ", body="text\r\n"),
}
DIFFERENT = {
    "another address": Content(to="Ann <ann@example.org>", subject="Hi", body="text"),
    "another name": Content(to="Bob <ann@example.com>", subject="Hi", body="text"),
    "one more": Content(to="Ann <ann@example.com>, b@example.com", subject="Hi", body="text"),
    "cc for to": Content(to="", cc="Ann <ann@example.com>", subject="Hi", body="text"),
    "bcc": Content(to="Ann <ann@example.com>", bcc="b@example.com", subject="Hi", body="text"),
    "subject": Content(to="Ann <ann@example.com>", subject="Hi!", body="text"),
    "subject's words in the body": Content(to="Ann <ann@example.com>", subject="", body="Hi\ntext"),
    "an inner space": Content(to="Ann <ann@example.com>", subject="Hi", body="te xt"),
    "an invisible letter": Content(to="Ann <ann@example.com>", subject="Hi", body="te\u200bxt"),
    "html": Content(to="Ann <ann@example.com>", subject="Hi", body="text", html="<p>"),
    "thread": Content(to="Ann <ann@example.com>", subject="Hi", body="text", thread="abc"),
}


@pytest.mark.parametrize("other", SAME.values(), ids=SAME)
def test_two_spellings_of_one_mail_have_one_digest(other: Content) -> None:
    assert other.digest() == MAIL.digest()


@pytest.mark.parametrize("other", DIFFERENT.values(), ids=DIFFERENT)
def test_what_reads_differently_has_another_digest(other: Content) -> None:
    assert other.digest() != MAIL.digest()


def test_the_digest_is_fixed_for_approvals_that_are_on_disks() -> None:
    assert MAIL.digest() == "sha256:5b63d7f040742565cf4e8b5274a5e34bff2577a3f23dcdc2138afea4c053a1b7"


def test_an_approval_is_private_and_found_again(tmp_path: Path) -> None:
    store = ApprovalStore(tmp_path / "deep")
    approval = store.record(MAIL, approved_by="Bo", source="Drafts/a.md")
    assert store.check(approval.id, MAIL) == approval
    folder = tmp_path / "deep" / "approvals"
    (path,) = folder.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert "text" not in path.read_text()


def test_an_approval_ends(tmp_path: Path) -> None:
    store = ApprovalStore(tmp_path)
    approval = store.record(MAIL, approved_by="Bo", lifetime=timedelta(hours=1))
    store.check(approval.id, MAIL, datetime.now(UTC) + timedelta(minutes=59))
    with pytest.raises(Fault) as ended:
        store.check(approval.id, MAIL, datetime.now(UTC) + timedelta(minutes=61))
    assert ended.value.details["reason"] == "expired"


@pytest.mark.parametrize("name", ["", "..", "../x", "0" * 31, "G" * 32, "0" * 32])
def test_an_id_that_is_none_finds_nothing(tmp_path: Path, name: str) -> None:
    with pytest.raises(Fault) as refused:
        ApprovalStore(tmp_path).find(name)
    assert refused.value.kind is FaultKind.APPROVAL_REQUIRED


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"id": "x", "digest": 1, "unknown": 2}'])
def test_a_file_that_makes_no_sense_approves_nothing(tmp_path: Path, text: str) -> None:
    store = ApprovalStore(tmp_path)
    approval = store.record(MAIL, approved_by="Bo")
    (tmp_path / "approvals" / f"{approval.id}.json").write_text(text)
    with pytest.raises(Fault) as refused:
        store.check(approval.id, MAIL)
    assert refused.value.details["reason"] == "unreadable"


def test_an_approval_copied_under_another_id_is_none(tmp_path: Path) -> None:
    store = ApprovalStore(tmp_path)
    approval = store.record(MAIL, approved_by="Bo")
    copy = "a" * 32
    (tmp_path / "approvals" / f"{copy}.json").write_text(
        (tmp_path / "approvals" / f"{approval.id}.json").read_text()
    )
    with pytest.raises(Fault):
        store.check(copy, MAIL)


def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_atomically(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "lone \ud800")
    assert [it.name for it in tmp_path.iterdir()] == ["a.json"]
    assert path.read_text() == "old"


def test_a_line_after_a_torn_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    append_line(path, {"n": 1})
    path.write_bytes(path.read_bytes() + b'{"n": 2, "half')
    append_line(path, {"n": 3})
    assert [record["n"] for record in read_lines(path)] == [1, 3]
    assert list(read_lines(tmp_path / "none")) == []


def test_a_lock_is_held_against_others_and_freed_by_its_end(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    with lock(path, wait=False) as first, lock(path, wait=False) as second:
        assert (first, second) == (True, False)
    with lock(path, wait=False) as third:
        assert third
    assert os.access(path, os.W_OK)
