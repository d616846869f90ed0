"""Files of the vault leave with a mail: those that were approved, byte for byte, or none."""

from __future__ import annotations

import email
import email.policy
import os
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path

import pytest

from faultless.contract import Fault, FaultKind
from faultless.outbox import State
from tests.outbox.conftest import Rig, state_of
from tests.servers.gmail.fake import Trouble
from tests.servers.gmail.fake.account import Stored

NOTE = """\
---
to: ann@example.com
subject: {subject}
attachments:
  - Files/plan.pdf
  - "[[Files/Übersicht 2026, sehr langer Name, der in keine Zeile einer Kopfzeile passt.txt]]"
---
CANARY-body
"""
LONG = "Übersicht 2026, sehr langer Name, der in keine Zeile einer Kopfzeile passt.txt"
BYTES = bytes(range(256)) * 20


@pytest.fixture
def files(rig: Rig) -> Path:
    folder = rig.folder / "Files"
    folder.mkdir()
    (folder / "plan.pdf").write_bytes(BYTES)
    (folder / LONG).write_text("Grüße\n" * 3)
    return folder


def parse(stored: Stored) -> EmailMessage:
    message = email.message_from_bytes(stored.raw, policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    return message


def attached(stored: Stored) -> dict[str, bytes]:
    """As the standard library reads them."""
    return {
        part.get_filename() or "": bytes(part.get_payload(decode=True) or b"")
        for part in parse(stored).iter_attachments()
    }


def test_the_files_leave_as_they_are_under_their_names(rig: Rig, files: Path) -> None:
    rig.draft("offer", text=NOTE)
    rig.approve("offer")
    assert state_of(rig.run()) == [State.SENT]
    (sent,) = rig.delivered("offer")
    assert attached(sent) == {"plan.pdf": BYTES, LONG: (files / LONG).read_bytes()}
    message = parse(sent)
    assert message.get_content_type() == "multipart/mixed"
    assert [part.get_content_type() for part in message.iter_attachments()] == [
        "application/pdf",
        "text/plain",
    ]
    body = message.get_body()
    assert body is not None
    assert body.get_content() == "CANARY-body\n"
    assert b"filename*0*=utf-8''%C3%9Cbersicht" in sent.raw
    assert all(len(line) <= 998 for line in sent.raw.splitlines())


def test_an_empty_text_may_leave_with_a_file_and_not_without(rig: Rig, files: Path) -> None:
    del files
    rig.draft("just a file", text=NOTE.replace("CANARY-body\n", ""))
    rig.approve("just a file")
    assert state_of(rig.run()) == [State.SENT]
    assert attached(rig.delivered("just a file")[0])["plan.pdf"] == BYTES
    rig.draft("nothing", text="---\nto: a@example.com\nsubject: nothing\nattachments: []\n---\n")
    with pytest.raises(Fault, match="body is missing"):
        rig.approve("nothing")


def _change(files: Path) -> None:
    (files / "plan.pdf").write_bytes(b"another plan")


def _delete(files: Path) -> None:
    (files / "plan.pdf").unlink()


def _link(files: Path) -> None:
    (files / "plan.pdf").rename(files.parent.parent / "plan.pdf")
    (files / "plan.pdf").symlink_to(files.parent.parent / "plan.pdf")


def _exchange(files: Path) -> None:
    os.mkfifo(files / "pipe")
    (files / "pipe").rename(files / "plan.pdf")


@pytest.mark.parametrize("happens", [_change, _delete, _link, _exchange])
def test_a_file_that_changed_after_the_approval_is_not_sent_and_the_note_says_which(
    rig: Rig, files: Path, happens: Callable[[Path], None]
) -> None:
    rig.draft("offer", text=NOTE)
    rig.approve("offer")
    happens(files)
    assert state_of(rig.run()) == [State.DRAFTED]
    assert rig.gmail.account.delivered == []
    assert rig.gmail.count("drafts.create") == 0
    text = (rig.folder / "Drafts" / "offer.md").read_text()
    assert "Files/plan.pdf" in text.partition("outbox_reason")[2]


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("../state/secret", FaultKind.PERMISSION_DENIED),
        (".obsidian/app.json", FaultKind.PERMISSION_DENIED),
        ("Files", FaultKind.INVALID_PARAMS),
        ("Files/none.pdf", FaultKind.INVALID_PARAMS),
        ("/etc/hostname", FaultKind.PERMISSION_DENIED),
        ("[[plan.pdf]]", FaultKind.INVALID_PARAMS),
        ("[1, 2]", FaultKind.INVALID_PARAMS),
    ],
)
def test_what_sending_would_refuse_is_refused_at_approval(
    rig: Rig, files: Path, path: str, kind: FaultKind
) -> None:
    del files
    rig.draft("bad", text=f"---\nto: a@example.com\nsubject: bad\nattachments: {path}\n---\nx\n")
    with pytest.raises(Fault) as refused:
        rig.approve("bad")
    assert refused.value.kind in {kind, FaultKind.INVALID_PARAMS}
    assert rig.files() == {"Drafts/bad.md"}


def test_a_mail_over_the_limit_is_refused_at_approval(rig: Rig, files: Path) -> None:
    with (files / "plan.pdf").open("wb") as file:
        file.truncate(19_000_000)
    rig.draft("large", text=NOTE)
    with pytest.raises(Fault) as refused:
        rig.approve("large")
    assert refused.value.kind is FaultKind.TOO_LARGE
    assert "25000000" in refused.value.message


def test_a_large_file_goes_as_an_upload_and_arrives_whole(rig: Rig, files: Path) -> None:
    data = os.urandom(3_000_000)
    (files / "plan.pdf").write_bytes(data)
    rig.draft("heavy", text=NOTE)
    rig.approve("heavy")
    assert state_of(rig.run()) == [State.SENT]
    assert attached(rig.delivered("heavy")[0])["plan.pdf"] == data
    assert rig.gmail.uploads == 2


def test_a_send_that_was_cut_off_goes_on_with_the_same_bytes(rig: Rig, files: Path) -> None:
    del files
    rig.draft("cut", text=NOTE)
    rig.approve("cut")
    rig.gmail.plan.add("drafts.send", Trouble("drop_before"))
    assert state_of(rig.run()) == [State.FAILED]
    (draft,) = rig.gmail.account.drafts.values()
    kept = rig.gmail.account.messages[draft].raw
    assert state_of(rig.run()) == [State.SENT]
    (sent,) = rig.delivered("cut")
    assert sent.raw.partition(b"\n\n")[2] == kept.partition(b"\n\n")[2]


def test_a_file_that_changed_after_a_send_was_cut_off_does_not_leave(rig: Rig, files: Path) -> None:
    rig.draft("cut", text=NOTE)
    rig.approve("cut")
    rig.gmail.plan.add("drafts.send", Trouble("drop_before"))
    rig.run()
    _change(files)
    assert state_of(rig.run()) == [State.DRAFTED]
    assert rig.gmail.account.delivered == []


def test_by_move_the_same_text_with_another_file_is_another_mail_and_a_copy_is_not(
    rig: Rig, files: Path
) -> None:
    rig.approve_by_move = True
    rig.draft("offer", "Approved", NOTE)
    rig.run()
    rig.draft("offer again", "Approved", NOTE.replace("{subject}", "offer"))
    assert state_of(rig.run()) == [State.DRAFTED]
    assert len(rig.delivered("offer")) == 1
    (files / "other.pdf").write_bytes(b"other")
    rig.draft("offer too", "Approved", NOTE.replace("{subject}", "offer").replace("plan.pdf", "other.pdf"))
    assert state_of(rig.run()) == [State.SENT]
    assert [sorted(attached(it)) for it in rig.delivered("offer")] == [
        ["plan.pdf", LONG],
        ["other.pdf", LONG],
    ]


def test_by_move_a_note_waits_until_its_files_have_been_quiet_too(rig: Rig, files: Path) -> None:
    rig.approve_by_move = True
    whole = (files / "plan.pdf").read_bytes()
    (files / "plan.pdf").unlink()
    rig.draft("in pieces", "Approved", NOTE)
    passes = rig.run_passes(
        [
            (0, lambda: None),
            (20, lambda: (files / "plan.pdf").write_bytes(whole[:100])),
            (20, lambda: (files / "plan.pdf").write_bytes(whole)),
            (29, lambda: None),
            (1, lambda: None),
        ],
        quiet=30,
    )
    assert [len(it.changed) for it in passes] == [0, 0, 0, 0, 1]
    assert attached(rig.delivered("in pieces")[0])["plan.pdf"] == whole
