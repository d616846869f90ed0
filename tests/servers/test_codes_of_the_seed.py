"""The eight error codes of the source document, each from both servers, as real processes send them.

A vault has no login, no rate and nothing to send, and no server has a known bug: there the fault is planted in
a tool, and the server does the rest. Everything else happens by itself.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faultless.contract import FaultKind, read
from faultless.testing import WireClient
from tests.servers.gmail.conftest import approve, gmail_command, write_login
from tests.servers.gmail.fake import FakeGmail
from tests.servers.gmail.fake.trouble import refuse

LETTER = {"to": "ann@example.com", "subject": "Hi", "body": "text"}
KINDS = {
    "auth_required": FaultKind.AUTH_REQUIRED,
    "not_found": FaultKind.NOT_FOUND,
    "rate_limited": FaultKind.RATE_LIMITED,
    "send_failed": FaultKind.UPSTREAM_ERROR,
    "permission_denied": FaultKind.PERMISSION_DENIED,
    "parse_error": FaultKind.PARSE_ERROR,
    "mcp_unavailable": FaultKind.UNAVAILABLE,
    "internal_error": FaultKind.INTERNAL,
}
Place = tuple[Path, FakeGmail]
Asked = tuple[list[str], str, dict[str, Any]]
"""A command, a tool, its arguments."""


def _gmail(
    words: tuple[str, ...] = (), tool: str = "health_check", **arguments: str
) -> Callable[[Place], Asked]:
    return lambda place: (gmail_command(*place, "--timeout=3", *words), tool, arguments)


def _refused(method: str, status: int, reason: str, tool: str, **arguments: str) -> Callable[[Place], Asked]:
    def ask(place: Place) -> Asked:
        home, gmail = place
        gmail.plan.add(method, refuse(status, reason, Retry_After="60"))
        more = {"approval_id": approve(home, **LETTER)} if tool == "send_email" else {}
        return gmail_command(home, gmail, "--timeout=3"), tool, arguments | more

    return ask


def _without_login(text: str | None) -> Callable[[Place], Asked]:
    def ask(place: Place) -> Asked:
        path = place[0] / "token.json"
        path.unlink()
        if text is not None:
            path.write_text(text)
        return gmail_command(*place), "health_check", {}

    return ask


def _unreachable(place: Place) -> Asked:
    with FakeGmail() as gone:
        pass
    return gmail_command(place[0], gone, "--timeout=1"), "health_check", {}


def _obsidian(tool: str, before: str = "", **arguments: str) -> Callable[[Place], Asked]:
    def ask(place: Place) -> Asked:
        vault = place[0] / "vault"
        vault.mkdir()
        (vault / "corrupt.md").write_text("---\na: [\n---\nx\n")
        command = [sys.executable, "-m", "faultless", "serve", "obsidian", "--root", str(vault)]
        return (["sh", "-c", f"{before}; exec {shlex.join(command)}"] if before else command), tool, arguments

    return ask


def _planted(server: str, what: str) -> Callable[[Place], Asked]:
    program = str(Path(__file__).with_name("serve_planted.py"))
    return lambda place: ([sys.executable, program, server, str(place[0]), what], "health_check", {})


CASES: dict[tuple[str, str], Callable[[Place], Asked]] = {
    ("gmail", "auth_required"): _without_login(None),
    ("gmail", "not_found"): _gmail(tool="get_email", message_id="abc"),
    ("gmail", "rate_limited"): _refused(
        "messages.get", 429, "rateLimitExceeded", "get_email", message_id="a"
    ),
    ("gmail", "send_failed"): _refused("drafts.create", 400, "failedPrecondition", "send_email", **LETTER),
    ("gmail", "permission_denied"): _gmail(("--read-only",), "create_draft", **LETTER),
    ("gmail", "parse_error"): _without_login("{"),
    ("gmail", "mcp_unavailable"): _unreachable,
    ("gmail", "internal_error"): _planted("gmail", "bug"),
    ("obsidian", "auth_required"): _planted("obsidian", "auth_required"),
    ("obsidian", "not_found"): _obsidian("read_note", path="none.md"),
    ("obsidian", "rate_limited"): _planted("obsidian", "rate_limited"),
    ("obsidian", "send_failed"): _planted("obsidian", "upstream_error"),
    ("obsidian", "permission_denied"): _obsidian("read_note", path="../x.md"),
    ("obsidian", "parse_error"): _obsidian("read_note", path="corrupt.md"),
    ("obsidian", "mcp_unavailable"): _obsidian("write_note", "ulimit -f 0", path="a.md", body="no room"),
    ("obsidian", "internal_error"): _planted("obsidian", "bug"),
}


def test_every_code_is_tried_in_both_servers() -> None:
    assert set(CASES) == {(server, code) for server in ("gmail", "obsidian") for code in KINDS}


@pytest.mark.parametrize(("server", "code"), CASES, ids=[f"{server}-{code}" for server, code in CASES])
def test_a_code_of_the_seed_reaches_the_client_with_message_and_details(
    tmp_path: Path, server: str, code: str
) -> None:
    with FakeGmail() as gmail:
        write_login(tmp_path, gmail)
        command, tool, arguments = CASES[server, code]((tmp_path, gmail))
        with WireClient(command, env={**os.environ, "FAULTLESS_LOG_LEVEL": "FATAL"}) as client:
            result = client.open("handshake").call(tool, arguments)["result"]
        assert gmail.violations == []
        assert gmail.plan.left() == {}
    assert result["isError"] is True
    answer = json.loads(result["content"][0]["text"])
    assert answer["error"] == code
    assert answer["message"]
    assert isinstance(answer["details"], dict)
    assert "CANARY" not in str(result)
    assert str(tmp_path) not in str(result)
    fault = read({"result": result}).fault
    assert fault is not None
    assert (fault.kind, fault.certainty) == (KINDS[code], "declared")
    assert ("faultless login gmail" in answer["message"]) == ((server, code) == ("gmail", "auth_required"))
    if code == "rate_limited":
        assert answer["retry_after_seconds"] in {7, 60}
