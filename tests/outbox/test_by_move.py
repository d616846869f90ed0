"""Approval by moving a note: once per content, whatever a sync, a copy, a new name or a second machine does."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultless.contract import Fault, FaultKind
from faultless.outbox import Entry, State
from tests.outbox.conftest import NOTE, Rig, state_of
from tests.servers.gmail.fake import Trouble
from tests.servers.gmail.fake.trouble import refuse


@pytest.fixture
def mover(rig: Rig) -> Rig:
    rig.approve_by_move = True
    return rig


def _copy(rig: Rig, old: str, new: str) -> Path:
    path = rig.folder / "Approved" / f"{new}.md"
    path.write_bytes((rig.folder / "Approved" / f"{old}.md").read_bytes())
    return path


def _read(rig: Rig, path: str) -> str:
    return (rig.folder / path).read_text()


def test_a_conflict_copy_beside_the_note_does_not_leave_too(mover: Rig) -> None:
    mover.draft("offer", "Approved")
    _copy(mover, "offer", "offer (conflicted copy 2026-11-16)")
    assert sorted(state_of(mover.run())) == [State.DRAFTED, State.SENT]
    assert len(mover.delivered("offer")) == 1
    assert mover.run().changed == []


def test_a_copy_of_a_note_that_failed_waits_for_nobody_and_goes_back(mover: Rig) -> None:
    mover.draft("offer", "Approved")
    mover.gmail.plan.add("drafts.send", refuse(503))
    assert state_of(mover.run()) == [State.FAILED]
    _copy(mover, "offer", "a copy")
    done = mover.run()
    assert {entry.note: entry.state for entry in done.changed} == {
        "a copy.md": State.DRAFTED,
        "offer.md": State.SENT,
    }
    assert len(mover.delivered("offer")) == 1


@pytest.mark.parametrize("name", ["same", "another name"])
def test_the_same_mail_moved_again_after_it_left_goes_back_and_the_terminal_may_send_it(
    mover: Rig, name: str
) -> None:
    mover.draft("same", "Approved")
    mover.run()
    (mover.folder / "Approved" / f"{name}.md").write_text(NOTE.format(subject="same"))
    assert state_of(mover.run()) == [State.DRAFTED]
    back = next(path for path in mover.files() if path.startswith("Drafts/"))
    assert "left before" in _read(mover, back)
    assert len(mover.delivered("same")) == 1
    mover.approve(back)
    assert "left before" in mover.warnings[0]
    assert state_of(mover.run()) == [State.SENT]
    assert len(mover.delivered("same")) == 2


def test_a_mail_that_left_is_known_from_its_filed_note_where_the_state_was_lost(mover: Rig) -> None:
    mover.draft("filed", "Approved")
    mover.run()
    (mover.folder / "Approved" / "Outbox machine.md").unlink()
    other = mover.on_another_machine()
    other.draft("filed", "Approved")
    assert state_of(other.run()) == [State.DRAFTED]
    assert len(mover.delivered("filed")) == 1


def _make_unknown(rig: Rig, name: str) -> str:
    rig.draft(name, "Approved")
    rig.gmail.plan.add("drafts.send", Trouble("drop_after"))
    rig.gmail.account.hides_sent = True
    (entry,) = rig.run().changed
    assert entry.state is State.UNKNOWN
    return entry.approval_id


@pytest.mark.parametrize("by_move", [True, False])
def test_a_note_of_unknown_fate_stays_unknown_under_another_name(mover: Rig, *, by_move: bool) -> None:
    approval = _make_unknown(mover, "who knows")
    (mover.folder / "Approved" / "who knows.md").rename(mover.folder / "Approved" / "renamed.md")
    mover.approve_by_move = by_move
    for _ in range(2):
        entries = {entry.note: entry for entry in mover.run().changed}
        assert entries["renamed.md"].state is State.UNKNOWN
        assert entries["renamed.md"].approval_id == approval
    mover.gmail.account.hides_sent = False
    mover.run()
    assert mover.states() == {"Done/renamed.md": "sent"}
    assert len(mover.delivered("who knows")) == 1


def test_the_terminal_does_not_approve_what_may_have_left_under_another_name(mover: Rig) -> None:
    _make_unknown(mover, "who knows")
    mover.draft("a new draft", text=NOTE.replace("{subject}", "who knows"))
    with pytest.raises(Fault) as refused:
        mover.approve("a new draft")
    assert refused.value.kind is FaultKind.CONFLICT


def test_a_mail_whose_record_cannot_be_read_is_unknown_under_another_name(mover: Rig) -> None:
    mover.draft("torn")
    approval = mover.approve("torn")
    (mover.home / "state" / "gmail" / "sends" / f"{approval.id}.json").write_text("{")
    (mover.folder / "Approved" / "torn.md").rename(mover.folder / "Approved" / "renamed.md")
    assert state_of(mover.run()) == [State.UNKNOWN]
    assert mover.gmail.account.delivered == []


def test_a_note_that_says_it_is_unknown_is_not_sent_where_nothing_else_is_known_of_it(mover: Rig) -> None:
    text = NOTE.replace("pending_approval", "unknown")
    mover.draft("from elsewhere", "Approved", text)
    assert state_of(mover.run()) == [State.UNKNOWN]
    assert state_of(mover.run()) == [State.UNKNOWN]
    mover.resolve_unknown("from elsewhere", left=False)
    assert mover.files() == {"Drafts/from elsewhere.md"}
    (mover.folder / "Drafts" / "from elsewhere.md").rename(mover.folder / "Approved" / "from elsewhere.md")
    assert state_of(mover.run()) == [State.SENT]


def test_a_mail_that_a_person_settled_as_not_left_can_be_moved_again(mover: Rig) -> None:
    _make_unknown(mover, "settled")
    mover.resolve_unknown("settled", left=False)
    (mover.folder / "Drafts" / "settled.md").rename(mover.folder / "Approved" / "settled.md")
    assert state_of(mover.run()) == [State.SENT]


def test_an_approved_note_that_was_renamed_goes_on_with_its_approval(mover: Rig) -> None:
    mover.draft("old name")
    approval = mover.approve("old name")
    (mover.folder / "Approved" / "old name.md").rename(mover.folder / "Approved" / "new name.md")
    (entry,) = mover.run().changed
    assert (entry.state, entry.approval_id) == (State.SENT, approval.id)
    assert len(mover.delivered("old name")) == 1


def test_a_note_is_taken_up_only_when_it_has_read_the_same_for_a_while(mover: Rig) -> None:
    path = mover.draft("in pieces", "Approved", "---\nto: ann@example.com\n")

    def arrive_whole() -> None:
        path.write_text(NOTE.format(subject="in pieces"))

    passes = mover.run_passes(
        [
            (0, lambda: None),
            (29, arrive_whole),
            (29, lambda: None),
            (1, lambda: None),
        ],
        quiet=30,
    )
    assert [len(it.changed) for it in passes] == [0, 0, 0, 1]
    assert [it.waits for it in passes] == [True, True, True, False]
    (sent,) = mover.delivered("in pieces")
    assert b"CANARY-body" in sent.raw


def test_a_note_that_keeps_changing_is_not_taken_up(mover: Rig) -> None:
    path = mover.draft("restless", "Approved")
    texts = iter(range(5))

    def change() -> None:
        path.write_text(NOTE.format(subject=f"v{next(texts)}"))

    passes = mover.run_passes([(20.0, change)] * 5, quiet=30)
    assert [it.changed for it in passes] == [[]] * 5
    assert mover.gmail.account.delivered == []


def test_a_second_machine_sends_nothing_and_says_who_does(mover: Rig) -> None:
    mover.run()
    other = mover.on_another_machine()
    mover.draft("shared", "Approved")
    mover.draft("draft")
    done = other.run()
    assert done.changed == []
    assert [fault.kind for fault in done.problems] == [FaultKind.CONFLICT]
    assert "sent by" in done.problems[0].message
    with pytest.raises(Fault) as refused:
        other.approve("draft")
    assert refused.value.kind is FaultKind.CONFLICT
    assert mover.files() == {"Approved/shared.md", "Drafts/draft.md"}
    assert state_of(mover.run()) == [State.SENT]
    assert len(mover.delivered("shared")) == 1


def test_two_machines_that_began_at_once_both_stop_when_the_sync_shows_it(mover: Rig) -> None:
    mover.run()
    other = mover.on_another_machine()
    named = mover.folder / "Approved" / "Outbox machine.md"
    mine = named.read_bytes()
    named.unlink()
    other.run()
    (mover.folder / "Approved" / "Outbox machine.sync-conflict-1.md").write_bytes(mine)
    mover.draft("shared", "Approved")
    for rig in (mover, other):
        assert [fault.kind for fault in rig.run().problems] == [FaultKind.CONFLICT]
    assert mover.gmail.account.delivered == []
    assert mover.states() == {"Approved/shared.md": "drafted"}


def test_what_sending_would_refuse_is_refused_before_it_is_approved(mover: Rig) -> None:
    mover.options["allow_recipient"] = ("*@example.org",)
    mover.draft("not allowed", "Approved")
    assert state_of(mover.run()) == [State.DRAFTED]
    text = _read(mover, "Drafts/not allowed.md")
    assert "may not write to" in text
    assert "outbox_hint" in text
    with pytest.raises(Fault) as refused:
        mover.approve("not allowed")
    assert refused.value.kind is FaultKind.PERMISSION_DENIED


def test_a_mail_being_sent_under_one_name_is_unknown_under_another(mover: Rig) -> None:
    mover.draft("busy")
    approval = mover.approve("busy")
    _copy(mover, "busy", "copy")
    mover.journal.add(Entry("busy.md", State.SENDING, approval.id))
    with mover.approvals.ledger.hold(approval.id):
        assert set(state_of(mover.run())) == {State.UNKNOWN}
    assert mover.gmail.account.delivered == []
