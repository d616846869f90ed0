"""Several accounts on one vault: each takes what is its own, and knows nothing of the others."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import replace

import pytest
from click.testing import CliRunner

from faultless.cli.outbox import command
from faultless.contract import Fault, FaultKind
from faultless.outbox import Entry, State, exclude_others
from tests.outbox.conftest import NOTE, Rig, state_of
from tests.servers.gmail.conftest import gmail_command
from tests.servers.gmail.fake import FakeGmail, Trouble

FOR_WORK = NOTE.replace("status:", "account: Work\nstatus:")


@pytest.fixture
def other_gmail() -> Iterator[FakeGmail]:
    with FakeGmail() as fake:
        yield fake
    assert fake.violations == []


@pytest.fixture
def work(rig: Rig, other_gmail: FakeGmail) -> Rig:
    """The same vault and machine, another account with another login."""
    other = replace(rig, gmail=other_gmail, account="work", home=rig.home / "work")
    other.folder = rig.folder
    other.machine = rig.machine
    return other


def test_a_draft_leaves_through_the_account_it_names(rig: Rig, work: Rig) -> None:
    rig.draft("mine")
    work.draft("theirs", text=FOR_WORK)
    rig.approve("mine")
    work.approve("theirs")
    assert state_of(rig.run()) == [State.SENT]
    assert rig.files() == {"Done/mine.md", "Approved/theirs.md"}
    assert state_of(work.run()) == [State.SENT]
    assert (len(rig.delivered("mine")), len(rig.delivered("theirs"))) == (1, 0)
    assert (len(work.delivered("mine")), len(work.delivered("theirs"))) == (0, 1)


@pytest.mark.parametrize("by_move", [True, False])
def test_a_note_for_another_account_is_left_alone_and_the_list_says_whose_it_is(
    rig: Rig, work: Rig, *, by_move: bool
) -> None:
    rig.approve_by_move = work.approve_by_move = by_move
    work.draft("theirs", "Approved", FOR_WORK)
    rig.draft("mine", "Approved")
    before = (rig.folder / "Approved" / "theirs.md").read_bytes()
    rig.run()
    assert (rig.folder / "Approved" / "theirs.md").read_bytes() == before
    assert rig.states()["Approved/theirs.md"] == "elsewhere"
    work.run()
    assert (len(rig.gmail.account.delivered), len(work.gmail.account.delivered)) == (by_move, by_move)


def test_approving_a_note_that_is_for_another_account_names_the_option(rig: Rig, work: Rig) -> None:
    work.draft("theirs", text=FOR_WORK)
    with pytest.raises(Fault) as refused:
        rig.approve("theirs")
    assert refused.value.kind is FaultKind.USAGE_ERROR
    assert "--account work" in (refused.value.hint or "")
    assert rig.files() == {"Drafts/theirs.md"}


def test_a_draft_that_names_no_account_is_for_the_one_it_is_approved_with(rig: Rig, work: Rig) -> None:
    work.draft("open")
    assert work.states() == rig.states() == {"Drafts/open.md": "drafted"}
    work.approve("open")
    assert "account: work" in (rig.folder / "Approved" / "open.md").read_text()
    assert rig.run().changed == []
    assert state_of(work.run()) == [State.SENT]
    assert rig.gmail.account.delivered == []


def test_an_unknown_fate_in_one_account_does_not_hold_up_another(rig: Rig, work: Rig) -> None:
    work.draft("who knows", text=FOR_WORK)
    work.approve("who knows")
    work.gmail.plan.add("drafts.send", Trouble("drop_after"))
    work.gmail.account.hides_sent = True
    assert state_of(work.run()) == [State.UNKNOWN]
    rig.draft("mine")
    rig.approve("mine")
    with exclude_others(rig.folder, "work"), exclude_others(rig.folder):
        assert state_of(rig.run()) == [State.SENT]
    assert work.states()["Approved/who knows.md"] == "unknown"
    assert rig.states()["Approved/who knows.md"] == "elsewhere"


def test_a_mail_that_may_have_left_is_looked_up_where_it_did_though_the_note_was_given_to_another(
    rig: Rig, work: Rig
) -> None:
    path = rig.draft("changes hands")
    approval = rig.approve("changes hands")
    rig.journal.add(Entry("changes hands.md", State.SENDING, approval.id))
    path = rig.folder / "Approved" / "changes hands.md"
    path.write_text(FOR_WORK.format(subject="changes hands"))
    assert state_of(rig.run()) == [State.APPROVED]
    assert state_of(work.run()) == [State.DRAFTED]
    assert rig.gmail.account.delivered == work.gmail.account.delivered == []


def test_an_account_name_that_is_no_plain_word_is_refused(rig: Rig) -> None:
    places = ["--vault", str(rig.folder), "--state", str(rig.home / "state")]
    for name in ("../work", "Work", "a b", "x" * 33, "-x"):
        result = CliRunner().invoke(command, ["list", *places, f"--account={name}"], standalone_mode=False)
        assert isinstance(result.exception, Fault)
        assert result.exception.kind is FaultKind.INVALID_PARAMS


def test_each_account_has_its_own_approvals_journal_and_limit_in_one_state_folder(rig: Rig) -> None:
    state = rig.home / "state"

    def run(account: str, verb: str, *more: str, typed: str = "") -> str:
        server = gmail_command(rig.home, rig.gmail, "--max-sends-per-hour=1", f"--account={account}")
        words = ["--vault", str(rig.folder), "--state", str(state), "--account", account]
        words += ["--gmail-command", shlex.join(server), "--obsidian-command", "no-such-vault-server"]
        return CliRunner().invoke(command, [verb, *words, *more], input=typed, standalone_mode=False).stdout

    rig.draft("theirs", text=FOR_WORK)
    run("work", "approve", "theirs", typed="y\n")
    assert run("work", "run", "--once").splitlines() == ["sending   theirs.md", "sent      theirs.md"]
    rig.draft("mine")
    run("", "approve", "mine", typed="y\n")
    rows = {row["path"]: (row["state"], row["account"]) for row in json.loads(run("work", "list", "--json"))}
    assert rows == {"Approved/mine.md": ("elsewhere", ""), "Done/theirs.md": ("sent", "work")}
    assert run("", "run", "--once").splitlines() == ["sending   mine.md", "sent      mine.md"]
    for place in (state, state / "accounts" / "work"):
        assert len(list((place / "approvals").iterdir())) == 1
        assert len(list((place / "gmail").glob("audit-*.jsonl"))) == 1
