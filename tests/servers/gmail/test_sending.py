"""At most once: what happens to a mail when the answer to its sending is lost."""

from __future__ import annotations

import json
import os
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import pytest

from faultless.approval import ApprovalStore
from faultless.contract import FaultKind
from faultless.testing import WireClient
from tests.servers.gmail.conftest import StartGmail, answer_of, approve, fault_of, make_content, verdict
from tests.servers.gmail.fake import FakeGmail, Trouble
from tests.servers.gmail.fake.account import Stored
from tests.servers.gmail.fake.trouble import refuse

LETTER = {"to": "ann@example.com", "subject": "Hi", "body": "CANARY-body"}


def delivered(gmail: FakeGmail, subject: str) -> list[Stored]:
    return [it for it in gmail.account.delivered if it.header("Subject") == subject]


def test_an_approved_mail_is_sent(gmail: FakeGmail, server: WireClient, home: Path) -> None:
    letter = LETTER | {"subject": "approved", "cc": "c@example.com"}
    answer = verdict(server, "send_email", **letter, approval_id=approve(home, **letter))
    (sent,) = delivered(gmail, "approved")
    assert (answer["message_id"], answer["thread_id"]) == (sent.id, sent.thread_id)
    assert datetime.fromisoformat(answer["sent_at"]) <= datetime.now(UTC)
    assert sent.header("Cc") == "c@example.com"


def test_one_approval_sends_once_and_answers_the_same_again(
    gmail: FakeGmail, server: WireClient, home: Path
) -> None:
    letter = LETTER | {"subject": "once"}
    approval = approve(home, **letter)
    first = verdict(server, "send_email", **letter, approval_id=approval)
    second = verdict(server, "send_email", **letter, approval_id=approval)
    assert first == second
    assert len(delivered(gmail, "once")) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"to": "eve@example.com"},
        {"cc": "eve@example.com"},
        {"bcc": "eve@example.com"},
        {"subject": "Hi!"},
        {"body": "something else"},
        {"html": "<p>something else</p>"},
        {"reply_to_message_id": "abc"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_an_approval_holds_for_exactly_what_was_approved(
    gmail: FakeGmail, server: WireClient, home: Path, change: dict[str, str]
) -> None:
    before = len(gmail.account.delivered)
    fault = fault_of(server, "send_email", **(LETTER | change), approval_id=approve(home, **LETTER))
    assert (fault.kind, fault.details["reason"]) == (FaultKind.APPROVAL_REQUIRED, "content")
    assert len(gmail.account.delivered) == before


def test_without_an_approval_nothing_is_asked_of_gmail(gmail: FakeGmail, server: WireClient) -> None:
    before = list(gmail.calls)
    for arguments in (LETTER, LETTER | {"approval_id": "0" * 32}):
        assert fault_of(server, "send_email", **arguments).kind is FaultKind.APPROVAL_REQUIRED
    assert gmail.calls == before


def test_an_approval_that_has_expired_is_none(gmail: FakeGmail, server: WireClient, home: Path) -> None:
    approval = ApprovalStore(home / "state").record(
        make_content(LETTER), approved_by="x", now=datetime.now(UTC) - timedelta(days=30)
    )
    fault = fault_of(server, "send_email", **LETTER, approval_id=approval.id)
    assert fault.details["reason"] == "expired"


LOST = [
    Trouble("drop_after"),
    Trouble("truncate"),
    Trouble("garbage"),
    Trouble("silent"),
    Trouble("nameless"),
    Trouble("oversized"),
    Trouble("foreign"),
]


@pytest.mark.parametrize("trouble", LOST, ids=lambda it: it.how)
def test_a_mail_that_left_is_sent_even_if_the_answer_was_lost(
    gmail: FakeGmail, server: WireClient, home: Path, trouble: Trouble
) -> None:
    letter = LETTER | {"subject": f"left {trouble.how}"}
    gmail.plan.add("drafts.send", trouble)
    answer = verdict(server, "send_email", **letter, approval_id=approve(home, **letter))
    (sent,) = delivered(gmail, letter["subject"])
    assert answer["message_id"] == sent.id


@pytest.mark.parametrize(
    "trouble", [Trouble("drop_before"), refuse(500), refuse(503)], ids=["drop", "500", "503"]
)
def test_a_mail_that_did_not_leave_is_not_sent_and_its_draft_goes_next_time(
    gmail: FakeGmail, server: WireClient, home: Path, trouble: Trouble
) -> None:
    letter = LETTER | {"subject": f"stayed {trouble.how} {trouble.status}"}
    approval = approve(home, **letter)
    gmail.plan.add("drafts.send", trouble)
    result = answer_of(server, "send_email", **letter, approval_id=approval)
    assert result["error"] == "send_failed"
    assert result["details"]["draft_id"] in gmail.account.drafts
    assert delivered(gmail, letter["subject"]) == []
    assert verdict(server, "get_send_status", send_id=approval)["state"] == "not_sent"
    drafts = gmail.count("drafts.create")
    verdict(server, "send_email", **letter, approval_id=approval)
    assert len(delivered(gmail, letter["subject"])) == 1
    assert gmail.count("drafts.create") == drafts


def test_what_cannot_be_found_out_is_outcome_unknown_and_not_sent_again(
    gmail: FakeGmail, server: WireClient, home: Path
) -> None:
    letter = LETTER | {"subject": "unknown"}
    approval = approve(home, **letter)
    gmail.plan.add("drafts.send", Trouble("drop_after"))
    gmail.account.hides_sent = True
    try:
        fault = fault_of(server, "send_email", **letter, approval_id=approval)
        assert fault.kind is FaultKind.OUTCOME_UNKNOWN
        assert approval in (fault.hint or "")
        again = fault_of(server, "send_email", **letter, approval_id=approval)
        assert again.kind is FaultKind.OUTCOME_UNKNOWN
        assert verdict(server, "get_send_status", send_id=approval)["state"] == "unknown"
    finally:
        gmail.account.hides_sent = False
    status = verdict(server, "get_send_status", send_id=approval)
    assert status["state"] == "sent"
    assert verdict(server, "send_email", **letter, approval_id=approval)["message_id"] == status["message_id"]
    assert len(delivered(gmail, "unknown")) == 1


@pytest.mark.parametrize("how", ["silent", "nameless", "oversized"])
def test_a_success_that_names_no_message_is_unknown_where_nothing_can_be_found(
    gmail: FakeGmail, server: WireClient, home: Path, how: Literal["silent", "nameless", "oversized"]
) -> None:
    letter = LETTER | {"subject": f"no name {how}"}
    gmail.plan.add("drafts.send", Trouble(how))
    gmail.account.hides_sent = True
    try:
        fault = fault_of(server, "send_email", **letter, approval_id=approve(home, **letter))
    finally:
        gmail.account.hides_sent = False
    assert fault.kind is FaultKind.OUTCOME_UNKNOWN


def _fail_once(gmail: FakeGmail, server: WireClient, letter: dict[str, str], approval: str) -> str:
    """The id of the draft that a failed send leaves in the account."""
    gmail.plan.add("drafts.send", refuse(503))
    return str(fault_of(server, "send_email", **letter, approval_id=approval).details["draft_id"])


def test_a_draft_that_was_changed_in_the_account_after_a_failure_is_not_sent(
    gmail: FakeGmail, server: WireClient, home: Path
) -> None:
    letter = LETTER | {"subject": "edited there"}
    approval = approve(home, **letter)
    draft = _fail_once(gmail, server, letter, approval)
    gmail.account.edit_draft(draft, b"ann@example.com", b"eve@example.com")
    sends = gmail.count("drafts.send")
    for _ in range(2):
        fault = fault_of(server, "send_email", **letter, approval_id=approval)
        assert (fault.kind, fault.details["reason"]) == (FaultKind.APPROVAL_REQUIRED, "draft_changed")
    assert gmail.count("drafts.send") == sends
    assert verdict(server, "get_send_status", send_id=approval)["state"] == "void"
    assert draft in gmail.account.drafts


def test_a_draft_that_is_changed_before_its_first_send_is_not_sent(
    gmail: FakeGmail, server: WireClient, home: Path
) -> None:
    letter = LETTER | {"subject": "edited at once"}

    def edit_before_comparing(method: str) -> None:
        if method == "drafts.get":
            gmail.account.edit_draft(list(gmail.account.drafts)[-1], b"CANARY-body", b"other body")

    gmail.plan.decide = edit_before_comparing
    try:
        fault = fault_of(server, "send_email", **letter, approval_id=approve(home, **letter))
    finally:
        gmail.plan.decide = lambda _: None
    assert fault.details["reason"] == "draft_changed"
    assert delivered(gmail, "edited at once") == []


def test_what_slips_in_after_the_comparison_is_not_what_leaves(
    gmail: FakeGmail, server: WireClient, home: Path
) -> None:
    letter = LETTER | {"subject": "edited too late"}

    def edit_before_sending(method: str) -> None:
        if method == "drafts.send":
            gmail.account.edit_draft(list(gmail.account.drafts)[-1], b"ann@example.com", b"eve@example.com")

    gmail.plan.decide = edit_before_sending
    try:
        verdict(server, "send_email", **letter, approval_id=approve(home, **letter))
    finally:
        gmail.plan.decide = lambda _: None
    (sent,) = delivered(gmail, "edited too late")
    assert sent.header("To") == "ann@example.com"


def test_a_draft_that_is_gone_before_it_was_sent_is_looked_up(
    gmail: FakeGmail, server: WireClient, home: Path
) -> None:
    letter = LETTER | {"subject": "sent by hand"}
    approval = approve(home, **letter)
    draft = _fail_once(gmail, server, letter, approval)
    gmail.account.send_draft({"id": draft})
    verdict(server, "send_email", **letter, approval_id=approval)
    assert len(delivered(gmail, "sent by hand")) == 1


def test_a_send_whose_record_is_missing_is_unknown_and_never_begun_again(
    gmail: FakeGmail, server: WireClient, home: Path
) -> None:
    letter = LETTER | {"subject": "no record"}
    approval = approve(home, **letter)
    assert verdict(server, "get_send_status", send_id=approval)["state"] == "not_sent"
    (home / "state" / "gmail" / "sends" / f"{approval}.json").unlink()
    assert verdict(server, "get_send_status", send_id=approval)["state"] == "unknown"
    fault = fault_of(server, "send_email", **letter, approval_id=approval)
    assert fault.kind is FaultKind.OUTCOME_UNKNOWN
    assert delivered(gmail, "no record") == []


def test_a_draft_that_was_not_confirmed_sends_nothing(
    gmail: FakeGmail, server: WireClient, home: Path
) -> None:
    letter = LETTER | {"subject": "unconfirmed"}
    approval = approve(home, **letter)
    sends = gmail.count("drafts.send")
    gmail.plan.add("drafts.create", Trouble("drop_after"))
    fault = fault_of(server, "send_email", **letter, approval_id=approval)
    assert fault.kind is FaultKind.UPSTREAM_ERROR
    assert gmail.count("drafts.send") == sends
    assert verdict(server, "get_send_status", send_id=approval)["state"] == "not_sent"


def test_a_server_killed_while_sending_leaves_a_fate_that_can_be_found(
    gmail: FakeGmail, server: WireClient, start_gmail: StartGmail, home: Path
) -> None:
    letter = LETTER | {"subject": "killed"}
    approval = approve(home, **letter)
    gmail.plan.add("drafts.send", Trouble("stall_after"))
    doomed = start_gmail()
    doomed.start("tools/call", {"name": "send_email", "arguments": letter | {"approval_id": approval}})
    other = server
    status = verdict(other, "get_send_status", send_id=approval)
    while not delivered(gmail, "killed"):
        status = verdict(other, "get_send_status", send_id=approval)
    assert status["state"] in {"in_progress", "not_sent"}
    assert fault_of(other, "send_email", **letter, approval_id=approval).kind is FaultKind.CONFLICT
    os.kill(doomed.process.pid, signal.SIGKILL)
    doomed.wait()
    assert verdict(other, "get_send_status", send_id=approval)["state"] == "sent"
    verdict(other, "send_email", **letter, approval_id=approval)
    assert len(delivered(gmail, "killed")) == 1


def test_a_status_nobody_asked_for_is_not_found(server: WireClient) -> None:
    assert fault_of(server, "get_send_status", send_id="f" * 32).kind is FaultKind.NOT_FOUND


def test_the_audit_has_a_line_before_and_a_line_after_with_one_id(
    gmail: FakeGmail, server: WireClient, home: Path
) -> None:
    letter = LETTER | {"subject": "audited"}
    approval = approve(home, **letter)
    verdict(server, "send_email", **letter, approval_id=approval)
    (journal,) = (home / "state" / "gmail").glob("audit-*.jsonl")
    text = journal.read_text()
    mine = [line for line in map(json.loads, text.splitlines()) if line["send_id"] == approval]
    assert [line["event"] for line in mine] == ["send_attempt", "send_outcome"]
    assert len({line["attempt_id"] for line in mine}) == 1
    assert mine[0]["recipients"] == ["ann@example.com"]
    assert mine[0]["content"] == make_content(letter).digest()
    assert mine[1]["outcome"] == "sent"
    assert "CANARY" not in text
