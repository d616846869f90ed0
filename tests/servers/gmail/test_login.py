"""Logging in once, staying logged in, and never losing the file."""

from __future__ import annotations

import json
import stat
import threading
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
import pytest
from click.testing import CliRunner

from faultless.cli.login import gmail as gmail_login
from faultless.contract import Fault, FaultKind
from faultless.servers.gmail import doctor, login
from faultless.servers.gmail.access import Access, read_token
from tests.servers.gmail.conftest import StartGmail, fault_of, write_login
from tests.servers.gmail.fake import FakeGmail


@pytest.fixture
def client_file(gmail: FakeGmail, tmp_path: Path) -> Path:
    path = tmp_path / "client.json"
    fields = {
        "client_id": gmail.oauth.client_id,
        "client_secret": gmail.oauth.client_secret,
        "auth_uri": f"{gmail.url}/auth",
        "token_uri": f"{gmail.url}/token",
    }
    path.write_text(json.dumps({"installed": fields}))
    return path


def browse(url: str) -> None:
    """A person who consents: the browser follows Google's redirect to the page on this machine."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def visit() -> None:
        with opener.open(url, timeout=60) as answer:
            answer.read()

    threading.Thread(target=visit, daemon=True).start()


def test_a_login_is_saved_for_its_owner_only_and_works(
    gmail: FakeGmail, client_file: Path, tmp_path: Path
) -> None:
    path = tmp_path / "deep" / "token.json"
    login.log_in(login.read_client(client_file), path, open_page=browse, deadline_seconds=60)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    token = read_token(path)
    assert token.access in gmail.oauth.access_tokens
    assert token.refresh in gmail.oauth.refresh_tokens
    assert token.scopes == (login.SCOPES["modify"],)
    assert token.expires_at is not None


def test_consent_is_asked_with_pkce_and_offline_access(client_file: Path, tmp_path: Path) -> None:
    seen: list[str] = []

    def look(url: str) -> None:
        seen.append(url)
        browse(url)

    login.log_in(
        login.read_client(client_file),
        tmp_path / "t.json",
        open_page=look,
        scope="readonly",
        deadline_seconds=60,
    )
    query = parse_qs(urlsplit(seen[0]).query)
    assert query["access_type"] == ["offline"]
    assert query["code_challenge_method"] == ["S256"]
    assert query["scope"] == ["https://www.googleapis.com/auth/gmail.readonly"]
    assert query["redirect_uri"][0].startswith("http://127.0.0.1:")


def test_an_answer_without_our_state_is_not_ours(client_file: Path, tmp_path: Path) -> None:
    def forge(url: str) -> None:
        redirect = parse_qs(urlsplit(url).query)["redirect_uri"][0]

        def visit() -> None:
            with httpx2.Client(trust_env=False, timeout=60) as http:
                assert http.get(redirect, params={"code": "evil", "state": "guessed"}).status_code == 404
            browse(url)

        threading.Thread(target=visit, daemon=True).start()

    token = login.log_in(
        login.read_client(client_file), tmp_path / "t.json", open_page=forge, deadline_seconds=60
    )
    assert token.access


def test_a_refused_consent_and_a_missing_person_are_faults(
    gmail: FakeGmail, client_file: Path, tmp_path: Path
) -> None:
    client = login.read_client(client_file)
    gmail.oauth.denies_consent = True
    try:
        with pytest.raises(Fault) as denied:
            login.log_in(client, tmp_path / "t.json", open_page=browse, deadline_seconds=60)
    finally:
        gmail.oauth.denies_consent = False
    assert denied.value.kind is FaultKind.PERMISSION_DENIED
    with pytest.raises(Fault) as nobody:
        login.log_in(client, tmp_path / "t.json", open_page=lambda _: None, deadline_seconds=0.1)
    assert nobody.value.kind is FaultKind.TIMEOUT
    assert not (tmp_path / "t.json").exists()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"installed": {}}',
        '{"installed": {"client_id": "x", "token_uri": "http://evil.example/"}}',
    ],
)
def test_a_client_file_that_makes_no_sense_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "client.json"
    path.write_text(text)
    with pytest.raises(Fault) as refused:
        login.read_client(path)
    assert refused.value.kind in {FaultKind.PARSE_ERROR, FaultKind.INVALID_PARAMS}


def test_the_command_logs_in_and_says_where(
    client_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webbrowser.open", browse)
    path = tmp_path / "token.json"
    result = CliRunner().invoke(
        gmail_login, ["--client", str(client_file), "--token", str(path), "--timeout", "60"]
    )
    assert result.exit_code == 0, result.output
    assert str(path) in result.output
    assert "CANARY" not in result.output.replace("CANARY-code", "")
    assert read_token(path).refresh


def test_concurrent_renewals_happen_once(gmail: FakeGmail, tmp_path: Path) -> None:
    write_login(tmp_path, gmail, lifetime=timedelta(seconds=-1))
    before = gmail.oauth.refreshes
    found: set[str] = set()

    async def run() -> None:
        first, second = Access(tmp_path / "token.json"), Access(tmp_path / "token.json")

        async def ask(access: Access) -> None:
            found.add(await access.get())

        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(ask, first)
                tasks.start_soon(ask, second)

    anyio.run(run)
    assert gmail.oauth.refreshes == before + 1
    assert len(found) == 1
    saved = read_token(tmp_path / "token.json")
    assert {saved.access} == found
    assert saved.is_good()
    assert saved.refresh == "CANARY-refresh-token"


def test_a_token_endpoint_that_fails_keeps_the_login(gmail: FakeGmail, tmp_path: Path) -> None:
    write_login(tmp_path, gmail, lifetime=timedelta(seconds=-1))
    kept = (tmp_path / "token.json").read_text()
    gmail.oauth.failure = 400
    try:
        with pytest.raises(Fault) as refused:
            anyio.run(Access(tmp_path / "token.json").get)
    finally:
        gmail.oauth.failure = None
    assert refused.value.kind in {FaultKind.UNAVAILABLE, FaultKind.AUTH_REQUIRED}
    assert (tmp_path / "token.json").read_text() == kept


def test_google_s_own_token_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "token.json"
    path.write_text(
        json.dumps(
            {
                "token": "a",
                "refresh_token": "b",
                "client_id": "c",
                "client_secret": "d",
                "token_uri": "https://oauth2.googleapis.com/token",
                "scopes": ["x"],
                "expiry": "2026-11-15T10:00:00.000000Z",
                "universe_domain": "googleapis.com",
            }
        )
    )
    token = read_token(path)
    assert token.expires_at == datetime(2026, 11, 15, 10, tzinfo=UTC)
    assert "b" not in repr(token).replace("b'", "").split("client_id")[0]


def test_the_doctor_sees_a_missing_an_open_and_a_good_login(
    gmail: FakeGmail, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GMAIL_TOKEN_PATH", str(tmp_path / "token.json"))
    monkeypatch.setenv("GMAIL_CREDENTIALS_PATH", str(tmp_path / "client.json"))
    client, missing = doctor.diagnose(tmp_path)
    assert not client.ok
    assert not missing.ok
    assert "faultless login gmail" in missing.fix
    write_login(tmp_path, gmail)
    assert [check.ok for check in doctor.diagnose(tmp_path)] == [True, True]
    (tmp_path / "token.json").chmod(0o644)
    assert not doctor.diagnose(tmp_path)[1].ok


def test_a_named_account_has_a_login_of_its_own_which_the_doctor_shows(
    gmail: FakeGmail, client_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GMAIL_TOKEN_PATH", str(tmp_path / "token.json"))
    monkeypatch.setattr("webbrowser.open", browse)
    words = ["--client", str(client_file), "--account", "work"]
    done = CliRunner().invoke(gmail_login, words, standalone_mode=False)
    assert "token-work.json" in done.output, done.exception
    assert read_token(tmp_path / "token-work.json").access in gmail.oauth.access_tokens
    assert [(check.name, check.ok) for check in doctor.diagnose(tmp_path)][1:] == [("Gmail login work", True)]
    (tmp_path / "token-old.json").write_text("{}")
    write_login(tmp_path, gmail)
    checks = {check.name: check for check in doctor.diagnose(tmp_path)}
    assert [checks[f"Gmail login{name}"].ok for name in ("", " old", " work")] == [True, False, True]
    assert "faultless login gmail --account old" in checks["Gmail login old"].fix


def test_a_missing_login_of_a_named_account_names_the_command_for_it(
    start_gmail: StartGmail, tmp_path: Path
) -> None:
    server = start_gmail(f"--token={tmp_path / 'none.json'}", "--account=work")
    fault = fault_of(server, "health_check")
    assert fault.kind is FaultKind.AUTH_REQUIRED
    assert "`faultless login gmail --account work`" in fault.message
    assert fault.details["command"] == "faultless login gmail --account work"
