"""Drafts, Approved, Done: only what was approved leaves, and once."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultless.contract import Fault, FaultKind
from faultless.outbox import OutboxJournal, State, exclude_others, locate_state
from tests.outbox.conftest import NOTE, Rig, state_of


def test_an_approved_note_is_sent_and_filed(rig: Rig) -> None:
    rig.draft("invoice")
    rig.approve("invoice")
    assert rig.states() == {"Approved/invoice.md": "approved"}
    assert state_of(rig.run()) == [State.SENT]
    (sent,) = rig.delivered("invoice")
    assert b"CANARY-body of invoice" in sent.raw
    assert rig.files() == {"Done/invoice.md"}
    assert sent.id in (rig.folder / "Done" / "invoice.md").read_text()
    assert rig.run().changed == []
    assert len(rig.delivered("invoice")) == 1


def test_a_draft_nobody_approved_stays(rig: Rig) -> None:
    rig.draft("waiting")
    assert rig.run().changed == []
    assert rig.states() == {"Drafts/waiting.md": "drafted"}
    assert rig.gmail.calls == []


def test_a_note_moved_to_approved_by_hand_goes_back(rig: Rig) -> None:
    rig.draft("sneaky", "Approved")
    assert state_of(rig.run()) == [State.DRAFTED]
    assert rig.files() == {"Drafts/sneaky.md"}
    assert "nobody approved it" in (rig.folder / "Drafts" / "sneaky.md").read_text()
    assert rig.gmail.account.delivered == []


def test_moving_approves_where_the_outbox_was_told_so(rig: Rig) -> None:
    rig.approve_by_move = True
    rig.draft("moved", "Approved")
    assert state_of(rig.run()) == [State.SENT]
    assert len(rig.delivered("moved")) == 1


@pytest.mark.parametrize("by_move", [False, True])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ann@example.com", "eve@example.com"),
        ("CANARY-body", "other body"),
        ("subject: edited", "subject: changed"),
        ("status: pending_approval", "cc: eve@example.com"),
        ("status: pending_approval", "bcc: eve@example.com"),
        ("status: pending_approval", "reply_to_message_id: abc"),
    ],
    ids=["to", "body", "subject", "cc", "bcc", "thread"],
)
def test_a_note_edited_after_approval_goes_back_with_the_reason(
    rig: Rig, old: str, new: str, by_move: bool
) -> None:
    path = rig.draft("edited", "Approved" if by_move else "Drafts")
    if by_move:
        rig.approve_by_move = True
        rig.gone.add("gmail")
        assert state_of(rig.run()) == [State.FAILED]
        rig.gone.clear()
        text = path.read_text().replace("status: failed", "status: pending_approval")
    else:
        rig.approve("edited")
        path = rig.folder / "Approved" / "edited.md"
        text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    assert state_of(rig.run()) == [State.DRAFTED]
    assert rig.gmail.account.delivered == []
    assert "changed since" in (rig.folder / "Drafts" / "edited.md").read_text()


def test_a_rejected_note_is_put_away(rig: Rig) -> None:
    rig.draft("no")
    rig.reject("no", "too rude")
    assert rig.states() == {"Rejected/no.md": "rejected"}
    assert "too rude" in (rig.folder / "Rejected" / "no.md").read_text()
    rig.approve_by_move = True
    rig.draft("also no", "Approved").write_text(
        "---\nto: a@example.com\nsubject: x\nstatus: rejected\n---\nb\n"
    )
    assert state_of(rig.run()) == [State.REJECTED]
    assert rig.gmail.account.delivered == []


def test_a_name_that_was_used_before_is_a_new_mail(rig: Rig) -> None:
    rig.approve_by_move = True
    for text in (NOTE, NOTE + "and more\n"):
        rig.draft("weekly", "Approved", text)
        assert state_of(rig.run()) == [State.SENT]
    assert len(rig.delivered("weekly")) == 2
    assert len(rig.files()) == 2


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("---\nsubject: x\n---\nbody\n", "to"),
        ("---\nto: a@example.com\n---\nbody\n", "subject"),
        ("---\nto: a@example.com\nsubject: x\n---\n\n", "body"),
        ("---\nto: {{a: 1}}\nsubject: x\n---\nbody\n", "to"),
        ("---\nto: a@example.com\nsubject: x\nfrom: b@example.com\n---\nbody\n", "from"),
        ("---\nto: a@example.com\nsubject: x\n---\n%%only a comment%%\n", "body"),
        ("---\nto: a@example.com\nsubject: x\n---\nbody %%not closed\n", "body"),
    ],
)
def test_a_note_that_is_no_mail_goes_back(rig: Rig, text: str, field: str) -> None:
    rig.approve_by_move = True
    rig.draft("broken", "Approved", text)
    (entry,) = rig.run().changed
    assert entry.state is State.DRAFTED
    assert f": {field} " in entry.reason


def test_several_recipients_may_stand_in_a_list(rig: Rig) -> None:
    text = "---\nto:\n  - a@example.com\n  - b@example.com\nsubject: many\n---\nbody\n"
    rig.draft("many", text=text)
    rig.approve("many")
    rig.run()
    assert rig.delivered("many")[0].header("To") == "a@example.com, b@example.com"


def test_it_is_too_late_to_decide_about_a_mail_that_may_have_left(rig: Rig) -> None:
    rig.draft("late")
    rig.approve("late")
    entry = rig.journal.load()["late.md"]
    rig.journal.add(type(entry)(entry.note, State.SENDING, entry.approval_id))
    with pytest.raises(Fault) as refused:
        rig.reject("late", "")
    assert refused.value.kind is FaultKind.CONFLICT


def test_two_outboxes_on_one_vault_exclude_each_other(tmp_path: Path) -> None:
    with exclude_others(tmp_path), pytest.raises(Fault) as refused, exclude_others(tmp_path):
        pass
    assert refused.value.kind is FaultKind.CONFLICT
    with exclude_others(tmp_path):
        pass


def test_approvals_inside_the_vault_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Fault) as refused:
        locate_state(tmp_path / "vault" / "state", tmp_path / "vault")
    assert refused.value.kind is FaultKind.PERMISSION_DENIED
    assert locate_state(tmp_path / "state", tmp_path / "vault").is_relative_to(tmp_path / "state")


def test_a_torn_line_does_not_stop_the_journal(rig: Rig) -> None:
    rig.draft("torn")
    approval = rig.approve("torn")
    path = rig.home / "state" / "outbox" / "journal.jsonl"
    path.write_text(path.read_text() + '{"note":"torn.md","state":"sen')
    assert OutboxJournal(path).load()["torn.md"].state is State.APPROVED
    assert state_of(rig.run()) == [State.SENT]
    assert OutboxJournal(path).load()["torn.md"].approval_id == approval.id
