"""Addresses beyond ASCII: written to, or refused with the reason; and one bad note never stops the others."""

from __future__ import annotations

import pytest

from faultless.contract import Fault, FaultKind
from faultless.outbox import State
from tests.outbox.conftest import NOTE, Rig, state_of


def _address(text: str) -> str:
    return NOTE.replace("Ann <ann@example.com>", text)


@pytest.mark.parametrize(
    ("written", "sent_to"),
    [
        ("zoe@exämple.com", "zoe@xn--exmple-cua.com"),
        ("Zoë <zoe@exämple.com>", "zoe@xn--exmple-cua.com"),
        ("zoe@faß.de", "zoe@xn--fa-hia.de"),
    ],
)
def test_a_domain_beyond_ascii_is_written_to(rig: Rig, written: str, sent_to: str) -> None:
    rig.draft("idn", text=_address(f'"{written}"'))
    rig.approve("idn")
    assert state_of(rig.run()) == [State.SENT]
    assert sent_to in rig.delivered("idn")[0].header("To")


def test_letters_before_the_at_are_refused_at_approval_with_the_reason(rig: Rig) -> None:
    rig.draft("utf8", text=_address("zoë@example.com"))
    with pytest.raises(Fault) as refused:
        rig.approve("utf8")
    assert refused.value.kind is FaultKind.INVALID_PARAMS
    assert "SMTPUTF8" in refused.value.message


@pytest.mark.parametrize(
    "bad",
    [
        "zoë@example.com",
        "zoe@-.com",
        "not an address",
        "a@b@c",
        "zoe@\u3000.com",
        "\u202eann@example.com",
    ],
)
def test_one_bad_note_never_stops_the_others(rig: Rig, bad: str) -> None:
    rig.approve_by_move = True
    rig.draft("aaa", "Approved", _address(f'"{bad}"'))
    rig.draft("bbb", "Approved")
    assert state_of(rig.run()) == [State.DRAFTED, State.SENT]
    assert "outbox_reason" in (rig.folder / "Drafts" / "aaa.md").read_text()


def test_a_body_over_the_limit_leaves_no_text_of_it_anywhere(rig: Rig) -> None:
    rig.approve_by_move = True
    rig.draft("long", "Approved", NOTE + "CANARY " * 300_000)
    (entry,) = rig.run().changed
    assert entry.state is State.DRAFTED
    assert "CANARY" not in entry.reason
    written = [path for path in (rig.home / "state").rglob("*") if path.is_file()]
    assert not [path.name for path in written if "CANARY" in path.read_text()]
    assert "CANARY" not in (rig.folder / "Drafts" / "long.md").read_text().partition("---\nCANARY")[0]


def test_a_reply_may_leave_its_subject_out(rig: Rig) -> None:
    original = rig.gmail.account.receive(
        b"From: ann@example.com\r\nTo: me@example.org\r\nSubject: Lunch\r\nMessage-ID: <1@x>\r\n\r\nHi\r\n"
    )
    text = f"---\nto: ann@example.com\nreply_to_message_id: {original.id}\n---\nYes.\n"
    rig.draft("reply", text=text)
    rig.approve("reply")
    assert state_of(rig.run()) == [State.SENT]
    assert len(rig.delivered("Re: Lunch")) == 1


def test_comments_never_leave(rig: Rig) -> None:
    text = NOTE + "%%\nCANARY-secret\nover lines\n%%\nOpen %%CANARY-inline%%end.\n"
    rig.draft("commented", text=text)
    rig.approve("commented")
    assert state_of(rig.run()) == [State.SENT]
    (sent,) = rig.delivered("commented")
    assert b"CANARY-secret" not in sent.raw
    assert b"CANARY-inline" not in sent.raw
    assert b"Open end." in sent.raw
