"""The tools on a good day, through a real process and a fake Gmail."""

from __future__ import annotations

import hashlib
from email.message import EmailMessage
from pathlib import Path

import pytest

from faultless.testing import WireClient
from tests.servers.gmail.conftest import fault_of, verdict
from tests.servers.gmail.fake import FakeGmail, mime


def letter(subject: str = "Lunch", body: str = "At noon?", **headers: str) -> EmailMessage:
    message = EmailMessage()
    message["From"] = "Ann <ann@example.com>"
    message["To"] = "me@example.org"
    message["Subject"] = subject
    message["Date"] = "Mon, 02 Mar 2026 10:11:12 +0100"
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    message.set_content(body)
    return message


def test_health_check_names_the_account(server: WireClient) -> None:
    answer = verdict(server, "health_check")
    assert (answer["status"], answer["authenticated_as"]) == ("ok", "me@example.org")
    assert answer["token_expires_at"].endswith("+00:00")


def test_emails_are_listed_newest_first_and_by_pages(gmail: FakeGmail, server: WireClient) -> None:
    for number in range(5):
        gmail.account.receive(letter(f"paged {number}", "it's <here>").as_bytes())
    first = verdict(server, "list_emails", query="paged", max_results=3)
    assert [row["subject"] for row in first["emails"]] == ["paged 4", "paged 3", "paged 2"]
    assert first["total_count"] == 3
    row = first["emails"][0]
    assert (row["sender"], row["date"]) == ("Ann <ann@example.com>", "2026-03-02T10:11:12+01:00")
    assert "it's <here>" in row["snippet"]
    second = verdict(server, "list_emails", query="paged", max_results=3, page_token=first["next_page_token"])
    assert [row["subject"] for row in second["emails"]] == ["paged 1", "paged 0"]
    assert second["next_page_token"] is None


def test_no_hits_are_a_verdict(server: WireClient) -> None:
    assert verdict(server, "list_emails", query="nobody-wrote-this") == {
        "emails": [],
        "total_count": 0,
        "next_page_token": None,
    }


def test_an_email_is_read_with_its_attachments_and_labels(gmail: FakeGmail, server: WireClient) -> None:
    message = letter("=?utf-8?q?Gr=C3=BC=C3=9Fe?=", "Hello", Cc="Bo <bo@example.com>")
    message.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="../../etc/passwd")
    stored = gmail.account.receive(message.as_bytes(), "INBOX", "STARRED")
    answer = verdict(server, "get_email", message_id=stored.id)
    assert answer["subject"] == "Grüße"
    assert answer["body"] == "Hello"
    assert (answer["to"], answer["cc"]) == ("me@example.org", "Bo <bo@example.com>")
    assert answer["has_attachments"] is True
    assert answer["attachment_names"] == ["../../etc/passwd"]
    assert answer["labels"] == ["INBOX", "STARRED"]


def test_a_big_mail_is_cut_and_says_so(gmail: FakeGmail, server: WireClient) -> None:
    stored = gmail.account.receive(letter("big", "word " * 100_000).as_bytes())
    answer = verdict(server, "get_email", message_id=stored.id, max_body_chars=1000)
    assert len(answer["body"]) == 1000
    assert answer["body"].endswith("characters left out]")


def test_a_body_that_gmail_keeps_apart_is_fetched(gmail: FakeGmail, server: WireClient) -> None:
    text = "far away " * (mime.INLINE_BYTES // 8)
    stored = gmail.account.receive(letter("kept apart", text).as_bytes())
    assert verdict(server, "get_email", message_id=stored.id)["body"].startswith("far away far away")
    assert "messages.attachments.get" in gmail.calls


def test_an_attachment_is_saved_under_our_name_inside_the_folder(
    gmail: FakeGmail, server: WireClient, home: Path
) -> None:
    message = letter()
    message.add_attachment(b"\x00\x01", maintype="application", subtype="x-sh", filename="../run.sh")
    stored = gmail.account.receive(message.as_bytes())
    (listed,) = verdict(server, "get_email", message_id=stored.id)["attachments"]
    verdict(server, "get_attachment", message_id=stored.id, part_id=listed["part_id"])
    answer = verdict(server, "get_attachment", message_id=stored.id, part_id=listed["part_id"])
    saved = home / "attachments" / answer["path"]
    assert answer["path"] == f"{stored.id}-{listed['part_id']}.bin"
    assert answer["name"] == "../run.sh"
    assert saved.read_bytes() == b"\x00\x01"
    assert answer["sha256"] == hashlib.sha256(b"\x00\x01").hexdigest()
    assert [it.name for it in (home / "attachments").iterdir()] == [answer["path"]]


def test_a_saved_attachment_is_never_overwritten(gmail: FakeGmail, server: WireClient, home: Path) -> None:
    message = letter()
    message.add_attachment(b"new", maintype="text", subtype="csv", filename="a.csv")
    stored = gmail.account.receive(message.as_bytes())
    (home / "attachments").mkdir(exist_ok=True)
    (home / "attachments" / f"{stored.id}-1.csv").write_bytes(b"mine")
    assert fault_of(server, "get_attachment", message_id=stored.id, part_id="1").kind == "conflict"
    assert (home / "attachments" / f"{stored.id}-1.csv").read_bytes() == b"mine"


def test_a_wrong_part_id_is_answered_with_the_right_ones(gmail: FakeGmail, server: WireClient) -> None:
    message = letter()
    message.add_attachment(b"new", maintype="text", subtype="csv", filename="a.csv")
    stored = gmail.account.receive(message.as_bytes())
    fault = fault_of(server, "get_attachment", message_id=stored.id, part_id="7")
    assert (fault.kind, fault.hint) == ("not_found", "it has: 1 (a.csv)")


def test_a_thread_shows_its_newest_messages(gmail: FakeGmail, server: WireClient) -> None:
    first = gmail.account.receive(letter("chat", "one").as_bytes())
    for word in ("two", "three"):
        gmail.account.receive(letter("Re: chat", word).as_bytes(), thread_id=first.id)
    answer = verdict(server, "get_thread", thread_id=first.id, max_messages=2)
    assert [message["body"] for message in answer["messages"]] == ["two", "three"]
    assert answer["left_out"] == 1


def test_moving_takes_an_email_out_of_the_inbox(gmail: FakeGmail, server: WireClient) -> None:
    gmail.account.labels["Label_7"] = "Invoices/2026"
    stored = gmail.account.receive(letter().as_bytes())
    answer = verdict(server, "move_email", message_id=stored.id, destination_label="invoices/2026")
    assert answer == {"moved": True, "message_id": stored.id, "label": "invoices/2026"}
    assert stored.labels == ["UNREAD", "Label_7"]
    verdict(server, "move_email", message_id=stored.id, destination_label="INBOX")
    assert "INBOX" in stored.labels
    verdict(server, "move_email", message_id=stored.id, destination_label="ARCHIVE")
    assert "INBOX" not in stored.labels
    verdict(server, "move_email", message_id=stored.id, destination_label="trash")
    assert stored.labels == ["TRASH"]


def test_moving_to_a_label_that_is_not_there_suggests_one_that_is(
    gmail: FakeGmail, server: WireClient
) -> None:
    gmail.account.labels["Label_8"] = "Receipts"
    stored = gmail.account.receive(letter().as_bytes())
    fault = fault_of(server, "move_email", message_id=stored.id, destination_label="Reciepts")
    assert (fault.kind, fault.hint) == ("not_found", "did you mean 'Receipts'?")


def test_a_missing_label_is_made_once(gmail: FakeGmail, server: WireClient) -> None:
    stored = gmail.account.receive(letter().as_bytes())
    first = verdict(server, "add_label", message_id=stored.id, label_name="To do")
    second = verdict(server, "add_label", message_id=stored.id, label_name="To do")
    assert (first["created"], second["created"]) == (True, False)
    assert list(gmail.account.labels.values()).count("To do") == 1
    assert "To do" in verdict(server, "get_email", message_id=stored.id)["labels"]


def test_a_draft_carries_all_it_was_given_and_nothing_is_sent(gmail: FakeGmail, server: WireClient) -> None:
    answer = verdict(
        server,
        "create_draft",
        to="Jörg Müller <joerg@münchen.example>, bo@example.com",
        cc="c@example.com",
        bcc="d@example.com",
        subject="Grüße",
        body="Plain",
        html="<p>Rich</p>",
    )
    message = mime.parse(gmail.account.messages[answer["message_id"]].raw)
    assert "xn--mnchen-3ya.example" in str(message["To"])
    assert (message["Cc"], message["Bcc"]) == ("c@example.com", "d@example.com")
    assert [part.get_content_type() for part in message.walk()][1:] == ["text/plain", "text/html"]
    listed = verdict(server, "list_drafts")["drafts"]
    assert [row["draft_id"] for row in listed] == [answer["draft_id"]]
    assert listed[0]["subject"] == "Grüße"
    assert gmail.account.delivered == []


def test_a_reply_threads_for_its_recipient(gmail: FakeGmail, server: WireClient) -> None:
    original = gmail.account.receive(
        letter(
            "Lunch", "?", Message_ID="<orig@example.com>", References="<a@example.com> <b@example.com>"
        ).as_bytes()
    )
    answer = verdict(
        server,
        "create_draft",
        to="ann@example.com",
        subject="Lunch",
        body="Yes",
        reply_to_message_id=original.id,
    )
    reply = gmail.account.messages[answer["message_id"]]
    assert reply.thread_id == original.thread_id
    assert reply.header("In-Reply-To") == "<orig@example.com>"
    assert reply.header("References").split() == ["<a@example.com>", "<b@example.com>", "<orig@example.com>"]
    assert reply.header("Subject") == "Re: Lunch"


@pytest.mark.parametrize("subject", ["Re: Lunch", "RE: Lunch", "re:Lunch", "Re[2]: Lunch"])
def test_re_stands_once(gmail: FakeGmail, server: WireClient, subject: str) -> None:
    original = gmail.account.receive(letter("Lunch", Message_ID="<o@example.com>").as_bytes())
    answer = verdict(
        server,
        "create_draft",
        to="ann@example.com",
        subject=subject,
        body="Yes",
        reply_to_message_id=original.id,
    )
    assert gmail.account.messages[answer["message_id"]].header("Subject") == subject
