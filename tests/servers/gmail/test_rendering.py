"""What a person sees of a mailbox's answers."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from rich.console import Console

from faultless.contract import Fault, FaultKind
from faultless.servers.gmail.rendering import is_bad_news, render
from faultless.servers.gmail.settings import check_url

EMAIL: dict[str, Any] = {
    "id": "18c0",
    "thread_id": "18c0",
    "subject": "Invoice [12]",
    "sender": "Ann <ann@example.com>",
    "to": "bo@example.com",
    "cc": "",
    "date": "2026-11-15T10:00:00+00:00",
    "body": "Dear Bo,\nhere it is.",
    "has_attachments": True,
    "attachment_names": ["invoice.pdf"],
    "attachments": [
        {"part_id": "1", "name": "invoice.pdf", "mime_type": "application/pdf", "size_bytes": 12}
    ],
    "labels": ["INBOX"],
}
ROW = {name: EMAIL[name] for name in ("id", "thread_id", "subject", "sender", "date")} | {"snippet": "Dear"}
DRAFT = {"draft_id": "r1", "message_id": "a", "thread_id": "b", "subject": "Hi", "to": "cy@example.com"}


def show(tool: str, answer: dict[str, Any]) -> str:
    console = Console(width=120, markup=False)
    with console.capture() as printed:
        console.print(render(tool, answer))
    assert not is_bad_news(tool, answer)
    return printed.get()


def test_a_list_of_emails_is_a_table_that_says_how_to_go_on() -> None:
    shown = show("list_emails", {"emails": [ROW], "total_count": 1, "next_page_token": "09"})
    row = next(line for line in shown.splitlines() if "Invoice" in line)
    assert [word in row for word in ("18c0", "Ann <ann@example.com>", "Invoice [12]")] == [True] * 3
    assert "page_token=09" in shown


def test_a_list_of_drafts_names_whom_each_is_for() -> None:
    shown = show("list_drafts", {"drafts": [DRAFT], "next_page_token": None})
    assert "cy@example.com" in shown
    assert "page_token" not in shown


def test_no_emails_are_none() -> None:
    answer = {"emails": [], "total_count": 0, "next_page_token": None}
    assert show("list_emails", answer).strip() == "none"


def test_an_email_is_shown_as_mail_programs_do() -> None:
    shown = show("get_email", EMAIL)
    assert "From: Ann <ann@example.com>\n" in shown
    assert "Cc:" not in shown
    assert "Dear Bo,\nhere it is.\n" in shown
    assert "part 1: invoice.pdf (application/pdf, 12 bytes)" in shown


def test_a_thread_says_how_many_older_messages_there_are() -> None:
    shown = show("get_thread", {"thread_id": "18c0", "messages": [EMAIL, EMAIL], "left_out": 3})
    assert shown.startswith("3 older messages")
    assert shown.count("Dear Bo,") == 2


def test_other_answers_are_shown_field_by_field() -> None:
    assert render("send_email", {"message_id": "a"}) is None


@pytest.mark.parametrize("url", ["http://example.com", "ftp://example.com", "http://localhost.example.com"])
def test_a_token_never_travels_in_the_clear(url: str) -> None:
    with pytest.raises(Fault) as refused:
        check_url(url)
    assert refused.value.kind is FaultKind.INVALID_PARAMS


WITHOUT_EXTRA = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"google", "httpx2"}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing())
from pathlib import Path
from faultless.servers.gmail import rendering, settings
from faultless.servers.gmail.doctor import diagnose
settings.Settings(root=Path())
print([check.name for check in diagnose(Path())])
"""


def test_settings_rendering_and_doctor_do_without_the_extra() -> None:
    told = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRA], capture_output=True, text=True, check=True, timeout=60
    )
    assert told.stdout.strip() == "['OAuth client', 'Gmail login']"
