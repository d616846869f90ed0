"""Nothing that must stay secret is in anything we write, whatever goes wrong."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from faultless.testing import WireClient
from tests.servers.gmail.conftest import StartGmail, approve, write_login
from tests.servers.gmail.fake import FakeGmail, Trouble
from tests.servers.gmail.fake.trouble import refuse

LETTER = {"to": "ann@example.com", "subject": "Hi", "body": "CANARY-body", "html": "<p>CANARY-body</p>"}
TROUBLES = [
    Trouble("drop_before"),
    Trouble("drop_after"),
    Trouble("garbage"),
    Trouble("truncate"),
    refuse(400, "invalidArgument"),
    refuse(401),
    refuse(403, "insufficientPermissions"),
    refuse(404),
    refuse(429, "rateLimitExceeded", Retry_After="0"),
    refuse(500),
]


@pytest.fixture(scope="module")
def server(start_gmail: StartGmail) -> WireClient:
    """In the newer era; the other modules are in the older."""
    return start_gmail("--timeout=1", era="modern")


def send(client: WireClient, home: Path, **change: object) -> dict[str, Any]:
    letter = LETTER | {"subject": f"Hi {change}"}
    return client.call("send_email", letter | {"approval_id": approve(home, **letter)} | change)


def test_no_canary_in_any_log_fault_or_journal(gmail: FakeGmail, server: WireClient, home: Path) -> None:
    answers = [
        send(server, home),
        send(server, home, body="CANARY-body and more"),
        send(server, home, body=7),
    ]
    for method in ("drafts.create", "drafts.send"):
        for trouble in TROUBLES:
            gmail.plan.add(method, trouble)
            answers.append(send(server, home))
    write_login(home, gmail, lifetime=timedelta(seconds=-1))
    gmail.oauth.access_tokens.clear()
    answers.append(server.call("health_check"))
    gmail.oauth.refresh_tokens.clear()
    gmail.oauth.access_tokens.clear()
    answers.append(server.call("health_check"))
    (home / "token.json").write_text("CANARY-half-a-token")
    answers.append(server.call("health_check"))
    written = [path for path in (home / "state").rglob("*") if path.is_file()]
    assert len(written) > len(TROUBLES)
    assert "CANARY" not in json.dumps(answers)
    assert "CANARY" not in server.stderr()
    assert not [path.name for path in written if "CANARY" in path.read_text()]


def test_the_search_for_canaries_finds_a_planted_one(
    gmail: FakeGmail, home: Path, server: WireClient
) -> None:
    """A mail that is read shows its body: that is what the search would see."""
    gmail.oauth.refresh_tokens.add("CANARY-refresh-token")
    gmail.oauth.access_tokens.clear()
    write_login(home, gmail)
    stored = gmail.account.receive(b"From: a@example.com\r\nSubject: x\r\n\r\nCANARY-body")
    assert "CANARY" in json.dumps(server.call("get_email", {"message_id": stored.id}))
