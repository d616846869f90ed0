"""What a mail says is what we say it says."""

from __future__ import annotations

import email
from importlib import resources
from pathlib import Path

import anyio
import pytest

from faultless.servers.gmail import decoding, messages
from faultless.servers.gmail.decoding import read_html
from faultless.servers.gmail.outputs import Email
from tests.servers.gmail.fake import mime
from tests.servers.gmail.mail_structures import STRUCTURES, Mail


def show(raw: bytes) -> Email:
    blobs: dict[str, bytes] = {}
    payload = mime.build(mime.parse(raw), blobs)

    async def fetch(attachment_id: str) -> bytes:
        return blobs[attachment_id]

    tree = anyio.run(messages.fetch_texts, messages.read_tree(payload), fetch)
    return messages.show_email({"id": "a"}, tree, [], 100_000)


@pytest.mark.parametrize("mail", STRUCTURES.values(), ids=STRUCTURES)
def test_the_text_is_found_and_the_attachments_named(mail: Mail) -> None:
    shown = show(mail.raw)
    for text in mail.shows:
        assert text in shown.body
    for text in mail.hides:
        assert text not in shown.body
    assert shown.attachment_names == list(mail.attachments)
    assert shown.has_attachments == bool(mail.attachments)


def test_there_are_enough_structures() -> None:
    assert len(STRUCTURES) >= 30


def library_messages() -> list[Path]:
    """The standard library's own test messages, where they are installed."""
    try:
        folder = resources.files("test.test_email") / "data"
    except ModuleNotFoundError:
        return []
    return sorted(Path(str(it)) for it in folder.iterdir() if it.name.startswith("msg_"))


@pytest.mark.parametrize("path", library_messages(), ids=lambda path: path.stem)
def test_no_message_of_the_library_reads_as_empty_where_it_has_text(path: Path) -> None:
    raw = path.read_bytes()
    leaves = [
        part
        for part in email.message_from_bytes(raw).walk()
        if part.get_content_maintype() == "text" and not part.is_multipart()
    ]
    has_text = any(bytes(part.get_payload(decode=True) or b"").strip() for part in leaves)
    assert bool(show(raw).body.strip()) or not has_text


def test_a_planted_empty_reading_is_seen() -> None:
    assert show(b"From: a@example.com\r\n\r\n").body == ""


HEADERS = {
    "=?utf-8?q?Gr=C3=BC=C3=9Fe?=": "Grüße",
    "=?UTF-8?B?R3LDvMOfZQ==?= =?UTF-8?B?IGF1cyBLw7Zsbg==?=": "Grüße aus Köln",
    "=?iso-2022-jp?B?GyRCJDMkcyRLJEEkTxsoQg==?=": "こんにちは",
    "=?x-unknown?q?caf=C3=A9?=": "café",
    "=?utf-8?b?broken": "=?utf-8?b?broken",
    "=?utf-8?b?!!!?=": "=?utf-8?b?!!!?=",
    "plain": "plain",
    "folded\r\n line": "folded line",
    "raw grüße": "raw grüße",
}


@pytest.mark.parametrize(("raw", "text"), HEADERS.items(), ids=HEADERS)
def test_encoded_words_are_decoded(raw: str, text: str) -> None:
    assert decoding.decode_words(raw) == text


DATES = {
    "Mon, 02 Mar 2026 10:11:12 +0100": "2026-03-02T10:11:12+01:00",
    "2 Mar 2026 10:11:12 GMT": "2026-03-02T10:11:12+00:00",
    "Mon, 02 Mar 2026 10:11:12 -0000": "2026-03-02T10:11:12+00:00",
    "Mon, 02 Mar 2026 10:11:12 +0000 (UTC)": "2026-03-02T10:11:12+00:00",
    "yesterday": "2026-09-21T14:13:20+00:00",
    "": "2026-09-21T14:13:20+00:00",
}


@pytest.mark.parametrize(("written", "iso"), DATES.items(), ids=DATES)
def test_dates_are_iso_8601(written: str, iso: str) -> None:
    assert messages.read_date({"date": written}, {"internalDate": "1790000000000"}) == iso


def test_a_mail_without_any_date_has_none() -> None:
    assert messages.read_date({}, {}) is None


def test_control_characters_and_hidden_marks_do_not_reach_the_model() -> None:
    raw = STRUCTURES["plain"].raw.replace(b"the plain", "the\x1b[31m \u202eplain\U000e0041".encode())
    assert "the plain text" in show(raw).body


def test_html_of_any_depth_is_read_without_recursion() -> None:
    assert read_html("<div>" * 50_000 + "deep" + "</div>" * 50_000) == "deep"
