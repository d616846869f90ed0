"""A fake Gmail, a login for it, and the server as a real process; one of each for a whole module."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from faultless.approval import ApprovalStore, Content
from faultless.contract import Fault, read
from faultless.servers.gmail.access import Token, write_token
from faultless.testing import Era, WireClient
from tests.servers.gmail.fake import FakeGmail

StartGmail = Callable[..., WireClient]


@pytest.fixture(scope="module")
def gmail() -> Iterator[FakeGmail]:
    with FakeGmail() as fake:
        yield fake
    assert fake.violations == []


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, gmail: FakeGmail) -> Path:
    """Everything the server keeps on disk, with a login that is good."""
    folder = tmp_path_factory.mktemp("home")
    write_login(folder, gmail)
    return folder


def write_login(folder: Path, gmail: FakeGmail, *, lifetime: timedelta = timedelta(hours=1)) -> None:
    write_token(
        folder / "token.json",
        Token(
            access=gmail.oauth.issue(),
            refresh="CANARY-refresh-token",
            client_id=gmail.oauth.client_id,
            client_secret=gmail.oauth.client_secret,
            token_uri=f"{gmail.url}/token",
            expires_at=datetime.now(UTC) + lifetime,
        ),
    )


def gmail_command(home: Path, gmail: FakeGmail, *words: str) -> list[str]:
    server = Path(__file__).with_name("serve_gmail.py")
    places = [f"--root={home}", f"--token={home / 'token.json'}", f"--state={home / 'state'}"]
    return [sys.executable, str(server), *places, f"--api-url={gmail.url}", *words]


@pytest.fixture(scope="module")
def start_gmail(home: Path, gmail: FakeGmail) -> Iterator[StartGmail]:
    with ExitStack() as stack:

        def start(*words: str, era: Era = "handshake") -> WireClient:
            environment = {**os.environ, "FAULTLESS_LOG_LEVEL": "TRACE"}
            client = stack.enter_context(WireClient(gmail_command(home, gmail, *words), env=environment))
            return client.open(era)

        yield start


@pytest.fixture(scope="module")
def server(start_gmail: StartGmail) -> WireClient:
    """The server as it is by default, but less patient."""
    return start_gmail("--timeout=3")


@pytest.fixture(autouse=True)
def _whole_plan_is_used(request: pytest.FixtureRequest) -> Iterator[None]:
    """A trouble that never came would prove nothing."""
    yield
    if "gmail" in request.fixturenames:
        gmail: FakeGmail = request.getfixturevalue("gmail")
        assert gmail.plan.left() == {}


def answer_of(client: WireClient, tool: str, **arguments: object) -> dict[str, Any]:
    """The whole answer as an object, verdict or fault."""
    return read(client.call(tool, arguments)).payload or {}


def verdict(client: WireClient, tool: str, **arguments: object) -> dict[str, Any]:
    result = client.call(tool, arguments)["result"]
    assert result["isError"] is False, result
    payload: dict[str, Any] = result["structuredContent"]
    return payload


def fault_of(client: WireClient, tool: str, **arguments: object) -> Fault:
    fault = read(client.call(tool, arguments)).fault
    assert fault is not None
    return fault


def make_content(letter: dict[str, str]) -> Content:
    """What these arguments of send_email say."""
    fields: dict[str, Any] = {
        "thread" if name == "reply_to_message_id" else name: text for name, text in letter.items()
    }
    return Content(**fields)


def approve(home: Path, **letter: str) -> str:
    """A person's approval of exactly these arguments."""
    return ApprovalStore(home / "state").record(make_content(letter), approved_by="a person").id
