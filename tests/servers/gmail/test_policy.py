"""What the server may do, whoever asks."""

from __future__ import annotations

import email
import hashlib
from pathlib import Path
from typing import Any

import anyio
import pytest

from faultless.contract import Fault, FaultKind, read
from faultless.servers.gmail.access import Access
from faultless.servers.gmail.rest import Rest
from faultless.servers.gmail.settings import Settings
from faultless.servers.gmail.toolset import offer
from faultless.testing import connect
from tests.servers.gmail.conftest import approve
from tests.servers.gmail.fake import FakeGmail

LETTER = {"to": "ann@example.com", "subject": "Hi", "body": "CANARY-body"}
CHANGES: dict[str, dict[str, str]] = {
    "move_email": {"message_id": "abc", "destination_label": "INBOX"},
    "add_label": {"message_id": "abc", "label_name": "x"},
    "create_draft": LETTER,
    "send_email": LETTER,
}


def call(
    gmail: FakeGmail, home: Path, tool: str, arguments: dict[str, Any], **options: object
) -> Fault | dict[str, Any]:
    """One call in memory; a fault, or the verdict."""

    async def run() -> dict[str, Any]:
        places: dict[str, Any] = {
            "token": home / "token.json",
            "state": home / "state",
            "api_url": gmail.url,
        }
        settings = Settings(root=home, **(places | options))
        rest = Rest(Access(settings.token_path), settings.api_url)
        try:
            async with connect(offer(rest, settings)) as client:
                result = await client.call_tool(tool, arguments)
        finally:
            await rest.aclose()
        dumped: dict[str, Any] = result.model_dump(by_alias=True, mode="json")
        return dumped

    reading = read({"result": anyio.run(run)})
    return reading.fault or reading.payload or {}


def fault(gmail: FakeGmail, home: Path, tool: str, arguments: dict[str, Any], **options: object) -> Fault:
    found = call(gmail, home, tool, arguments, **options)
    assert isinstance(found, Fault)
    return found


@pytest.mark.parametrize("tool", CHANGES)
def test_read_only_changes_nothing(gmail: FakeGmail, home: Path, tool: str) -> None:
    found = fault(gmail, home, tool, CHANGES[tool], read_only=True)
    assert (found.kind, found.details["option"]) == (FaultKind.PERMISSION_DENIED, "--read-only")
    assert gmail.calls == []


def test_drafts_only_makes_drafts_and_sends_nothing(gmail: FakeGmail, home: Path) -> None:
    approval = approve(home, **LETTER)
    options = {"drafts_only": True, "send_without_approval": True}
    for extra in ({}, {"approval_id": approval}):
        assert fault(gmail, home, "send_email", LETTER | extra, **options).kind is FaultKind.PERMISSION_DENIED
    assert "draft_id" in dict(call(gmail, home, "create_draft", LETTER, **options))  # type: ignore[arg-type]  # a verdict
    assert gmail.account.delivered == []


@pytest.mark.parametrize("field", ["to", "cc", "bcc"])
def test_only_allowed_recipients_are_written_to(gmail: FakeGmail, home: Path, field: str) -> None:
    options = {"allow_recipient": ("*@example.com", "boss@corp.example"), "send_without_approval": True}
    letter = LETTER | {field: "Ann <ann@example.com>, Eve <eve@evil.example>"}
    for tool in ("send_email", "create_draft"):
        found = fault(gmail, home, tool, letter, **options)
        assert found.kind is FaultKind.PERMISSION_DENIED
        assert found.details["refused_recipients"] == ["eve@evil.example"]
    fine = LETTER | {field: "ANN@Example.com, Boss <boss@corp.example>"}
    assert "message_id" in dict(call(gmail, home, "send_email", fine, **options))  # type: ignore[arg-type]  # a verdict


def test_no_more_mails_than_allowed_leave_in_an_hour(gmail: FakeGmail, tmp_path: Path, home: Path) -> None:
    options = {"max_sends_per_hour": 2, "send_without_approval": True, "state": tmp_path}
    before = len(gmail.account.delivered)
    for _ in range(2):
        assert "message_id" in dict(call(gmail, home, "send_email", LETTER, **options))  # type: ignore[arg-type]  # a verdict
    found = fault(gmail, home, "send_email", LETTER, **options)
    assert found.kind is FaultKind.RATE_LIMITED
    assert 3500 < (found.retry_after_seconds or 0) <= 3600
    assert len(gmail.account.delivered) == before + 2


def test_refused_sends_do_not_use_up_the_hour(gmail: FakeGmail, tmp_path: Path, home: Path) -> None:
    for _ in range(3):
        fault(gmail, home, "send_email", LETTER, max_sends_per_hour=1, state=tmp_path)
    options = {"max_sends_per_hour": 1, "state": tmp_path, "send_without_approval": True}
    assert "message_id" in dict(call(gmail, home, "send_email", LETTER, **options))  # type: ignore[arg-type]  # a verdict


MALFORMED = {
    "no recipient": {"to": "  "},
    "no address": {"to": "Ann"},
    "no domain": {"to": "ann@localhost"},
    "an empty one among others": {"to": "ann@example.com,,"},
    "a broken list": {"to": "ann@example.com bob@example.com"},
    "a newline in to": {"to": "ann@example.com\nBcc: eve@evil.example"},
    "a carriage return in subject": {"subject": "Hi\rBcc: eve@evil.example"},
    "a newline in subject": {"subject": "Hi\r\n\r\nnew body"},
    "NUL in cc": {"cc": "a\x00@example.com"},
    "a line separator": {"subject": "Hi\u2028Bcc: eve@evil.example"},
    "too many": {"to": ",".join(f"a{number}@example.com" for number in range(101))},
    "an over-long subject": {"subject": "x" * 1000},
    "an over-long body": {"body": "CANARY-body" * 200_000},
    "a path for an id": {"reply_to_message_id": "../../drafts/1"},
    "a body that is no text": {"body": ["CANARY-body"]},
    "an unknown field": {"bodyy": "CANARY-body"},
}


@pytest.mark.parametrize("change", MALFORMED.values(), ids=MALFORMED)
def test_malformed_mails_are_invalid_params_before_anything_leaves(
    gmail: FakeGmail, home: Path, change: dict[str, Any]
) -> None:
    before = list(gmail.calls)
    found = fault(gmail, home, "send_email", LETTER | change, send_without_approval=True)
    assert found.kind is FaultKind.INVALID_PARAMS
    assert found.details["field"] in {*change, "arguments"}
    assert "CANARY" not in f"{found.message}{found.details}{found.hint}"
    assert gmail.calls == before


def test_an_audit_that_cannot_be_written_stops_the_send(gmail: FakeGmail, home: Path, tmp_path: Path) -> None:
    (tmp_path / "gmail").write_text("in the way")
    before = list(gmail.calls)
    found = fault(gmail, home, "send_email", LETTER, state=tmp_path, send_without_approval=True)
    assert found.kind is FaultKind.UNAVAILABLE
    assert gmail.calls == before


@pytest.mark.parametrize("tool", ["create_draft", "check_email", "send_email"])
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"subject": " "}, "subject may be empty in a reply only"),
        ({"body": ""}, "body may be empty beside html or attachments only"),
        ({"to": "zoë@example.com"}, "SMTPUTF8"),
        ({"to": "not an address"}, "is not a mail address"),
    ],
)
def test_a_mail_that_could_not_leave_is_refused_in_the_same_words_everywhere(
    gmail: FakeGmail, home: Path, tool: str, change: dict[str, str], told: str
) -> None:
    refused = call(gmail, home, tool, LETTER | change)
    assert isinstance(refused, Fault)
    assert refused.kind is FaultKind.INVALID_PARAMS
    assert told in refused.message
    assert "CANARY" not in refused.message


def test_a_mail_that_could_leave_is_told_with_whom_it_reaches(gmail: FakeGmail, home: Path) -> None:
    before = list(gmail.calls)
    answer = call(gmail, home, "check_email", LETTER | {"cc": "zoe@ex\u00e4mple.com"})
    assert isinstance(answer, dict)
    assert answer["recipients"] == ["ann@example.com", "zoe@xn--exmple-cua.com"]
    assert gmail.calls == before


def test_checking_refuses_what_the_settings_refuse(gmail: FakeGmail, home: Path) -> None:
    for options in ({"drafts_only": True}, {"allow_recipient": ("*@example.org",)}):
        refused = call(gmail, home, "check_email", LETTER, **options)
        assert isinstance(refused, Fault)
        assert refused.kind is FaultKind.PERMISSION_DENIED


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "plan.pdf").write_bytes(b"%PDF")
    (tmp_path / "secret").write_text("secret")
    return folder


def test_a_draft_carries_files_of_the_folder_the_server_attaches_from_and_no_others(
    gmail: FakeGmail, home: Path, files: Path
) -> None:
    letter = LETTER | {"body": "", "attachments": ["plan.pdf"]}
    made = call(gmail, home, "create_draft", letter, attach_from=files, drafts_only=True)
    assert isinstance(made, dict)
    message = email.message_from_bytes(gmail.account.messages[made["message_id"]].raw)
    assert [part.get_filename() for part in message.walk()] == [None, None, "plan.pdf"]
    for path, kind in {"../secret": FaultKind.PERMISSION_DENIED, "plans.pdf": FaultKind.NOT_FOUND}.items():
        refused = fault(gmail, home, "create_draft", letter | {"attachments": [path]}, attach_from=files)
        assert refused.kind is kind


def test_check_email_says_what_would_be_attached_and_a_server_without_a_folder_attaches_nothing(
    gmail: FakeGmail, home: Path, files: Path
) -> None:
    letter = LETTER | {"attachments": ["plan.pdf"]}
    checked = call(gmail, home, "check_email", letter, attach_from=files)
    assert isinstance(checked, dict)
    sha256 = hashlib.sha256(b"%PDF").hexdigest()
    assert checked["attachments"] == [
        {"path": "plan.pdf", "mime_type": "application/pdf", "size_bytes": 4, "sha256": sha256}
    ]
    refused = fault(gmail, home, "check_email", letter)
    assert refused.kind is FaultKind.PERMISSION_DENIED
    assert "--attach-from" in (refused.hint or "")
