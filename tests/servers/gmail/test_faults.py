"""Every error code through a real session, and every way Gmail can fail."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from faultless.contract import FaultKind, read
from faultless.contract.dialects import NAMES, Dialect
from faultless.servers.gmail import faults
from faultless.servers.gmail.access import Access
from faultless.servers.gmail.rest import Rest
from faultless.servers.gmail.settings import Settings
from faultless.servers.gmail.toolset import offer
from faultless.testing import WireClient, connect
from tests.servers.gmail.conftest import StartGmail, answer_of, approve, fault_of, verdict, write_login
from tests.servers.gmail.fake import FakeGmail, Trouble
from tests.servers.gmail.fake.trouble import refuse, refuse_anew

if TYPE_CHECKING:
    from mcp.types import CallToolResult

LETTER = {"to": "ann@example.com", "subject": "Hi", "body": "text"}

# What Gmail does to messages.get, the error a caller sees, and its retry_after_seconds.
REFUSALS: dict[str, tuple[Trouble, str]] = {
    "400": (refuse(400, "invalidArgument"), "usage_error"),
    "400 failedPrecondition": (refuse(400, "failedPrecondition"), "send_failed"),
    "403 insufficientPermissions": (refuse(403, "insufficientPermissions"), "permission_denied"),
    "403 domainPolicy": (refuse(403, "domainPolicy"), "permission_denied"),
    "403 accessNotConfigured": (refuse(403, "accessNotConfigured"), "permission_denied"),
    "403 forbidden": (refuse(403, "forbidden"), "permission_denied"),
    "403 without a reason": (refuse(403), "permission_denied"),
    "403 userRateLimitExceeded": (refuse(403, "userRateLimitExceeded", Retry_After="60"), "rate_limited"),
    "403 rateLimitExceeded": (refuse(403, "rateLimitExceeded", Retry_After="60"), "rate_limited"),
    "403 dailyLimitExceeded": (refuse(403, "dailyLimitExceeded", Retry_After="60"), "rate_limited"),
    "403 quotaExceeded": (refuse(403, "quotaExceeded", Retry_After="60"), "rate_limited"),
    "403 RATE_LIMIT_EXCEEDED": (refuse_anew(403, "RATE_LIMIT_EXCEEDED", Retry_After="60"), "rate_limited"),
    "403 ACCESS_TOKEN_SCOPE_INSUFFICIENT": (
        refuse_anew(403, "ACCESS_TOKEN_SCOPE_INSUFFICIENT"),
        "permission_denied",
    ),
    "403 SERVICE_DISABLED": (refuse_anew(403, "SERVICE_DISABLED"), "permission_denied"),
    "403 that nobody listed": (refuse(403, "somethingNew"), "permission_denied"),
    "404": (refuse(404, "notFound"), "not_found"),
    "409": (refuse(409, "aborted"), "conflict"),
    "410": (refuse(410, "gone"), "not_found"),
    "412": (refuse(412, "conditionNotMet"), "conflict"),
    "413": (refuse(413, "uploadTooLarge"), "too_large"),
    "418": (refuse(418), "send_failed"),
    "429": (refuse(429, "rateLimitExceeded", Retry_After="60"), "rate_limited"),
}


@pytest.mark.parametrize(("trouble", "error"), REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_is_told_by_its_reason(
    gmail: FakeGmail, server: WireClient, trouble: Trouble, error: str
) -> None:
    gmail.plan.add("messages.get", trouble)
    result = server.call("get_email", {"message_id": "abc"})["result"]
    assert result["isError"] is True
    answer = json.loads(result["content"][0]["text"])
    assert answer["error"] == error
    assert answer["details"].get("status") == trouble.status
    assert answer["details"].get("reason") == (trouble.reason or None)
    assert answer["hint"]
    assert (answer["retry_after_seconds"] == 60) == (error == "rate_limited")


def test_every_reason_in_the_table_is_tried() -> None:
    tried = {(trouble.status, trouble.reason) for trouble, _ in REFUSALS.values()}
    by_itself = {(401, "*")}  # renews the login first; see below
    starred = {(status, "*") for status, reason in tried if (status, reason) not in faults.KINDS}
    assert set(faults.KINDS) - tried - starred == by_itself


def test_a_missing_scope_names_the_login_in_both_of_google_s_shapes(
    gmail: FakeGmail, server: WireClient
) -> None:
    gmail.plan.add("messages.get", refuse(403, "insufficientPermissions"))
    gmail.plan.add("messages.get", refuse_anew(403, "ACCESS_TOKEN_SCOPE_INSUFFICIENT"))
    for _ in range(2):
        fault = fault_of(server, "get_email", message_id="abc")
        assert "faultless login gmail" in (fault.hint or "")


def test_an_error_of_no_known_shape_has_no_reason() -> None:
    assert faults.find_reason(b'{"error": "invalid_grant"}') == ""
    assert faults.find_reason(b"<html>") == ""


def test_429_says_how_long_to_wait_from_seconds_a_date_or_by_itself(
    gmail: FakeGmail, server: WireClient
) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=120), usegmt=True)
    waits = []
    for headers in ({"Retry_After": "77"}, {"Retry_After": date}):
        gmail.plan.add("getProfile", refuse(429, "rateLimitExceeded", **headers))
        waits.append(fault_of(server, "health_check").retry_after_seconds)
    assert waits[0] == 77
    assert waits[1] == pytest.approx(118, abs=10)


def test_a_send_that_was_told_to_slow_down_is_not_tried_again(
    gmail: FakeGmail, server: WireClient, home: Path
) -> None:
    approval = approve(home, **LETTER)
    before = gmail.count("drafts.send")
    gmail.plan.add("drafts.send", refuse(429, "rateLimitExceeded"))
    fault = fault_of(server, "send_email", **LETTER, approval_id=approval)
    assert fault.kind is FaultKind.RATE_LIMITED
    assert fault.retry_after_seconds is not None
    assert fault.details["draft_id"] in gmail.account.drafts
    assert gmail.count("drafts.send") == before + 1
    sent = verdict(server, "send_email", **LETTER, approval_id=approval)
    assert [it.id for it in gmail.account.delivered] == [sent["message_id"]]


READ_TROUBLES = [
    Trouble("drop_before"),
    Trouble("drop_after"),
    Trouble("truncate"),
    Trouble("garbage"),
    refuse(500),
    refuse(503, "backendError"),
    refuse(429, "rateLimitExceeded", Retry_After="0"),
    refuse(403, "userRateLimitExceeded", Retry_After="0"),
]


@pytest.mark.parametrize("trouble", READ_TROUBLES, ids=lambda it: f"{it.how}{it.status or ''}")
def test_a_read_survives_trouble_that_passes(gmail: FakeGmail, server: WireClient, trouble: Trouble) -> None:
    gmail.plan.add("getProfile", trouble)
    assert verdict(server, "health_check")["status"] == "ok"


@pytest.mark.parametrize(
    ("trouble", "error"),
    [(refuse(503), "send_failed"), (Trouble("garbage"), "send_failed"), (Trouble("truncate"), "send_failed")],
    ids=["503", "garbage", "truncate"],
)
def test_a_read_gives_up_before_its_deadline_when_trouble_stays(
    gmail: FakeGmail, server: WireClient, trouble: Trouble, error: str
) -> None:
    gmail.plan.decide = lambda method: trouble if method == "getProfile" else None
    try:
        assert answer_of(server, "health_check")["error"] == error
    finally:
        gmail.plan.decide = lambda _: None


def test_401_renews_the_login_once_and_goes_on(gmail: FakeGmail, server: WireClient) -> None:
    before = gmail.oauth.refreshes
    gmail.oauth.access_tokens.clear()
    assert verdict(server, "health_check")["status"] == "ok"
    assert gmail.oauth.refreshes == before + 1


def test_401_after_renewing_is_auth_required(gmail: FakeGmail, server: WireClient) -> None:
    gmail.plan.add("getProfile", refuse(401, "authError"), refuse(401, "authError"))
    fault = fault_of(server, "health_check")
    assert fault.kind is FaultKind.AUTH_REQUIRED
    assert "faultless login gmail" in (fault.hint or "")


def test_a_login_that_is_broken_missing_revoked_or_good_is_told_apart_and_left_alone(
    gmail: FakeGmail, home: Path, start_gmail: StartGmail
) -> None:
    path, client = home / "token.json", start_gmail("--timeout=0.5")
    path.write_text('{"token": "CANARY-half-a-')
    broken = answer_of(client, "health_check")
    assert broken["error"] == "parse_error"
    assert path.read_text() == '{"token": "CANARY-half-a-'
    path.unlink()
    missing = answer_of(client, "health_check")
    assert missing["error"] == "auth_required"
    assert missing["details"]["command"] == faults.LOGIN_COMMAND
    gmail.oauth.refresh_tokens.clear()
    write_login(home, gmail, lifetime=timedelta(seconds=-1))
    kept = path.read_text()
    assert fault_of(client, "health_check").kind is FaultKind.AUTH_REQUIRED
    assert path.read_text() == kept
    gmail.oauth.refresh_tokens.add("CANARY-refresh-token")
    write_login(home, gmail)
    assert verdict(client, "health_check")["status"] == "ok"
    gmail.plan.add("getProfile", Trouble("stall"))
    late = fault_of(client, "health_check")
    assert late.kind is FaultKind.TIMEOUT
    assert "0.5 s" in late.message


def test_a_gmail_that_cannot_be_reached_is_unavailable(home: Path) -> None:
    with FakeGmail() as gone:
        pass
    answer = ask_in_memory(
        Settings(root=home, token=home / "token.json", state=home, api_url=gone.url, timeout_seconds=1)
    )
    assert answer["error"] == "mcp_unavailable"


class BrokenPath(type(Path())):  # type: ignore[misc]  # the concrete class differs by system
    """A bug of ours: a path whose type nobody expects."""

    def read_text(self, encoding: str | None = None, errors: str | None = None) -> str:
        raise RuntimeError("CANARY-internal")


def test_a_bug_of_ours_is_internal_error_and_leaks_nothing(tmp_path: Path) -> None:
    answer = ask_in_memory(Settings(root=tmp_path, token=BrokenPath("token"), state=tmp_path))
    assert answer["error"] == "internal_error"
    assert "CANARY" not in str(answer)


def ask_in_memory(settings: Settings) -> dict[str, Any]:
    """What health_check answers, without a process of its own."""

    async def run() -> CallToolResult:
        rest = Rest(Access(settings.token_path), settings.api_url)
        try:
            async with connect(offer(rest, settings)) as client:
                return await client.call_tool("health_check", {})
        finally:
            await rest.aclose()

    result = anyio.run(run)
    assert result.is_error
    return read({"result": result.model_dump(mode="json", by_alias=True)}).payload or {}


def test_the_codes_of_the_seed_are_all_in_the_dialect() -> None:
    seed = {
        "auth_required",
        "not_found",
        "rate_limited",
        "send_failed",
        "permission_denied",
        "parse_error",
        "mcp_unavailable",
        "internal_error",
    }
    assert seed <= set(NAMES[Dialect.ERROR_KEY].values())
