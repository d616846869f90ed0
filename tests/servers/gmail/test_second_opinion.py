"""The same tools against an emulator that others wrote; needs npm, and a network the first time."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from faultless.servers.gmail.access import Token, write_token
from faultless.testing import WireClient
from tests.servers.gmail.conftest import approve, verdict
from tests.servers.gmail.fake.mime import encode

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed"),
]
PACKAGE = "@inbox-zero/emulate@0.4.5"
ACCOUNT = "testuser@example.com"
RAW = b"From: ann@example.com\r\nTo: me@example.org\r\nSubject: Lunch\r\nMessage-ID: <lunch@example.com>\r\n\r\nAt noon?"
LETTER = {"to": "ann@example.com", "subject": "Re: Lunch", "body": "Yes."}


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("emulator")
    subprocess.run(
        ["npm", "install", "--no-fund", "--no-audit", "--prefix", folder, PACKAGE], check=True, timeout=300
    )
    seed = {
        "tokens": {"t-1": {"login": ACCOUNT, "scopes": []}},
        "google": {"users": [{"email": ACCOUNT, "name": "T"}]},
    }
    (folder / "seed.json").write_text(json.dumps(seed))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = folder / "node_modules" / "@inbox-zero" / "emulate" / "dist" / "index.js"
    command = ["node", str(program), "--service", "google", "--port", str(port), "--seed", "seed.json"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert any("http://" in line for line in process.stdout)
        yield f"http://localhost:{port}"
        process.kill()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    write_token(folder / "token.json", Token(access="t-1", refresh="", client_id="c", client_secret=""))
    return folder


@pytest.fixture(scope="module")
def server(emulator: str, home: Path) -> Iterator[WireClient]:
    program = Path(__file__).with_name("serve_gmail.py")
    places = [f"--root={home}", f"--token={home / 'token.json'}", f"--state={home / 'state'}"]
    with WireClient([sys.executable, str(program), *places, f"--api-url={emulator}"]) as client:
        yield client.open("modern")


@pytest.fixture(scope="module")
def message_id(emulator: str) -> str:
    with httpx2.Client(trust_env=False) as http:
        answer = http.post(
            f"{emulator}/gmail/v1/users/me/messages",
            json={"raw": encode(RAW), "labelIds": ["INBOX", "UNREAD"]},
            headers={"Authorization": "Bearer t-1"},
        )
    return str(answer.raise_for_status().json()["id"])


def test_mail_is_listed_read_labelled_and_moved(server: WireClient, message_id: str) -> None:
    (row,) = verdict(server, "list_emails")["emails"]
    assert (row["id"], row["subject"]) == (message_id, "Lunch")
    read = verdict(server, "get_email", message_id=message_id)
    assert read["body"] == "At noon?"
    assert verdict(server, "add_label", message_id=message_id, label_name="Food")["created"] is True
    verdict(server, "move_email", message_id=message_id, destination_label="Food")
    labels = verdict(server, "get_email", message_id=message_id)["labels"]
    assert "Food" in labels
    assert "INBOX" not in labels


def test_an_approved_reply_leaves_once_and_threads(server: WireClient, home: Path, message_id: str) -> None:
    letter = LETTER | {"reply_to_message_id": message_id}
    approval = approve(home, **letter)
    sent = verdict(server, "send_email", **letter, approval_id=approval)
    assert verdict(server, "send_email", **letter, approval_id=approval) == sent
    assert verdict(server, "get_send_status", send_id=approval)["state"] == "sent"
    thread = verdict(server, "get_thread", thread_id=sent["thread_id"])
    assert [message["body"] for message in thread["messages"]] == ["At noon?", "Yes."]
    assert verdict(server, "list_drafts")["drafts"] == []


def test_a_lost_answer_is_found_by_its_mark(server: WireClient, home: Path) -> None:
    """The record is set back to where a crash would have left it; the look-up must find the message."""
    letter = LETTER | {"subject": "Crash"}
    approval = approve(home, **letter)
    sent = verdict(server, "send_email", **letter, approval_id=approval)
    record = home / "state" / "gmail" / "sends" / f"{approval}.json"
    fields = json.loads(record.read_text())
    record.write_text(json.dumps(fields | {"state": "sending", "message_id": "", "sent_at": ""}))
    status = verdict(server, "get_send_status", send_id=approval)
    assert (status["state"], status["message_id"]) == ("sent", sent["message_id"])
