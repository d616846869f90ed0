"""The outbox as a person uses it: real servers, real files."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable

import pytest
from click.testing import CliRunner, Result

from faultless.approval import Content
from faultless.cli import faultless
from faultless.cli.outbox import command
from faultless.cli.outbox_display import render, visible
from faultless.contract import Fault, FaultKind
from faultless.outbox import Entry, OutboxJournal, State, locate_state
from tests.outbox.conftest import Rig
from tests.servers.gmail.conftest import gmail_command

Run = Callable[..., Result]
# Quicker than its server, and a way of working that is promised too.
WITHOUT_SERVER = ("--obsidian-command", "no-such-vault-server")


@pytest.fixture
def run(rig: Rig) -> Run:
    places = ["--vault", str(rig.folder), "--state", str(rig.home / "state")]

    def invoke(verb: str, *words: str, typed: str = "", gmail: tuple[str, ...] = ()) -> Result:
        server = shlex.join(gmail_command(rig.home, rig.gmail, "--timeout=3", *gmail))
        line = [verb, *places, "--gmail-command", server, *words]
        return CliRunner().invoke(command, line, input=typed, standalone_mode=False)

    return invoke


def test_a_person_sees_the_mail_says_yes_and_it_leaves(rig: Rig, run: Run) -> None:
    rig.draft("hello")
    approved = run("approve", "Drafts/hello.md", "--as", "Bo", typed="y\n")
    assert "To: Ann <ann@example.com>" in approved.stdout
    assert "CANARY-body of hello" in approved.stdout
    sent = run("run", "--once")
    assert sent.return_value == 0
    assert sent.stdout.splitlines() == ["sending   hello.md", "sent      hello.md"]
    assert len(rig.delivered("hello")) == 1
    listed = run("list", "--json", *WITHOUT_SERVER)
    (row,) = json.loads(listed.stdout)
    assert (row["path"], row["state"]) == ("Done/hello.md", "sent")
    (approval,) = (rig.home / "state" / "approvals").iterdir()
    assert json.loads(approval.read_text())["approved_by"] == "Bo"
    assert "CANARY" not in sent.output + listed.output


def test_a_person_who_says_no_changes_nothing(rig: Rig, run: Run) -> None:
    before = rig.draft("hello").read_text()
    assert run("approve", "hello", *WITHOUT_SERVER, typed="n\n").return_value == 1
    assert rig.draft("hello").read_text() == before
    assert rig.files() == {"Drafts/hello.md"}
    assert not (rig.home / "state" / "approvals").exists()


def test_an_unknown_mail_is_settled_by_hand(rig: Rig, run: Run) -> None:
    rig.draft("open", "Approved")
    journal = OutboxJournal(locate_state(rig.home / "state", rig.folder) / "journal.jsonl")
    journal.add(Entry("open.md", State.UNKNOWN, "f" * 32))
    assert run("settle", "open", "--not-left", *WITHOUT_SERVER).return_value == 0
    assert rig.files() == {"Drafts/open.md"}
    assert journal.load()["open.md"].state is State.DRAFTED


def test_a_note_that_is_not_there_is_a_fault_with_a_next_move(rig: Rig) -> None:
    with pytest.raises(Fault) as told:
        rig.approve("nothing-there")
    assert told.value.kind is FaultKind.NOT_FOUND
    assert "outbox list" in (told.value.hint or "")


def test_what_the_terminal_would_hide_is_spelled_out() -> None:
    assert visible("pay\u202eeve\x1b[8m") == "pay\\u{202e}eve\\u{1b}[8m"
    shown = render("a.md", Content(to="a@example.com", subject="x", body="one\ntwo\x00", thread="abc"))
    assert "one\ntwo\\u{0}" in shown
    assert "In reply to: abc" in shown


@pytest.mark.parametrize(
    "mark", ["\u3164", "\u115f", "\u2800", "\u200b", "\u2066", "\U000e0041", "\u00ad", "\u034f", "\ufeff"]
)
def test_what_shows_as_nothing_is_spelled_out(mark: str) -> None:
    assert visible(f"a{mark}b") == f"a\\u{{{ord(mark):x}}}b"


def test_letters_that_pass_for_latin_ones_are_spelled_out_and_other_scripts_are_left_alone() -> None:
    assert visible("p\u0430ypal \uff21b") == "p\\u{430}ypal \\u{ff21}b"
    assert visible("Привет, Ζωή, 日本, Zoë 👍") == "Привет, Ζωή, 日本, Zoë 👍"
    shown = render("a.md", Content(to="z@ex\u00e4mple.com, b@x.org", subject="x", body="y"))
    assert "To: z@exämple.com, b@x.org  [z@ex\\u{e4}mple.com]" in shown


def test_a_person_is_told_what_happens_next_and_why_not(rig: Rig, run: Run) -> None:
    rig.draft("hello")
    approved = run("approve", "hello", *WITHOUT_SERVER, typed="y\n")
    assert "faultless outbox run" in approved.stdout
    (rig.home / "token.json").unlink()
    told = run("run", "--once", *WITHOUT_SERVER)
    assert told.return_value == 1
    listed = run("list", *WITHOUT_SERVER)
    for shown in (told.stdout, listed.stdout):
        assert "faultless login gmail" in shown
        assert "next: " in shown


@pytest.mark.parametrize("verb", ["run", "approve", "reject", "settle", "list"])
def test_every_outbox_command_has_help(verb: str) -> None:
    assert "--vault" in CliRunner().invoke(faultless, ["outbox", verb, "--help"]).stdout


def test_the_command_line_knows_the_login() -> None:
    assert "--client" in CliRunner().invoke(faultless, ["login", "gmail", "--help"]).stdout


def test_a_person_sees_what_is_attached_before_saying_yes(rig: Rig, run: Run) -> None:
    (rig.folder / "plan.pdf").write_bytes(b"%PDF")
    text = "---\nto: a@example.com\nsubject: {subject}\nattachments: [plan.pdf]\n---\n"
    rig.draft("with a file", text=text)
    attaching = ("--attach-from", str(rig.folder))
    shown = run("approve", "with a file", *WITHOUT_SERVER, typed="n\n", gmail=attaching)
    assert "Attached: plan.pdf, 4 bytes, application/pdf, sha256 315d429b7714" in shown.stdout, shown.output
    refused = run("approve", "with a file", *WITHOUT_SERVER, typed="n\n")
    assert isinstance(refused.exception, Fault)
    assert "attaches no files" in refused.exception.message
