"""What a mail becomes when a server is gone, refuses, or may have sent it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from faultless.contract import Fault, FaultKind
from faultless.outbox import Entry, State, exclude_others
from tests.outbox.conftest import Rig, state_of
from tests.servers.gmail.fake import Trouble
from tests.servers.gmail.fake.trouble import refuse


def test_without_gmail_the_note_stays_and_says_why_and_leaves_later(rig: Rig) -> None:
    rig.draft("patient")
    rig.approve("patient")
    rig.gone.add("gmail")
    assert state_of(rig.run()) == [State.FAILED]
    assert rig.states() == {"Approved/patient.md": "failed"}
    text = (rig.folder / "Approved" / "patient.md").read_text()
    assert "status: failed" in text
    assert "outbox_reason:" in text
    assert "outbox_hint:" in text
    rig.gone.clear()
    assert state_of(rig.run()) == [State.SENT]
    assert "outbox_reason: null" in (rig.folder / "Done" / "patient.md").read_text()
    assert len(rig.delivered("patient")) == 1


def test_without_the_vault_server_files_are_moved_by_its_own_code_and_that_is_recorded(rig: Rig) -> None:
    rig.draft("direct")
    rig.approve("direct")
    rig.gone.add("obsidian")
    (entry,) = rig.run().changed
    assert (entry.state, entry.via) == (State.SENT, "fallback")
    assert rig.files() == {"Done/direct.md"}


def test_without_the_vault_server_a_refusal_is_still_told_by_its_kind(rig: Rig) -> None:
    rig.gone.add("obsidian")
    rig.draft("moved by hand", "Approved")
    assert rig.approve("moved by hand").source == "Approved/moved by hand.md"
    with pytest.raises(Fault) as missing:
        rig.approve("nowhere")
    assert missing.value.kind is FaultKind.NOT_FOUND


@pytest.mark.parametrize(
    "trouble",
    [refuse(503), Trouble("drop_before"), refuse(429, "rateLimitExceeded")],
    ids=["503", "drop", "429"],
)
def test_a_mail_that_did_not_leave_is_failed_and_goes_next_time(rig: Rig, trouble: Trouble) -> None:
    rig.draft("retry")
    rig.approve("retry")
    rig.gmail.plan.add("drafts.send", trouble)
    assert state_of(rig.run()) == [State.FAILED]
    assert rig.delivered("retry") == []
    assert state_of(rig.run()) == [State.SENT]
    assert len(rig.delivered("retry")) == 1


def test_a_refusal_that_needs_a_person_is_not_tried_again_until_approved_anew(rig: Rig) -> None:
    rig.draft("refused")
    rig.approve("refused")
    rig.gmail.plan.add("drafts.send", refuse(403, "insufficientPermissions"))
    assert state_of(rig.run()) == [State.FAILED]
    calls = len(rig.gmail.calls)
    assert rig.run().changed == []
    assert len(rig.gmail.calls) == calls
    rig.approve("refused")
    assert state_of(rig.run()) == [State.SENT]
    assert len(rig.delivered("refused")) == 1


def test_a_draft_that_was_changed_in_the_account_waits_for_a_new_approval_and_a_new_draft(rig: Rig) -> None:
    rig.draft("edited there")
    first = rig.approve("edited there")
    rig.gmail.plan.add("drafts.send", refuse(503))
    assert state_of(rig.run()) == [State.FAILED]
    (draft,) = rig.gmail.account.drafts
    rig.gmail.account.edit_draft(draft, b"ann@example.com", b"eve@example.com")
    assert state_of(rig.run()) == [State.FAILED]
    assert rig.run().changed == []
    assert rig.gmail.account.delivered == []
    assert "was changed" in (rig.folder / "Approved" / "edited there.md").read_text()
    assert rig.approve("edited there").id != first.id
    assert state_of(rig.run()) == [State.SENT]
    (sent,) = rig.delivered("edited there")
    assert sent.header("To") == "Ann <ann@example.com>"
    assert list(rig.gmail.account.drafts) == [draft]


def test_a_mail_whose_record_was_lost_while_it_was_being_sent_is_unknown(rig: Rig) -> None:
    rig.draft("no record")
    approval = rig.approve("no record")
    rig.journal.add(Entry("no record.md", State.SENDING, approval.id))
    (rig.home / "state" / "gmail" / "sends" / f"{approval.id}.json").unlink()
    for _ in range(2):
        assert state_of(rig.run()) == [State.UNKNOWN]
    assert rig.gmail.account.delivered == []


def test_a_mail_that_may_have_left_is_unknown_until_it_is_found(rig: Rig) -> None:
    rig.draft("perhaps")
    rig.approve("perhaps")
    rig.gmail.plan.add("drafts.send", Trouble("drop_after"))
    rig.gmail.account.hides_sent = True
    assert state_of(rig.run()) == [State.UNKNOWN]
    assert "Sent folder" in (rig.folder / "Approved" / "perhaps.md").read_text()
    assert state_of(rig.run()) == [State.UNKNOWN]
    rig.gmail.account.hides_sent = False
    assert state_of(rig.run()) == [State.SENT]
    assert rig.files() == {"Done/perhaps.md"}
    assert len(rig.delivered("perhaps")) == 1


def test_what_was_being_sent_is_settled_before_anything_else_leaves(rig: Rig) -> None:
    rig.draft("alpha")
    rig.draft("zulu")
    for name in ("alpha", "zulu"):
        rig.approve(name)
    entry = rig.journal.load()["zulu.md"]
    rig.journal.add(Entry("zulu.md", State.SENDING, entry.approval_id))
    done = rig.run()
    assert [it.note for it in done.changed] == ["zulu.md", "alpha.md"]
    assert [len(rig.delivered(name)) for name in ("alpha", "zulu")] == [1, 1]


def test_nothing_is_sent_while_its_fate_cannot_be_looked_up(rig: Rig) -> None:
    rig.draft("blind")
    approval = rig.approve("blind")
    rig.journal.add(Entry("blind.md", State.SENDING, approval.id))
    rig.gone.add("gmail")
    assert state_of(rig.run()) == [State.UNKNOWN]
    assert rig.states() == {"Approved/blind.md": "unknown"}


@pytest.mark.parametrize("gone", ["nobody", "obsidian"])
@pytest.mark.parametrize("state", [State.SENT, State.SENDING])
def test_a_crash_after_sending_and_before_filing_files_it(rig: Rig, state: State, gone: str) -> None:
    path = rig.draft("crash")
    approval = rig.approve("crash")
    text = (rig.folder / "Approved" / "crash.md").read_text()
    rig.run()
    (sent,) = rig.delivered("crash")
    (rig.folder / "Done" / "crash.md").unlink()
    (rig.folder / "Approved" / path.name).write_text(text)
    rig.journal.add(Entry("crash.md", state, approval.id, message_id=sent.id))
    rig.gone.add(gone)
    assert state_of(rig.run()) == [State.SENT]
    assert rig.files() == {"Done/crash.md"}
    assert len(rig.delivered("crash")) == 1


def test_a_note_changed_after_its_approved_version_left_is_not_filed_as_sent(rig: Rig) -> None:
    rig.draft("moving target")
    approval = rig.approve("moving target")
    path = rig.folder / "Approved" / "moving target.md"
    rig.journal.add(Entry(path.name, State.SENT, approval.id, message_id="abc"))
    path.write_text(path.read_text() + "more\n")
    (entry,) = rig.run().changed
    assert entry.state is State.DRAFTED
    assert "left as message abc" in entry.reason
    assert rig.gmail.account.delivered == []


def test_a_note_taken_away_while_it_was_being_sent_is_still_settled(rig: Rig) -> None:
    rig.draft("vanished")
    approval = rig.approve("vanished")
    (rig.folder / "Approved" / "vanished.md").unlink()
    rig.journal.add(Entry("vanished.md", State.SENDING, approval.id))
    assert rig.states() == {"vanished.md": "sending"}
    assert state_of(rig.run()) == [State.APPROVED]
    assert rig.gmail.account.delivered == []


def test_one_note_s_trouble_does_not_hold_up_the_others(rig: Rig) -> None:
    rig.draft("aaa")
    rig.draft("bbb")
    for name in ("aaa", "bbb"):
        rig.approve(name)
    (rig.folder / "Approved" / "aaa.md").write_text("---\nto: [\n---\nx\n")
    done = rig.run()
    assert [fault.kind for fault in done.problems] == [FaultKind.PARSE_ERROR]
    assert state_of(done) == [State.SENT]


def test_no_text_of_a_mail_is_in_any_journal(rig: Rig) -> None:
    rig.draft("secret")
    rig.approve("secret")
    rig.gmail.plan.add("drafts.send", refuse(503))
    rig.run()
    rig.run()
    written = [path for path in (rig.home / "state").rglob("*") if path.is_file()]
    assert len(written) >= 4
    assert not [path.name for path in written if "CANARY" in path.read_text()]


def test_a_missing_login_names_the_command_in_the_note(rig: Rig) -> None:
    (rig.home / "token.json").unlink()
    rig.draft("no login")
    rig.approve("no login")
    (entry,) = rig.run().changed
    assert (entry.state, entry.kind) == (State.FAILED, "auth_required")
    assert "`faultless login gmail`" in entry.reason
    assert "faultless login gmail" in (rig.folder / "Approved" / "no login.md").read_text()


def _break_disk(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def write(_: int, __: bytes) -> int:
        raise OSError(code, "no")

    monkeypatch.setattr(os, "write", write)


@pytest.mark.parametrize(
    ("code", "kind"), [(errno.ENOSPC, FaultKind.UNAVAILABLE), (errno.EROFS, FaultKind.PERMISSION_DENIED)]
)
def test_a_journal_that_cannot_be_written_is_a_typed_fault(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, code: int, kind: FaultKind
) -> None:
    with monkeypatch.context() as broken:
        _break_disk(broken, code)
        with pytest.raises(Fault) as told:
            rig.journal.add(Entry("a.md", State.APPROVED, "x"))
    assert told.value.kind is kind
    assert told.value.hint


def test_a_short_write_is_finished(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = os.write
    monkeypatch.setattr(os, "write", lambda file, data: whole(file, data[:7]))
    rig.journal.add(Entry("a.md", State.APPROVED, "x"))
    assert rig.journal.load()["a.md"].approval_id == "x"


def test_a_vault_that_cannot_be_written_is_a_typed_fault(tmp_path: Path) -> None:
    (tmp_path / ".outbox.lock").mkdir()  # works for root too, who may write anywhere
    with pytest.raises(Fault) as told, exclude_others(tmp_path):
        pass
    assert told.value.kind is FaultKind.UNAVAILABLE
    assert "lock in the vault" in told.value.message
