"""A person decides while an outbox is at work, or decides about the same mail twice: it leaves once."""

from __future__ import annotations

import pytest

from faultless.contract import Fault, FaultKind
from faultless.outbox import Entry, Note, State, read_letter
from tests.outbox.conftest import NOTE, Rig, state_of
from tests.servers.gmail.fake import Trouble
from tests.servers.gmail.fake.trouble import refuse


def _make_unknown(rig: Rig, name: str) -> None:
    rig.draft(name)
    rig.approve(name)
    rig.gmail.plan.add("drafts.send", Trouble("drop_after"))
    rig.gmail.account.hides_sent = True
    assert state_of(rig.run()) == [State.UNKNOWN]


def test_a_yes_that_comes_after_the_fate_became_unknown_is_refused(rig: Rig) -> None:
    """The person was shown the mail while it had only failed."""
    rig.draft("slow yes")
    rig.approve("slow yes")
    failed = rig.journal.add(Entry("slow yes.md", State.FAILED, "x", "try later", "timeout"))
    rig.while_reading = lambda: rig.journal.add(Entry(failed.note, State.UNKNOWN, failed.approval_id))
    with pytest.raises(Fault) as refused:
        rig.approve("slow yes")
    assert refused.value.kind is FaultKind.CONFLICT
    assert rig.journal.load()["slow yes.md"].state is State.UNKNOWN


def test_the_journal_lets_only_one_of_two_decisions_follow(rig: Rig) -> None:
    known = rig.journal.add(Entry("a.md", State.APPROVED, "x"))
    rig.journal.follow(known, Entry("a.md", State.SENDING, "x"))
    with pytest.raises(Fault) as refused:
        rig.journal.follow(known, Entry("a.md", State.REJECTED))
    assert refused.value.kind is FaultKind.CONFLICT
    assert rig.journal.load()["a.md"].state is State.SENDING


def test_a_second_note_of_the_name_of_an_unknown_mail_is_not_approved(rig: Rig) -> None:
    _make_unknown(rig, "twice")
    rig.draft("twice")
    with pytest.raises(Fault) as refused:
        rig.approve("twice")
    assert refused.value.kind is FaultKind.CONFLICT
    rig.run()
    assert len(rig.delivered("twice")) == 1


def test_a_second_note_of_the_name_of_an_approved_mail_is_not_approved(rig: Rig) -> None:
    rig.draft("same")
    first = rig.approve("same")
    rig.draft("same", text=NOTE + "more\n")
    with pytest.raises(Fault) as refused:
        rig.approve("Drafts/same")
    assert "under way" in refused.value.message
    assert rig.journal.load()["same.md"].approval_id == first.id


@pytest.mark.parametrize("by_move", [True, False])
def test_a_sent_note_that_comes_back_does_not_leave_again(rig: Rig, *, by_move: bool) -> None:
    """A person undoes the move to Done/, or a sync makes a copy of it."""
    rig.draft("again")
    rig.approve("again")
    rig.run()
    filed = rig.folder / "Done" / "again.md"
    rig.approve_by_move = by_move
    for name in ("again.md", "again (copy).md"):
        (rig.folder / "Approved" / name).write_bytes(filed.read_bytes())
    assert state_of(rig.run()) == [State.DRAFTED, State.DRAFTED]
    assert len(rig.delivered("again")) == 1
    with pytest.raises(Fault) as refused:
        rig.approve("again (copy)")
    assert "left already" in refused.value.message


def test_approving_the_same_mail_again_goes_on_with_its_draft(rig: Rig) -> None:
    """A send that Gmail may still be working on cannot be overtaken by a second draft."""
    rig.draft("renewed")
    first = rig.approve("renewed")
    rig.gmail.plan.add("drafts.send", refuse(403, "insufficientPermissions"))
    assert state_of(rig.run()) == [State.FAILED]
    assert rig.approve("renewed").id == first.id
    assert state_of(rig.run()) == [State.SENT]
    assert (rig.gmail.count("drafts.create"), rig.gmail.account.drafts) == (1, {})


def test_a_changed_mail_that_failed_needs_an_approval_and_a_draft_of_its_own(rig: Rig) -> None:
    rig.draft("changed")
    first = rig.approve("changed")
    rig.gmail.plan.add("drafts.send", refuse(403, "insufficientPermissions"))
    rig.run()
    path = rig.folder / "Approved" / "changed.md"
    path.write_text(path.read_text() + "more\n")
    assert rig.approve("changed").id != first.id
    assert state_of(rig.run()) == [State.SENT]
    (sent,) = rig.delivered("changed")
    assert b"more" in sent.raw


@pytest.mark.parametrize("left", [True, False])
def test_a_person_settles_what_nobody_could_find_out(rig: Rig, *, left: bool) -> None:
    _make_unknown(rig, "who knows")
    rig.resolve_unknown("who knows", left=left)
    rig.approve_by_move = True
    rig.run()
    assert rig.states() == ({"Done/who knows.md": "sent"} if left else {"Drafts/who knows.md": "drafted"})
    assert len(rig.delivered("who knows")) == 1


def test_only_an_unknown_mail_can_be_settled(rig: Rig) -> None:
    rig.draft("clear")
    rig.approve("clear")
    with pytest.raises(Fault) as refused:
        rig.resolve_unknown("clear", left=True)
    assert refused.value.kind is FaultKind.CONFLICT
    assert state_of(rig.run()) == [State.SENT]


def test_a_mail_that_is_being_sent_cannot_be_rejected(rig: Rig) -> None:
    rig.draft("too late")
    approval = rig.approve("too late")
    rig.while_reading = lambda: rig.journal.add(Entry("too late.md", State.SENDING, approval.id))
    with pytest.raises(Fault) as refused:
        rig.reject("too late", "no")
    assert refused.value.kind is FaultKind.CONFLICT
    assert rig.files() == {"Approved/too late.md"}


def test_what_a_note_says_of_itself_does_not_change_its_content(rig: Rig) -> None:
    fields = {"to": "a@example.com", "subject": "x"}
    plain = Note("a.md", fields, "body", "")
    sent = Note("a.md", fields | {"status": "sent", "message_id": "1"}, "body", "")
    assert read_letter(plain, rig.folder).digest() == read_letter(sent, rig.folder).digest()
